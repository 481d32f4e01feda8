"""Compiles modules: called in a sandbox of its own, over `/workspace/compile.json`. It runs none of them.

What comes of it lies in one file: for each module a line with a length and its path, and then that many bytes, as they belong into
`__pycache__`; none for a module that cannot be compiled. It ends when its time is over, with what it has.
"""

import importlib.util
import json
import os
import time
import warnings
from importlib._bootstrap_external import _code_to_hash_pyc


def _compiled(path):
    with open(path, "rb") as file:
        source = file.read()
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return b""
    # Checked when it is imported, so that a module that was changed since is compiled again.
    return bytes(_code_to_hash_pyc(code, importlib.util.source_hash(source), True))


def _compile(place="/workspace"):
    with open(f"{place}/compile.json", encoding="utf-8") as file:
        asked = json.load(file)
    end = time.monotonic() + asked["seconds"]
    warnings.simplefilter("ignore")
    os.makedirs(f"{place}/compiled")
    with open(f"{place}/compiled/modules", "wb") as file:
        for path in asked["modules"]:
            if time.monotonic() > end:
                break
            data = _compiled(f"{place}/.local/{path}")
            file.write(b"%d %s\n" % (len(data), path.encode()))
            file.write(data)


_compile()
