"""The peer pyeryx, for dormouse-bench: one JSON command a line in, one JSON answer a line out.

Times are taken here, inside the peer's own process, in milliseconds.
"""

import importlib.metadata
import json
import sys
import time

import eryx


def clock(function):
    begin = time.perf_counter()
    result = function()
    return (time.perf_counter() - begin) * 1000, result


def fresh(code, times):
    return {"ms": [clock(lambda: eryx.Sandbox().execute(code))[0] for _ in range(times)]}


def run(code):
    ms, result = clock(lambda: eryx.Sandbox().execute(code))
    return {"ms": [ms], "out": result.stdout_text}


class Warm:
    session = None

    @classmethod
    def call(cls, code, times):
        if cls.session is None:
            cls.session = eryx.Session()
            cls.session.execute(code)
        return {"ms": [clock(lambda: cls.session.execute(code))[0] for _ in range(times)]}


def throughput(code, seconds):
    begin = time.perf_counter()
    count = 0
    while time.perf_counter() - begin < seconds:
        eryx.Sandbox().execute(code)
        count += 1
    return {"rate": count / (time.perf_counter() - begin)}


def private_dirty_kib():
    with open("/proc/self/smaps_rollup") as file:
        for line in file:
            if line.startswith("Private_Dirty:"):
                return int(line.split()[1])


# Sessions stay open from one command to the next: memory that one gave back would serve the next.
OPEN = []


def idle(code, kept):
    def opened():
        session = eryx.Session()
        session.execute(code)
        OPEN.append(session)

    opened()
    before = private_dirty_kib()
    for _ in range(kept):
        opened()
    return {"kib": (private_dirty_kib() - before) / kept}


SAVED = {}


def snapshot(code):
    session = eryx.Session()
    session.execute(code)
    ms, saved = clock(session.snapshot_state)
    SAVED["state"] = saved
    return {"ms": [ms], "kib": len(saved) / 1024}


def restore(code):
    session = eryx.Session()

    def called():
        session.restore_state(SAVED["state"])
        session.execute(code)

    return {"ms": [clock(called)[0]]}


def network(code):
    sandbox = eryx.Sandbox(network=eryx.NetConfig.permissive())
    return {"ms": [clock(lambda: sandbox.execute(code))[0]]}


def late(code, limit_ms):
    limits = eryx.ResourceLimits(execution_timeout_ms=limit_ms)
    sandbox = eryx.Sandbox(resource_limits=limits)

    def stopped():
        try:
            sandbox.execute(code)
        except eryx.TimeoutError:
            return True
        return False

    ms, timed_out = clock(stopped)
    if not timed_out:
        raise RuntimeError("the limit did not end it")
    return {"ms": [ms - limit_ms]}


def version():
    return {"version": importlib.metadata.version("pyeryx")}


VERBS = {
    "fresh": fresh,
    "run": run,
    "warm": Warm.call,
    "throughput": throughput,
    "idle": idle,
    "snapshot": snapshot,
    "restore": restore,
    "late": late,
    "network": network,
    "version": version,
}

for line in sys.stdin:
    command = json.loads(line)
    try:
        answer = VERBS[command.pop("do")](**command)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(answer), flush=True)
