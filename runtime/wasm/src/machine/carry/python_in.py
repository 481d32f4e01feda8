import importlib
import json
import pickle
import sys

carried, left = [], []
with open(path, "rb") as file:
    kept = pickle.load(file)


def bind(name, made):
    try:
        here[name] = made()
        carried.append(name)
    except BaseException as error:
        left.append([name, f"{type(error).__name__}: {error}"[:200]])


def module(name):
    importlib.import_module(name)
    return sys.modules[name]


for name, module_name in kept["modules"].items():
    bind(name, lambda: module(module_name))
try:
    values = pickle.loads(kept["values"])
except BaseException:
    if kept["each"] is None:
        raise
    # Values that shared a part have each their own then.
    for name, value in kept["each"].items():
        bind(name, lambda: pickle.loads(value))
else:
    here.update(values)
    carried += values
told = json.dumps({"carried": carried, "left": left})
