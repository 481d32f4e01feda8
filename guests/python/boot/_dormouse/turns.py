"""Connections that wait for their turn.

The host allows so many at one time, and does not say how many. Who connects without waiting, as `asyncio` does, and is refused for
that reason while others of the program are open, goes on connecting until one of these is closed. From then on the host keeps no
connection of this program that nobody uses, so clients that keep theirs for later have no place for ever.
"""

import collections
import time

import _dormouse_net

# Seconds between two looks at those that wait. It may be tried again though none was closed: the limit may be shared with others.
_AGAIN = 1
# Looks in a row at which nothing had happened on any connection, after which all that wait are told of the host's refusal: usually, and
# while one of them waits for an answer, which may take its time.
_PATIENCE, _LONG_PATIENCE = 5, 60

waiting = collections.deque()
_open = set()
# As many are open as may be; what the host says to that; when it was looked last, and how often in vain.
_most, _problem, _looked, _vain = 0, None, 0, 0
# Of the numbers of a run's connections, the upper half.
_run = None


def begin(connection, can_wait):
    """Opens a connection, or lets it wait for its turn."""
    global _looked, _vain
    if can_wait and waiting:
        waiting.append(connection)
        return
    try:
        _start(connection)
    except _dormouse_net.Problem as problem:
        if not (can_wait and _open and problem.args[0] == "exhausted"):
            raise
        waiting.append(connection)
        _refused(problem)
        _looked, _vain = time.monotonic(), 0


def end(connection):
    """Closes a connection; others may have its place."""
    if connection.handle is None:
        if connection in waiting:
            waiting.remove(connection)
        return
    _dormouse_net.close(connection.handle)
    _open.discard(connection)
    if waiting:
        moved()
        _go_on(False)


def moved():
    """Something happens on a connection."""
    global _vain
    _vain = 0


def left():
    """Goes on with those whose turn it is. In how many seconds this is to be done again; None: none waits."""
    global _looked, _vain
    if waiting and time.monotonic() - _looked >= _AGAIN:
        _looked, _vain = time.monotonic(), _vain + 1
        if _vain >= (_LONG_PATIENCE if any(connection.asks for connection in _open) else _PATIENCE):
            _give_up()
        elif _vain & (_vain - 1) == 0:
            # Seldom, since the host counts what it refuses.
            _go_on(True)
    return max(0, _AGAIN - (time.monotonic() - _looked)) if waiting else None


def _start(connection):
    global _run
    handle = _dormouse_net.open(connection.name, connection.port)
    if handle >> 32 != _run:
        # Those of the run before are gone.
        _run = handle >> 32
        _open.clear()
    connection.handle = handle
    _open.add(connection)


def _refused(problem):
    global _most, _problem
    _most, _problem = len(_open), problem


def _go_on(anyway):
    """Opens those that wait, as long as there are places; `anyway`: until the host says that there are none."""
    while waiting and (anyway or len(_open) < _most):
        try:
            _start(waiting[0])
        except _dormouse_net.Problem as problem:
            if problem.args[0] == "exhausted":
                _refused(problem)
                if not _open:
                    _give_up()
                return
            waiting[0].problem = problem
        waiting.popleft()
        moved()


def _give_up():
    for connection in waiting:
        connection.problem = _problem
    waiting.clear()
