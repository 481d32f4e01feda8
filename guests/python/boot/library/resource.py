"""What a run has used, and its limits. The limits are those of the sandbox; what a program sets is remembered and limits nothing."""

import time as _time
from operator import index as _index

from _dormouse.unix import record as _record

error = OSError
RLIM_INFINITY = -1
RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS, RLIMIT_NPROC, RLIMIT_NOFILE = range(8)
RLIMIT_MEMLOCK, RLIMIT_AS, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_NICE, RLIMIT_RTPRIO = 8, 9, 11, 12, 13, 14
RLIMIT_OFILE = RLIMIT_NOFILE
RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD = 0, -1, 1
_limits = {}

struct_rusage = _record("resource", "struct_rusage",
                        "ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock "
                        "ru_oublock ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw", "What was used.")


def getrusage(who, /):
    """Processor time in seconds; nothing else is counted."""
    if who not in (RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD):
        raise ValueError("invalid who parameter")
    used = 0.0 if who == RUSAGE_CHILDREN else _time.process_time()
    return struct_rusage((used, 0.0) + (0,) * 14)


def _checked(resource):
    resource = _index(resource)
    if not -0x80000000 <= resource <= 0x7FFFFFFF:
        raise OverflowError("Python int too large to convert to C int")
    if not 0 <= resource < 16:
        raise ValueError("invalid resource specified")
    return resource


def getrlimit(resource, /):
    """The soft and the hard limit, as they were set; none at first."""
    return _limits.get(_checked(resource), (RLIM_INFINITY, RLIM_INFINITY))


def setrlimit(resource, limits, /):
    """Remembers both limits."""
    resource = _checked(resource)
    limits = tuple(limits)
    if len(limits) != 2:
        raise ValueError("expected a tuple of 2 integers")
    soft, hard = map(_index, limits)
    if min(soft, hard) < RLIM_INFINITY:
        raise ValueError("Cannot convert negative int")
    if hard != RLIM_INFINITY and (soft == RLIM_INFINITY or soft > hard):
        raise ValueError("current limit exceeds maximum limit")
    _limits[resource] = soft, hard


def getpagesize():
    """Bytes of a page."""
    return 4096
