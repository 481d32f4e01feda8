"""The standard library as compiled code in memory: every module imports without a file system.

A warning of an import names the line that imports: frames of files with a name such as this one's are skipped.
"""

import importlib
import marshal
import os
import sys
import types
import zlib
from importlib.machinery import ModuleSpec

import _dormouse_host
from _dormouse.absent import is_absent

# Not modules of programs: tests, documents, demonstrations.
_LEFT_OUT = {"__pycache__", "test", "tests", "idle_test", "lib2to3", "idlelib", "turtledemo", "ensurepip"}

# name -> (is it a package, file name, marshalled code); compressed for modules that the image has loaded, because only a
# reload asks for those again.
_modules = {}
_compressed = set()
# name of a distribution, with `_` -> its METADATA; of packages of PyPI that are part of the interpreter.
_described = {}


class Library:
    """Finds and loads the modules that `collect` compiled."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        entry = _modules.get(name)
        if entry is None:
            return None
        package, file, _ = entry
        spec = ModuleSpec(name, Library, origin=file, is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations.append(os.path.dirname(file))
        return spec

    @staticmethod
    def find_distributions(context):
        return _distributions(context)

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        exec(Library.get_code(module.__spec__.name), module.__dict__)

    @staticmethod
    def get_code(name):
        code = _entry(name)[2]
        return _dormouse_host.library_code(marshal.loads(zlib.decompress(code) if name in _compressed else code))

    @staticmethod
    def get_source(name):
        _entry(name)
        return None

    @staticmethod
    def is_package(name):
        return _entry(name)[0]

    @staticmethod
    def get_filename(name):
        return _entry(name)[1]


def _distributions(context):
    if "path" in vars(context):
        return []  # It is asked about other folders.
    from importlib.metadata import Distribution, Prepared

    class Described(Distribution):
        def __init__(self, text):
            self._text = text

        def read_text(self, filename):
            return self._text if filename == "METADATA" else None

        def locate_file(self, path):
            return os.path.join(os.path.dirname(os.__file__), "site-packages", path)

    wanted = Prepared(context.name).normalized
    return [Described(text) for name, text in _described.items() if wanted in (None, name)]


def describe(root):
    """Keeps what the packages below `root` say of themselves, without their long descriptions."""
    for folder in sorted(os.listdir(root)):
        name, _, ending = folder.partition("-")
        if ending.endswith(".dist-info"):
            with open(os.path.join(root, folder, "METADATA"), encoding="utf-8") as file:
                _described[name] = file.read().split("\n\n")[0] + "\n"


def _entry(name):
    try:
        return _modules[name]
    except KeyError:
        raise ImportError(f"the standard library has no module `{name}`", name=name) from None


def _read_code(loader, path):
    """What a loader of files reads: also of a module that is there as compiled code alone, code is opened as code."""
    with _io.open_code(str(path)) as file:
        return file.read()


def _in_place_of(function, other):
    """The other function with the first one's module, file and name: tracers and debuggers skip the import system by these."""
    old = function.__code__
    code = other.__code__.replace(co_filename=old.co_filename, co_name=old.co_name, co_qualname=old.co_qualname)
    return types.FunctionType(code, function.__globals__, function.__name__)


def adopt():
    """Makes this the loader of the modules that were loaded from files while the guest was built."""
    loader = importlib._bootstrap_external.FileLoader
    loader.get_data = _in_place_of(loader.get_data, _read_code)
    for module in list(sys.modules.values()):
        spec = getattr(module, "__spec__", None)
        if spec is not None and spec.name in _modules and spec.origin == _modules[spec.name][1]:
            spec.loader = module.__loader__ = Library
            spec.cached = None


def collect(root, shown=None):
    """Compiles every module under `root`; also those that are imported already, because programs reload modules. `shown`: the folder
    that they are said to lie in."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        for file in sorted(files):
            path = os.path.join(folder, file)
            name, extension = os.path.splitext(os.path.relpath(path, root).replace("/", "."))
            package = name.endswith(".__init__")
            name = name.removesuffix(".__init__")
            wanted = extension == ".py" and all(part.isidentifier() for part in name.split("."))
            if not wanted or is_absent(name):
                continue
            with open(path, "rb") as source:
                path = path.replace(root, shown or root, 1)
                code = compile(source.read(), path, "exec", dont_inherit=True)
            data = marshal.dumps(code)
            if name in sys.modules:
                data = zlib.compress(data)
                _compressed.add(name)
            _modules[name] = package, path, data
