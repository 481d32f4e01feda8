"""What `sysconfig` knows of the build. The module that CPython generates names folders of the building machine."""

import sys
import sysconfig
import types


def install():
    name = sysconfig._get_sysconfigdata_name()
    module = types.ModuleType(name)
    module.build_time_vars = {
        "prefix": sys.prefix, "exec_prefix": sys.exec_prefix, "VERSION": "3.14", "LIBDEST": sys._stdlib_dir,
        "MULTIARCH": "wasm32-wasi", "SOABI": "cpython-314-wasm32-wasi", "EXT_SUFFIX": ".cpython-314-wasm32-wasi.so",
        "Py_DEBUG": 0, "Py_ENABLE_SHARED": 0, "Py_GIL_DISABLED": 0, "WITH_PYMALLOC": 1, "SIZEOF_VOID_P": 4, "TZPATH": "",
    }
    sys.modules[name] = module
