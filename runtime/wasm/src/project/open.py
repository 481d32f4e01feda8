# Opens a project: its packages on the search path, its bootstrap file run, `container()` at hand.
def _open(project):
    import builtins
    import importlib.util
    import os
    import sys

    root = project["root"]
    usual = (".dormouse/bootstrap.py", "dormouse_bootstrap.py")

    def folders():
        yield root
        yield f"{root}/src"
        yield f"{root}/site-packages"
        yield f"{root}/vendor"
        yield f"{root}/__pypackages__/lib"
        for environment in (".venv", "venv", "env"):
            library = f"{root}/{environment}/lib"
            if os.path.isdir(library):
                for name in sorted(os.listdir(library), reverse=True):
                    if name.startswith("python3"):
                        yield f"{library}/{name}/site-packages"

    for folder in folders():
        if folder not in sys.path and os.path.isdir(folder):
            sys.path.append(folder)
    importlib.invalidate_caches()

    def boot(name):
        path = f"{root}/{name}"
        spec = importlib.util.spec_from_file_location("__bootstrap__", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["__bootstrap__"] = module
        spec.loader.exec_module(module)
        made = getattr(module, "container", None)
        if callable(made) and not hasattr(made, "get") and not isinstance(made, type):
            made = made()
        if made is None:
            raise TypeError(f"the bootstrap file `{name}` must define `container`: an object, or a function that makes it")
        return made

    name = project["bootstrap"]
    if name is None:
        name = next((each for each in usual if os.path.isfile(f"{root}/{each}")), None)
    services = None if name is None else boot(name)
    everything = object()

    def container(name=everything):
        """The project's container, or one of its services by name."""
        if services is None:
            raise LookupError(
                "the project has no container: add the file .dormouse/bootstrap.py, which defines `container`"
            )
        if name is everything:
            return services
        get = getattr(services, "__getitem__", None) or getattr(services, "get", None)
        if get is not None:
            return get(name)
        return services(name) if callable(services) else getattr(services, name)

    builtins.container = container


_open(globals().pop("__dormouse_project__"))
del _open
