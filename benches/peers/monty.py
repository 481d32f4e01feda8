"""The peer pydantic-monty, for dormouse-bench: one JSON command a line in, one JSON answer a line out."""

import importlib.metadata
import json
import sys
import time

import pydantic_monty

# Its worker processes are started before anything is measured, as its users do.
POOL = pydantic_monty.Monty(min_processes=2, max_processes=16)
POOL.__enter__()


def once(code):
    begin = time.perf_counter()
    with POOL.checkout() as session:
        session.feed_run(code)
    return (time.perf_counter() - begin) * 1000


def callback(code, times):
    """Milliseconds of ten calls of a function of this process, one after the other, without what a run takes that makes none."""

    def run(calls):
        with POOL.checkout() as session:
            begin = time.perf_counter()
            session.feed_run(code.replace("CALLS", str(calls)), external_lookup={"one": lambda: 1})
            return (time.perf_counter() - begin) * 1000

    return {"ms": [run(10) - run(0) for _ in range(times)]}


VERBS = {
    "callback": callback,
    "fresh": lambda code, times: {"ms": [once(code) for _ in range(times)]},
    "version": lambda: {"version": importlib.metadata.version("pydantic-monty")},
}

for line in sys.stdin:
    command = json.loads(line)
    try:
        answer = VERBS[command.pop("do")](**command)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(answer), flush=True)
