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


VERBS = {
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
