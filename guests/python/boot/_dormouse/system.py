"""What a program asks about its user and its machine, answered as by a plain Linux."""

import copy
import errno
import operator
import os
import platform
import posix
import sys

USER = 1000
HOME = "/workspace"
# Where there is no such folder: a run without a sandbox.
ELSEWHERE = "/tmp"
# As the shell says them.
HOST, RELEASE = "dormouse", "5.15.0-sandbox"
# Where one would be: no file is there, and no process can be started.
EXECUTABLE = "/usr/bin/python3"
_mask = 0o022


def umask(mask, /):
    """Keeps what it is told: files have no permissions here."""
    global _mask
    _mask, before = operator.index(mask) & 0o777, _mask
    return before


def _of_this_process(name, answer):
    """A question about a process by its number, of which there is one."""
    def asked(pid, /):
        if pid not in (0, os.getpid()):
            raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))
        return copy.copy(answer)
    asked.__name__ = asked.__qualname__ = name
    return asked


def _plainly(name, answer):
    def asked():
        return answer() if callable(answer) else answer
    asked.__name__ = asked.__qualname__ = name
    return asked


def uname():
    """The system, and the processor, which is WebAssembly's."""
    return posix.uname_result(("Linux", HOST, RELEASE, "#1 SMP PREEMPT sandbox", "wasm32"))


def getpriority(which, who):
    """There is one priority."""
    return 0


def setpriority(which, who, priority):
    """There is one priority."""


def sched_setaffinity(pid, mask, /):
    """There is one processor."""
    os.sched_getaffinity(pid)
    processors = {operator.index(number) for number in mask}
    if any(number < 0 for number in processors):
        raise ValueError("negative CPU number")
    if any(number > 0x7FFFFFFF for number in processors):
        raise OverflowError("CPU number too large")
    if 0 not in processors:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def getgrouplist(user, group, /):
    """Groups of a user."""
    return [group]


def waitpid(pid, options, /):
    """There are no other processes."""
    raise OSError(errno.ECHILD, os.strerror(errno.ECHILD))


class Environment(os._Environ):
    """The environment, whose `HOME` nobody gave is looked for when somebody asks: most runs have no use for files."""

    def __getitem__(self, key):
        if key in ("HOME", b"HOME") and self._data.get(b"HOME") is _UNKNOWN:
            self._data[b"HOME"] = (HOME if os.path.isdir(HOME) else ELSEWHERE).encode()
        return super().__getitem__(key)


Environment.__module__, Environment.__name__, Environment.__qualname__ = "os", "_Environ", "_Environ"
# By its identity.
_UNKNOWN = HOME.encode()


def libc_ver(executable=None, lib="", version="", chunksize=16384):
    """The C library of a program; of the interpreter, which is no file, nothing is known."""
    if executable in (None, EXECUTABLE):
        try:
            name, known = os.confstr("CS_GNU_LIBC_VERSION").split(maxsplit=1)
            return name, known
        except (AttributeError, ValueError, OSError):
            return lib, version
    return _libc_ver(executable, lib, version, chunksize)


_libc_ver = platform.libc_ver


def _exists(path, dir_fd=None, follow_symlinks=True):
    if isinstance(path, int):
        os.fstat(path)
    else:
        os.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)


def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
    """Files have no permissions here."""
    operator.index(mode)
    _exists(path, dir_fd, follow_symlinks)


def fchmod(fd, mode):
    """Files have no permissions here."""
    chmod(operator.index(fd), mode)


def chown(path, uid, gid, *, dir_fd=None, follow_symlinks=True):
    """Files belong to the only user, and to nobody else."""
    _exists(path, dir_fd, follow_symlinks)
    if any(operator.index(number) not in (-1, USER) for number in (uid, gid)):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)


def lchown(path, uid, gid):
    """As `chown`."""
    chown(path, uid, gid, follow_symlinks=False)


def fchown(fd, uid, gid):
    """As `chown`."""
    chown(operator.index(fd), uid, gid)


def nice(increment, /):
    """There is one priority."""
    return 0


def _functions():
    answers = {
        "getuid": USER, "geteuid": USER, "getgid": USER, "getegid": USER, "getpgrp": 1, "getppid": 1,
        "getgroups": lambda: [USER], "getlogin": "sandbox", "getresuid": (USER,) * 3, "getresgid": (USER,) * 3,
        "getloadavg": (0.0, 0.0, 0.0), "ctermid": "/dev/tty",
    }
    for name, answer in answers.items():
        yield name, _plainly(name, answer)
    yield "getpgid", _of_this_process("getpgid", 1)
    yield "getsid", _of_this_process("getsid", 1)
    yield "sched_getaffinity", _of_this_process("sched_getaffinity", {0})
    for function in (uname, umask, getpriority, setpriority, sched_setaffinity, getgrouplist, nice, waitpid, chmod, fchmod, chown, lchown,
                     fchown):
        yield function.__name__, function


def install():
    """Adds them to `os` and `posix`, and the home to whatever environment the host gives."""
    for name, function in _functions():
        for module in (os, posix):
            setattr(module, name, function)
        if name not in os.__all__:
            os.__all__.append(name)
    os.PRIO_PROCESS, os.PRIO_PGRP, os.PRIO_USER = range(3)
    os.WNOHANG = 1
    platform.libc_ver = libc_ver
    platform._uname_cache = None
    platform._platform_cache.clear()
    create = os._create_environ

    def create_environ():
        environment = create()
        environment.setdefault(b"HOME", _UNKNOWN)
        return environment

    os._create_environ = create_environ
    os.environ.__class__ = os.environb.__class__ = Environment


def finish():
    """The last step of the build: what every run finds unless it is given something else."""
    os.environ._data[b"HOME"] = _UNKNOWN
    sys.executable = sys._base_executable = EXECUTABLE
