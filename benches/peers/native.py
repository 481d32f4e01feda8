"""Native CPython, for dormouse-bench: one JSON command a line in, one JSON answer a line out."""

import contextlib
import io
import json
import platform
import sys
import time


def run(code):
    captured = io.StringIO()
    compiled = compile(code, "<snippet>", "exec")
    begin = time.perf_counter()
    with contextlib.redirect_stdout(captured):
        exec(compiled, {"__name__": "__main__"})
    return {"ms": [(time.perf_counter() - begin) * 1000], "out": captured.getvalue()}


def version():
    return {"version": platform.python_version()}


for line in sys.stdin:
    command = json.loads(line)
    try:
        answer = {"run": run, "version": version}[command.pop("do")](**command)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(answer), flush=True)
