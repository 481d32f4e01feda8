"""Ours, the package for Python, for dormouse-bench: one JSON command a line in, one JSON answer a line out."""

import json
import sys
import time

begun = time.perf_counter()
import dormouse

IMPORTED = (time.perf_counter() - begun) * 1000
CALLS = 100


def clock(function):
    begin = time.perf_counter()
    result = function()
    return (time.perf_counter() - begin) * 1000, result


def fresh(code, times):
    return {"ms": [clock(lambda: dormouse.run(code).value)[0] for _ in range(times)]}


def callback(code, times):
    """What one call of a function takes: a run of many less a run of none."""
    samples = []
    for _ in range(times):
        many, _ = clock(lambda: dormouse.run(code.replace("CALLS", str(CALLS)), callbacks={"f": lambda: 1}).value)
        none, _ = clock(lambda: dormouse.run(code.replace("CALLS", "0"), callbacks={"f": lambda: 1}).value)
        samples.append((many - none) / CALLS)
    return {"ms": samples}


def version():
    return {"version": dormouse.__version__}


VERBS = {"fresh": fresh, "callback": callback, "import": lambda: {"ms": [IMPORTED]}, "version": version}

for line in sys.stdin:
    command = json.loads(line)
    try:
        answer = VERBS[command.pop("do")](**command)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(answer), flush=True)
