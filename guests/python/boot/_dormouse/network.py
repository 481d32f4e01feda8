"""Sockets as descriptors: what `_socket`, `select` and the loop of `asyncio` are made of.

A descriptor of a socket is a number far above those of files, and stands for an end: of a connection to the outside, which the host
has, or of a pair within the program. A connection is gone when its run is over; the next use of its descriptor says so, as if the
server had ended it.
"""

import errno
import heapq
import operator
import os
import time

import _dormouse_host
import _dormouse_net
from _dormouse import turns

# Descriptors of sockets begin here.
FIRST = 1 << 20
# Sockets that can be there at one time, which is also how many connections the host waits for.
_MOST = 1024
# What one end of a pair holds at most for the other.
_ROOM = 65536
# A timer that rings in less seconds is not waited for.
_AT_ONCE = 1e-6

# Of getaddrinfo(3).
EAI_NONAME = -2


class gaierror(OSError):
    """A name has no address."""


gaierror.__module__ = "socket"


# By the words of the contract.
_ERRORS = {
    "denied": (PermissionError, errno.EACCES),
    "unknown-name": (gaierror, EAI_NONAME),
    "refused": (ConnectionRefusedError, errno.ECONNREFUSED),
    "reset": (ConnectionResetError, errno.ECONNRESET),
    "closed": (ConnectionResetError, errno.ECONNRESET),
    "timed-out": (TimeoutError, errno.ETIMEDOUT),
    "untrusted": (PermissionError, errno.EACCES),
    "protocol": (OSError, errno.EPROTO),
    "exhausted": (OSError, errno.EDQUOT),
}


def error_of(trouble, text):
    """The exception that Python has for what went wrong."""
    kind, number = _ERRORS.get(trouble, _ERRORS["protocol"])
    return kind(number, text)


def _ask(function, *arguments):
    try:
        return function(*arguments)
    except _dormouse_net.Problem as problem:
        raise error_of(*problem.args) from None


class Unconnected:
    """Of a socket that leads nowhere yet."""

    users, handle, waits = 1, None, False

    def ready(self):
        return True, True

    def receive(self, most=0, peeks=False):
        raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))

    send = finish = stop = receive

    def close(self):
        """There is nothing to end."""


class Connection:
    """Of a connection of the host's. `can_wait`: it may have to wait for its turn, and is none of the host's until then."""

    def __init__(self, name, port, peer, can_wait=False):
        self.users, self.name, self.port, self.peer, self.ahead, self.ended = 1, name, port, peer, b"", False
        self.handle = self.problem = None
        # Whether an answer is waited for, as far as bytes say so.
        self.asks = False
        _ask(turns.begin, self, can_wait)

    @property
    def waits(self):
        """Whether it waits for its turn."""
        return self.handle is None and self.problem is None

    def failure(self):
        """Why it was refused when its turn came; None: it was not."""
        return self.problem and error_of(*self.problem.args)

    def ready(self):
        """For what it is ready without a question to the host."""
        if self.handle is None:
            return not self.waits, not self.waits
        return bool(self.ahead) or self.ended, False

    def _check(self):
        """Whether it is connected."""
        if self.problem is not None:
            raise self.failure()
        return self.handle is not None

    def receive(self, most, peeks=False):
        """Bytes that have come, none at the end; None: nothing is there yet."""
        if not self._check():
            return None
        data, self.ahead = self.ahead, b""
        if not data:
            data = b"" if self.ended else _ask(_dormouse_net.receive, self.handle, most)
            self.ended = data == b""
            self._moved(bool(data), False)
        if data is not None:
            self.ahead = data if peeks else data[most:]
        return data and data[:most]

    def send(self, data):
        """How many bytes were taken; 0: none can be now."""
        if not self._check():
            return 0
        taken = _ask(_dormouse_net.send, self.handle, data)
        self._moved(bool(taken), True)
        return taken

    def _moved(self, has_moved, asks):
        if has_moved:
            self.asks = asks
            if turns.waiting:
                turns.moved()

    def finish(self):
        """Nothing more is sent."""
        if not self._check():
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        _dormouse_net.finish(self.handle)

    def stop(self):
        """Nothing more is received."""
        self.ended = True

    def close(self):
        turns.end(self)


class PairEnd:
    """Of a pair of sockets within the program."""

    handle, waits = None, False

    def __init__(self):
        self.users, self.other, self.come, self.ended = 1, None, bytearray(), False

    def ready(self):
        return bool(self.come) or self.ended, self.other is None or self.other.ended or len(self.other.come) < _ROOM

    def receive(self, most, peeks=False):
        if not self.come:
            return b"" if self.ended else None
        taken = bytes(self.come[:most])
        if not peeks:
            del self.come[:most]
        return taken

    def send(self, data):
        # An end that reads no more takes nothing.
        if self.other is None or self.other.ended:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        taken = bytes(data[:_ROOM - len(self.other.come)])
        self.other.come += taken
        return len(taken)

    def finish(self):
        if self.other is not None:
            self.other.ended = True

    def stop(self):
        self.ended = True

    def close(self):
        self.finish()
        if self.other is not None:
            self.other.other = None


def pair():
    """Two ends that lead to each other."""
    one, two = PairEnd(), PairEnd()
    one.other, two.other = two, one
    return one, two


# descriptor: its end; and descriptors that are free again.
_ends, _free = {}, []


def add(end):
    """A descriptor for an end: the lowest that is free."""
    if len(_ends) >= _MOST:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    number = heapq.heappop(_free) if _free else FIRST + len(_ends)
    _ends[number] = end
    return number


def end_of(number):
    """What a descriptor stands for."""
    end = _ends.get(operator.index(number))
    if end is None:
        if 0 <= number < FIRST:
            # Its own error, if it is none of a file.
            os.fstat(number)
            raise OSError(errno.ENOTSOCK, os.strerror(errno.ENOTSOCK))
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return end


def put(number, end):
    """Has a descriptor stand for another end: it was connected."""
    end_of(number)
    _ends[number] = end


def close(number):
    """Closes a descriptor; with the last one of an end, the end."""
    end = end_of(number)
    del _ends[number]
    heapq.heappush(_free, number)
    end.users -= 1
    if not end.users:
        end.close()


def double(number):
    """One descriptor more for the same end."""
    end = end_of(number)
    other = add(end)
    end.users += 1
    return other


def is_live(number, reads, writes):
    """Whether a descriptor is ready, or the host can make it so."""
    end = _ends.get(number)
    return end is not None and (end.handle is not None or end.waits) or any(_ready(number, end, reads, writes))


def _ready(number, end, reads, writes):
    """For what a descriptor is ready, as far as that is known here. One that is not there is for everything."""
    if number < FIRST:
        return reads and _dormouse_host.is_ready(number), writes
    can_read, can_write = end.ready() if end is not None else (True, True)
    return reads and can_read, writes and can_write


def until_timer():
    """Seconds until the timer of the real time sends its signal; None: it is not set."""
    left = _dormouse_host.timer(0)[0]
    return left / 1e9 if left else None


def _look(interests):
    """What is ready as far as that is known here; and the connections that the host is asked for, with their descriptors."""
    found, asked, numbers = {}, {}, {}
    for number, (reads, writes) in interests.items():
        end = _ends.get(number)
        ready = _ready(number, end, reads, writes)
        if any(ready):
            found[number] = ready
        elif end is not None and end.handle is not None:
            before = asked.get(end.handle, (False, False))
            asked[end.handle] = before[0] or reads, before[1] or writes
            numbers.setdefault(end.handle, []).append(number)
    return found, asked, numbers


def wait(interests, seconds):
    """Waits until a descriptor is ready, an answer of the host's has come, or the time is over; none: without end, unless nothing can
    ever happen, which is an `OSError` (`EDEADLK`).

    `interests` says of each descriptor whether one waits to read and to write; what is returned, for which of these it is ready. It
    may be empty before the time is over.
    """
    if (turn := turns.left()) is not None:
        seconds = turn if seconds is None else min(seconds, turn)
    found, asked, numbers = _look(interests)
    if found:
        seconds = 0
    if seconds != 0 and (ring := until_timer()) is not None and (seconds is None or ring < seconds):
        if ring <= _AT_ONCE:
            _dormouse_host.wait_for_timer()
            return found
        seconds = ring
    if asked:
        for handle, can_read, can_write in _outside(asked, seconds):
            for number in numbers[handle]:
                reads, writes = interests[number]
                if reads and can_read or writes and can_write:
                    found[number] = reads and can_read, writes and can_write
    elif seconds != 0:
        _inside(seconds)
    return found


def _outside(asked, seconds):
    """Waits for connections, and for calls that are under way."""
    from _dormouse import waiting
    interests = [(handle, *wanted) for handle, wanted in asked.items()]
    ready, answers = _dormouse_net.wait(interests, waiting.wanted(seconds))
    waiting.settle(answers)
    return ready


def _inside(seconds):
    """Waits where no connection can become ready."""
    from _dormouse import waiting
    if waiting.is_open():
        waiting.wait(seconds)
    elif seconds is None:
        raise OSError(errno.EDEADLK, "this waits for ever: nobody else could write or read here")
    else:
        time.sleep(seconds)
