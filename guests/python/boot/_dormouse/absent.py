"""What this sandbox cannot do says so, in one sentence, where a program would otherwise meet something obscure."""

import errno
import os
import sys

NO_PROCESSES = "no processes in this sandbox"
NO_THREADS = "no threads in this sandbox"

_TERMINAL = "there is no terminal"
_PIP = "packages are installed with the tool `sandbox_install`, or with `pip install` in the shell"
_REASONS = {
    "_curses_panel": _TERMINAL,
    "tkinter": "there is no display", "_tkinter": "there is no display",
    "turtle": "there is no display", "turtledemo": "there is no display", "idlelib": "there is no display",
    "_posixsubprocess": "there are no processes",
    "_remote_debugging": "there are no processes", "_multiprocessing": "there are no processes", "_posixshmem": "there are no processes",
    "_interpreters": "there is one interpreter", "_interpchannels": "there is one interpreter",
    "_interpqueues": "there is one interpreter",
    "_hashlib": "OpenSSL is not built in; `hashlib` has its digests",
    "_gdbm": "the library is not built in", "_dbm": "the library is not built in",
    "ensurepip": _PIP, "venv": f"a sandbox is an environment of its own; {_PIP}",
    "msvcrt": "this is not Windows", "winreg": "this is not Windows", "winsound": "this is not Windows",
    "_winapi": "this is not Windows", "nt": "this is not Windows", "_overlapped": "this is not Windows", "_wmi": "this is not Windows",
    "_scproxy": "this is not macOS", "_ios_support": "this is not iOS",
    "pip": _PIP, "setuptools": _PIP,
}


def said(name):
    """Why a module that is known is not here; None: it is not known."""
    reason = _REASONS.get(name)
    return None if reason is None else f"`{name}` is not available in this sandbox: {reason}"


class Absent:
    """The last finder: names a reason for modules that are known and cannot be here."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        why = said(name)
        # `importlib.util.find_spec` asks whether there is a module; there is none.
        if why is not None and sys._getframe(2).f_code.co_name != "find_spec":
            raise ModuleNotFoundError(why, name=name)


def is_absent(name):
    return name.partition(".")[0] in _REASONS


def _refuse(kind, *arguments):
    def refused(*_args, **_options):
        raise kind(*arguments)
    return refused


def _patch_processes():
    import subprocess
    from multiprocessing import context, process
    error = (OSError, errno.ENOTSUP, NO_PROCESSES)
    original = subprocess.Popen.__init__

    def open_process(self, *args, **options):
        self._child_created, self.returncode = False, None
        self.stdin = self.stdout = self.stderr = None
        raise OSError(errno.ENOTSUP, NO_PROCESSES)

    open_process.__signature__ = __import__("inspect").signature(original)
    subprocess.Popen.__init__ = open_process
    os.system = _refuse(*error)
    process.BaseProcess.start = _refuse(*error)
    for method in ("Pool", "Manager", "Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event",
                   "Barrier", "Queue", "JoinableQueue", "SimpleQueue", "Pipe"):
        setattr(context.BaseContext, method, _refuse(*error))
    from concurrent.futures import process as pool
    pool.ProcessPoolExecutor.__init__ = _refuse(*error)


def install():
    """After all modules that are changed here were imported."""
    _patch_processes()
    sys.breakpointhook = _refuse(RuntimeError, "no debugger in this sandbox: there is no terminal")
    sys.meta_path.append(Absent)
