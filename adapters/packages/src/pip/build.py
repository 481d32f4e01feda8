"""Builds a wheel as PEP 517 has it, or an editable one as PEP 660 has it: called in a sandbox of its own, over `/workspace/build.json`.

Answers JSON: `requires`, what the back end wants besides; or nothing, and the wheel lies in `/workspace/wheels`.
"""

import importlib
import json
import os
import sys
import sysconfig

# What setuptools asks of Python's own build before it looks for a compiler. There is none of these programs.
_MACHINE = {
    "AR": "ar",
    "ARFLAGS": "rcs",
    "CC": "cc",
    "CCSHARED": "-fPIC",
    "CFLAGS": "",
    "CXX": "c++",
    "LDCXXSHARED": "c++ -shared",
    "LDSHARED": "cc -shared",
    "SHLIB_SUFFIX": ".so",
}

# With these, packages leave out extensions that they can do without.
_PURE = {
    "AIOHTTP_NO_EXTENSIONS": "1",
    "DISABLE_SQLALCHEMY_CEXT": "1",
    "FROZENLIST_NO_EXTENSIONS": "1",
    "MSGPACK_PUREPYTHON": "1",
    "MULTIDICT_NO_EXTENSIONS": "1",
    "PROPCACHE_NO_EXTENSIONS": "1",
    "WRAPT_INSTALL_EXTENSIONS": "false",
    "YARL_NO_EXTENSIONS": "1",
}


def _build(place="/workspace"):
    with open(f"{place}/build.json", encoding="utf-8") as file:
        asked = json.load(file)
    source = f"{place}/source"
    os.chdir(source)
    os.environ.update(_PURE, PATH="/usr/bin:/bin")
    for name, value in _MACHINE.items():
        if sysconfig.get_config_var(name) is None:
            sysconfig.get_config_vars()[name] = value
    sys.path[:0] = [os.path.normpath(os.path.join(source, path)) for path in asked["backend_path"]]
    module, _, attributes = asked["backend"].partition(":")
    backend = importlib.import_module(module)
    for name in filter(None, attributes.split(".")):
        backend = getattr(backend, name)
    kind = asked["kind"]
    build = getattr(backend, f"build_{kind}", None)
    if build is None:
        raise RuntimeError("its back end makes no editable installations: install it without `-e`")
    if not asked["settled"]:
        requires = getattr(backend, f"get_requires_for_build_{kind}", lambda settings: [])({})
        if requires:
            return json.dumps({"requires": [str(one) for one in requires]})
    os.makedirs(f"{place}/wheels")
    build(f"{place}/wheels", {})
    return json.dumps({"requires": []})


_build()
