"""Locks and flags of open files. A run has the files of a sandbox for itself, so a lock is always granted; nothing is known of
devices."""

import errno as _errno
import os as _os

from _dormouse.unix import descriptor as _descriptor

F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_SETOWN, F_GETOWN = range(10)
F_DUPFD_CLOEXEC, F_RDLCK, F_WRLCK, F_UNLCK = 1030, 0, 1, 2
FD_CLOEXEC = 1
LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8


def _number(fd):
    number = _descriptor(fd)
    _os.fstat(number)
    return number


def flock(fd, operation, /):
    """Locks an open file, or lets it go."""
    _number(fd)
    if operation & ~LOCK_NB not in (LOCK_SH, LOCK_EX, LOCK_UN):
        raise OSError(_errno.EINVAL, _os.strerror(_errno.EINVAL))


def lockf(fd, cmd, len=0, start=0, whence=0, /):
    """Locks a part of an open file, or lets it go."""
    flock(fd, cmd)


def fcntl(fd, cmd, arg=0, /):
    """Reads and sets flags of a descriptor: it has none, and what is set is not kept."""
    _number(fd)
    if cmd in (F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_SETLK, F_SETLKW):
        return 0 if isinstance(arg, int) else bytes(arg)
    raise OSError(_errno.EINVAL, _os.strerror(_errno.EINVAL))


def ioctl(fd, request, arg=0, mutate_flag=True, /):
    """Asks a device: no file here is one."""
    _number(fd)
    raise OSError(_errno.ENOTTY, _os.strerror(_errno.ENOTTY))
