"""The system's log, which nobody reads: messages go nowhere, as on a system whose log does not run."""

LOG_EMERG, LOG_ALERT, LOG_CRIT, LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG = range(8)
LOG_KERN, LOG_USER, LOG_MAIL, LOG_DAEMON, LOG_AUTH, LOG_SYSLOG, LOG_LPR, LOG_NEWS, LOG_UUCP, LOG_CRON, LOG_AUTHPRIV, LOG_FTP = \
    range(0, 96, 8)
LOG_LOCAL0, LOG_LOCAL1, LOG_LOCAL2, LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5, LOG_LOCAL6, LOG_LOCAL7 = range(128, 192, 8)
LOG_PID, LOG_CONS, LOG_ODELAY, LOG_NDELAY, LOG_NOWAIT, LOG_PERROR = 1, 2, 4, 8, 16, 32
_mask = 0xFF


def openlog(ident=None, logoption=0, facility=LOG_USER):
    """Does nothing."""
    if ident is not None:
        ident.encode()


def syslog(*message):
    """Does nothing: `syslog(message)` or `syslog(priority, message)`."""
    if len(message) not in (1, 2) or not isinstance(message[-1], str):
        raise TypeError("syslog.syslog requires 1 to 2 arguments, of which the last is a str")


def closelog():
    """Does nothing."""


def setlogmask(maskpri, /):
    """Sets which priorities are kept. Answers what was set before."""
    global _mask
    _mask, before = maskpri or _mask, _mask
    return before


def LOG_MASK(pri, /):
    """The mask of one priority."""
    return 1 << pri


def LOG_UPTO(pri, /):
    """The mask of all priorities up to one."""
    return (1 << (pri + 1)) - 1
