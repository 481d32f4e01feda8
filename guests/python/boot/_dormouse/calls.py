"""System calls that WASI has not, or answers so that a program learns nothing; and the names that Python has for them."""

import errno
import math
import operator
import os
import posix
import signal
import time

import _dormouse_host

# What a run may keep unless it is told otherwise; how much it is told, and how much is left, a guest cannot know.
_BLOCK, _BYTES, _NAMES = 4096, 64 << 20, 10_000
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}
# Longer than any name may be: nothing is made, but whether the folder may be changed is looked at before.
_TOO_LONG = "a" * 300


def _error(number, *about):
    return OSError(number, os.strerror(number), *about)


def _opens(path, flags, dir_fd):
    try:
        os.close(os.open(path, flags | os.O_CLOEXEC, dir_fd=dir_fd))
    except OSError as error:
        return error.errno not in _REFUSED
    return True


def _may_change(path, folder, dir_fd):
    # Changes of a project are the run's own; opening its file for writing would be one.
    if dir_fd is None and _dormouse_host.in_project(os.path.abspath(os.fsdecode(path))):
        return True
    if not folder:
        return _opens(path, os.O_WRONLY, dir_fd)
    within = os.path.join(path, _TOO_LONG if isinstance(path, str) else _TOO_LONG.encode())
    return _opens(within, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd)


def access(path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True):
    """Use the real uid/gid to test for access to a path.

    Found out by opening: there are no permissions that could be read.
    """
    path, mode = os.fspath(path), operator.index(mode)
    try:
        about = os.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    except OSError:
        return False
    if mode & ~(os.R_OK | os.W_OK | os.X_OK):
        return False
    folder, plain = about.st_mode & 0o170000 == 0o040000, about.st_mode & 0o170000 in (0o040000, 0o100000)
    if mode & os.X_OK and not about.st_mode & 0o100:
        return False
    if plain and mode & os.R_OK and not _opens(path, os.O_RDONLY, dir_fd):
        return False
    return not (plain and mode & os.W_OK) or _may_change(path, folder, dir_fd)


def statvfs(path):
    """Perform a statvfs system call on the given path.

    The room is what a run has unless it is told otherwise.
    """
    os.stat(path)
    blocks = _BYTES // _BLOCK
    free, names = blocks - 1, _NAMES - 1
    return os.statvfs_result((_BLOCK, _BLOCK, blocks, free, free, _NAMES, names, names, 0, 255, 0))


def fstatvfs(fd, /):
    """Perform an fstatvfs system call on the given fd."""
    return statvfs(operator.index(fd))


def get_terminal_size(fd=1, /):
    """There is no terminal."""
    os.fstat(operator.index(fd))
    raise _error(errno.ENOTTY)


def pipe():
    """Create a pipe.

    Returns a tuple of two file descriptors: (read_fd, write_fd). Who would have to wait for the other end gets an error.
    """
    return _dormouse_host.pipe()


# What happens without a handler, where it is not the end.
_HARMLESS = {signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGCONT,
             signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
_raise_signal = signal.raise_signal


def raise_signal(signalnum, /):
    """Send a signal to the executing process."""
    number = operator.index(signalnum)
    if not 0 < number < signal.NSIG:
        raise _error(errno.EINVAL)
    if number in (signal.SIGKILL, signal.SIGSTOP) or signal.getsignal(number) is signal.SIG_DFL:
        if number not in _HARMLESS:
            os._exit(128 + number)
    else:
        _raise_signal(number)


def kill(pid, signal, /):
    """Kill a process with a signal. There is one process."""
    pid, number = operator.index(pid), operator.index(signal)
    if not 0 <= number < _SIGNALS:
        raise _error(errno.EINVAL)
    # Its own number, that of its group, and everybody.
    if pid not in (os.getpid(), 0, -1, -os.getpgrp()):
        raise _error(errno.EPERM if pid == os.getppid() else errno.ESRCH)
    if number:
        raise_signal(number)


def killpg(pgid, signal, /):
    """Kill a process group with a signal."""
    kill(-operator.index(pgid), signal)


_SIGNALS = signal.NSIG
_TIMERS = {"ITIMER_REAL": 0, "ITIMER_VIRTUAL": 1, "ITIMER_PROF": 2}
_SECOND = 10 ** 9
# A hundred years.
_LONGEST = 3_155_760_000


def _timer(which, *wanted):
    if operator.index(which) not in _TIMERS.values():
        raise _error(errno.EINVAL)
    if not all(0 <= seconds <= _LONGEST for seconds in wanted):
        raise _error(errno.EINVAL)
    # What is not zero stays so.
    told = _dormouse_host.timer(which, *(max(round(seconds * _SECOND), seconds > 0) for seconds in wanted))
    return tuple(nanoseconds / _SECOND for nanoseconds in told)


def getitimer(which, /):
    """Returns current value of given itimer."""
    return _timer(which)


def setitimer(which, seconds, interval=0.0, /):
    """Sets given itimer to fire after value seconds, and then every interval seconds.

    The interpreter looks at the clock between bytecodes and in sleeps; the processor's time is that of the clock.
    """
    return _timer(which, seconds, interval)


def alarm(seconds, /):
    """Arrange for SIGALRM to arrive after the given number of seconds."""
    return math.ceil(_timer(signal.ITIMER_REAL, operator.index(seconds), 0)[0])


def pause():
    """Wait until a signal arrives, which only a timer can send."""
    if not _dormouse_host.wait_for_timer():
        raise RuntimeError("this waits for ever: no timer is set, and nobody else could send a signal")


_get_clock_info = time.get_clock_info


def get_clock_info(name, /):
    """Get information of the specified clock."""
    return _get_clock_info("process_time" if name == "thread_time" else name)


def _stand_in(function):
    """Puts a function in the place of the system's own, of which `os` also says what it can do."""
    name = function.__name__
    own = getattr(posix, name, None)
    for able in (os.supports_dir_fd, os.supports_effective_ids, os.supports_fd, os.supports_follow_symlinks):
        if own in able:
            able.remove(own)
            able.add(function)
    function.__module__ = "posix"
    setattr(os, name, function)
    setattr(posix, name, function)
    if name not in os.__all__:
        os.__all__.append(name)


def install():
    """Before the modules that look what there is, such as `shutil`."""
    for function in (access, statvfs, fstatvfs, get_terminal_size, pipe, kill, killpg):
        _stand_in(function)
    os.supports_dir_fd.add(access)
    os.supports_follow_symlinks.add(access)
    os.supports_fd.add(statvfs)
    raise_signal.__module__ = "signal"
    signal.raise_signal = raise_signal
    for function in (alarm, getitimer, pause, setitimer):
        function.__module__ = "signal"
        setattr(signal, function.__name__, function)
    vars(signal).update(_TIMERS, ItimerError=OSError)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # There is one thread.
    time.thread_time, time.thread_time_ns = time.process_time, time.process_time_ns
    time.get_clock_info = get_clock_info
