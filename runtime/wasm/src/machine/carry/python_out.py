def __dormouse_carry(names, path):
    import json
    import pickle
    import types
    from io import BytesIO

    class Pickler(pickle.Pickler):
        def reducer_override(self, value):
            own = isinstance(value, (type, types.FunctionType)) and value.__module__ == __name__
            if own:
                raise pickle.PicklingError(f"`{value.__qualname__}` is defined in a snippet")
            return NotImplemented

    def pickled(value):
        into = BytesIO()
        Pickler(into, 5).dump(value)
        return into.getvalue()

    here, left, values, each, modules = globals(), [], {}, {}, {}
    for name in names:
        if name not in here:
            continue
        value = here[name]
        if isinstance(value, types.ModuleType):
            modules[name] = value.__name__
            continue
        try:
            each[name] = pickled(value)
            values[name] = value
        except Exception as error:
            left.append([name, f"{type(error).__name__}: {error}"[:200]])
    if sum(map(len, each.values())) > 32 << 20:
        each = None
    with open(path, "wb") as file:
        pickle.dump({"modules": modules, "values": pickled(values), "each": each}, file)
    return json.dumps({"carried": [*modules, *values], "left": left})


