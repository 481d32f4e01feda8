import json
import pickle
import sys
import types
from io import BytesIO


class Pickler(pickle.Pickler):
    def reducer_override(self, value):
        own = isinstance(value, (type, types.FunctionType)) and value.__module__ == name_here
        if own:
            raise pickle.PicklingError(f"`{value.__qualname__}` is defined in a snippet")
        return NotImplemented


def pickled(value):
    into = BytesIO()
    Pickler(into, 5).dump(value)
    return into.getvalue()


OWN = {"__annotate__", "__annotations__", "__builtins__", "__cached__", "__conditional_annotations__", "__doc__",
       "__dormouse_carry", "__file__", "__loader__", "__name__", "__package__", "__spec__"}


def is_own(name, value):
    """Whether it is the namespace's own, and no variable."""
    return name in OWN or (name in ("call_tool", "tools") and value is getattr(sys.modules.get("dormouse"), name, None))


name_here, left, values, each, modules = here.get("__name__"), [], {}, {}, {}
variables = [(name, value) for name, value in dict.items(here) if type(name) is str and not is_own(name, value)]
if len(variables) > most:
    raise ValueError(f"there are more than {most}")
for name, value in variables:
    # Reading a value can run its code, which can raise anything.
    try:
        if type(value) is types.ModuleType:
            modules[name] = value.__name__
            continue
        each[name] = pickled(value)
        values[name] = value
    except BaseException as error:
        left.append([name, f"{type(error).__name__}: {error}"[:200]])
left += [[repr(name)[:100], "its name is no plain text"] for name in here if type(name) is not str]
if sum(map(len, each.values())) > 32 << 20:
    each = None
with open(path, "xb") as file:
    pickle.dump({"modules": modules, "values": pickled(values), "each": each}, file)
told = json.dumps({"carried": [*modules, *values], "left": left})
