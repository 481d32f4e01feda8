"""Calls of the host's functions that are under way.

A call is a future of the loop that runs. When no loop has anything left to do, the host is told of all new calls together, and
of those that nobody wants any more.
"""

import collections
import json

import _dormouse_host
from asyncio.events import get_running_loop

# Calls that the host makes at one time; others wait for their turn.
AT_ONCE = 256
_MOST_NUMBERS = 1 << 32

# Not in a container, whose interpreter waits for each call by itself.
_CAN_WAIT = hasattr(_dormouse_host, "wait")

_last = 0
_new = collections.deque()  # (number, name, arguments as JSON)
_known = {}                 # number: future, of calls that the host knows
_cancelled = []


class ToolError(RuntimeError):
    """A function of the host failed, or there is none of that name."""


async def call(name, arguments):
    """Makes a call and waits for its answer."""
    global _last
    if not _CAN_WAIT:
        done, answer = _dormouse_host.call_tool(name, arguments)
        if not done:
            raise ToolError(answer)
        return json.loads(answer)
    _last = (_last + 1) % _MOST_NUMBERS
    number, future = _last, get_running_loop().create_future()
    _new.append((number, name, arguments, future))
    try:
        return json.loads(await future)
    finally:
        if future.cancelled() and _known.pop(number, None) is not None:
            _cancelled.append(number)


def is_open():
    """Whether an answer is waited for."""
    return bool(_new or _known)


def wanted(seconds):
    """What the host is told: new calls, those that are cancelled, and in how many nanoseconds the program goes on by itself."""
    calls = []
    while _new and len(_known) < AT_ONCE:
        number, name, arguments, future = _new.popleft()
        if not future.done():
            _known[number] = future
            calls.append((number, name, arguments))
    told = calls, _cancelled.copy(), None if seconds is None else max(0, int(seconds * 1e9))
    _cancelled.clear()
    return told


def settle(answers):
    """Gives the answers to those who wait for them."""
    for number, done, text in answers:
        future = _known.pop(number, None)
        if future is None or future.done():
            continue
        if done:
            future.set_result(text)
        else:
            future.set_exception(ToolError(text))


def wait(seconds):
    """Waits where the program cannot pause, until an answer is there or the time is over."""
    settle(_dormouse_host.wait(wanted(seconds)))


def forget():
    """The run is over: nobody answers any more."""
    left = [future for *_, future in _new] + list(_known.values())
    _new.clear()
    _known.clear()
    _cancelled.clear()
    for future in left:
        if not (future.done() or future.get_loop().is_closed()):
            future.set_exception(ToolError("the run that made this call has ended"))
