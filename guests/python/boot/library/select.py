"""Waiting for several descriptors: sockets, pipes within the program, and files, which are always ready."""

import errno as _errno
import math as _math
import operator as _operator
import os as _os
import time as _time

from _dormouse import network as _network

POLLIN, POLLPRI, POLLOUT, POLLERR, POLLHUP, POLLNVAL = 1, 2, 4, 8, 16, 32
POLLRDNORM, POLLRDBAND, POLLWRNORM, POLLWRBAND, POLLMSG, POLLRDHUP = 64, 128, 256, 512, 1024, 8192
PIPE_BUF = 4096
error = OSError

_READS, _WRITES = POLLIN | POLLPRI | POLLRDNORM | POLLRDBAND | POLLRDHUP, POLLOUT | POLLWRNORM | POLLWRBAND
# Longer than any clock goes.
_LONGEST = 2 ** 63 // 10 ** 9


def _number_of(file):
    if not isinstance(file, int):
        method = getattr(file, "fileno", None)
        if method is None:
            raise TypeError("argument must be an int, or have a fileno() method.")
        file = method()
        if not isinstance(file, int):
            raise TypeError("fileno() returned a non-integer")
    if file < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({file})")
    return file


def _is_there(number):
    try:
        _network.end_of(number) if number >= _network.FIRST else _os.fstat(number)
    except OSError:
        return False
    return True


def _wait(interests, seconds):
    """As `network.wait`, until something is ready or the time is over."""
    until = None if seconds is None else _time.monotonic() + seconds
    while not (found := _network.wait(interests, seconds)) and seconds != 0:
        if until is not None:
            seconds = max(0, until - _time.monotonic())
    return found


# As a function of C, it is no method of a class that has it as an attribute: `selectors` does so.
@staticmethod
def select(rlist, wlist, xlist, timeout=None, /):
    """Wait until one or more file descriptors are ready for some kind of I/O. Nothing is ever exceptional."""
    if timeout is not None:
        if not isinstance(timeout, (int, float)):
            raise TypeError("timeout must be a number or None")
        if timeout < 0:
            raise ValueError("timeout must be non-negative")
        if timeout > _LONGEST:
            raise OverflowError("timeout is too large")
    readers, writers, others = ([(_number_of(file), file) for file in files] for files in (rlist, wlist, xlist))
    interests = {}
    for number, _ in readers + writers + others:
        if not _is_there(number):
            raise OSError(_errno.EBADF, _os.strerror(_errno.EBADF))
    for number, _ in readers:
        interests[number] = True, False
    for number, _ in writers:
        interests[number] = number in interests, True
    found = _wait(interests, timeout)
    chosen = ([file for number, file in files if found.get(number, (False, False))[which]]
              for which, files in enumerate((readers, writers)))
    return *chosen, []


class poll:
    """Descriptors that are waited for."""

    def __init__(self):
        self._masks = {}

    def register(self, fd, eventmask=POLLIN | POLLPRI | POLLOUT, /):
        """Register a file descriptor with the polling object."""
        self._masks[_number_of(fd)] = _mask_of(eventmask)

    def modify(self, fd, eventmask, /):
        """Modify an already registered file descriptor."""
        number = _number_of(fd)
        if number not in self._masks:
            raise OSError(_errno.ENOENT, _os.strerror(_errno.ENOENT))
        self._masks[number] = _mask_of(eventmask)

    def unregister(self, fd, /):
        """Remove a file descriptor being tracked by the polling object."""
        del self._masks[_number_of(fd)]

    def poll(self, timeout=None, /):
        """Polls the set of registered file descriptors, for as many milliseconds, and returns those with something to tell."""
        if timeout is not None and not isinstance(timeout, (int, float)):
            raise TypeError("timeout must be an integer or None")
        seconds = None if timeout is None or timeout < 0 else _math.ceil(timeout) / 1000
        if seconds is not None and seconds > _LONGEST:
            raise OverflowError("timeout is too large")
        told = [(number, POLLNVAL) for number in self._masks if not _is_there(number)]
        interests = {number: (bool(mask & _READS), bool(mask & _WRITES)) for number, mask in self._masks.items()
                     if mask & (_READS | _WRITES) and (number, POLLNVAL) not in told}
        found = _wait(interests, 0 if told else seconds)
        for number, (reads, writes) in found.items():
            mask = self._masks[number]
            told.append((number, reads * (mask & (POLLIN | POLLRDNORM)) | writes * (mask & (POLLOUT | POLLWRNORM))))
        return [(number, mask) for number, mask in told if mask]


def _mask_of(mask):
    mask = _operator.index(mask)
    if not 0 <= mask <= 0xFFFF:
        raise ValueError("the mask cannot be negative") if mask < 0 else OverflowError("the mask is a number of 16 bits")
    return mask
