"""An event loop for a world without sockets and threads: timers and callbacks, nothing else can happen."""

import asyncio
import asyncio.base_events
import asyncio.events
import errno
import inspect
import signal
import time

import _dormouse_host
from _dormouse.absent import NO_NETWORK, NO_PROCESSES


def _number(file):
    return file if isinstance(file, int) else file.fileno()


class _Clock:
    """Stands where a selector would: waiting is sleeping."""

    def __init__(self):
        self.readers, self.writers = {}, {}

    def select(self, timeout):
        ready = [handle for file, handle in self.readers.items() if _dormouse_host.is_ready(file)] + list(self.writers.values())
        if ready:
            return ready
        if timeout is None:
            raise RuntimeError("the event loop waits for something that can never happen: "
                               "nothing is scheduled, and this sandbox has no threads and no sockets")
        if timeout > 0:
            time.sleep(timeout)
        return ()


class EventLoop(asyncio.base_events.BaseEventLoop):
    """The loop behind `asyncio.run`."""

    def __init__(self, selector=None):
        super().__init__()
        self._selector = _Clock()
        self._signals = set()

    def _process_events(self, events):
        for handle in events:
            self._add_callback(handle)

    def _watch(self, watched, file, callback, args):
        self._check_closed()
        self._forget(watched, file)
        watched[_number(file)] = asyncio.events.Handle(callback, args, self, None)

    def _forget(self, watched, file):
        handle = watched.pop(_number(file), None)
        if handle is not None:
            handle.cancel()
        return handle is not None

    def add_reader(self, fd, callback, *args):
        """Add a reader callback: of a pipe within the program, or of the standard input."""
        self._watch(self._selector.readers, fd, callback, args)

    def remove_reader(self, fd):
        """Remove a reader callback."""
        return self._forget(self._selector.readers, fd)

    def add_writer(self, fd, callback, *args):
        """Add a writer callback. There is always room."""
        self._watch(self._selector.writers, fd, callback, args)

    def remove_writer(self, fd):
        """Remove a writer callback."""
        return self._forget(self._selector.writers, fd)

    def _write_to_self(self):
        pass

    def run_in_executor(self, executor, func, *args):
        """Calls the function at once: there is no thread that could do it meanwhile."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            # A future refuses this one, as generators use it for something else.
            if isinstance(error, StopIteration):
                error = RuntimeError("the function raised StopIteration")
            future.set_exception(error)
        return future

    async def getaddrinfo(self, host, port, *, family=0, type=0, proto=0, flags=0):
        raise OSError(errno.ENOTSUP, NO_NETWORK)

    async def getnameinfo(self, sockaddr, flags=0):
        raise OSError(errno.ENOTSUP, NO_NETWORK)

    async def create_connection(self, *args, **options):
        raise OSError(errno.ENOTSUP, NO_NETWORK)

    async def create_server(self, *args, **options):
        raise OSError(errno.ENOTSUP, NO_NETWORK)

    async def create_datagram_endpoint(self, *args, **options):
        raise OSError(errno.ENOTSUP, NO_NETWORK)

    async def subprocess_shell(self, *args, **options):
        raise OSError(errno.ENOTSUP, NO_PROCESSES)

    async def subprocess_exec(self, *args, **options):
        raise OSError(errno.ENOTSUP, NO_PROCESSES)

    def add_signal_handler(self, sig, callback, *args):
        """Add a handler for a signal, which only the program itself can send."""
        if asyncio.iscoroutine(callback) or inspect.iscoroutinefunction(callback):
            raise TypeError("coroutines cannot be used with add_signal_handler()")
        self._check_closed()
        signal.signal(sig, lambda number, frame: self.call_soon(callback, *args))
        self._signals.add(sig)

    def remove_signal_handler(self, sig):
        """Remove a handler for a signal. Return True if a signal handler was removed, False if not."""
        if sig not in self._signals:
            return False
        self._signals.remove(sig)
        signal.signal(sig, signal.default_int_handler if sig == signal.SIGINT else signal.SIG_DFL)
        return True

    def close(self):
        """Close the event loop."""
        for sig in list(self._signals):
            self.remove_signal_handler(sig)
        super().close()


_session = None


def run(coroutine):
    """Runs a snippet that awaits. All of a session's snippets share one loop, so tasks live on between them."""
    global _session
    if _session is None or _session.is_closed():
        _session = EventLoop()
    try:
        return _session.run_until_complete(coroutine)
    except BaseException as error:
        error.__traceback__ = _from_snippet(error.__traceback__, coroutine.cr_code)
        raise


def _from_snippet(trace, code):
    """A traceback without the frames of the loop that ran the snippet."""
    step = trace
    while step is not None:
        if step.tb_frame.f_code is code:
            return step
        step = step.tb_next
    return trace


def install():
    """Makes this the loop of `asyncio.run`, `asyncio.new_event_loop` and the policies."""
    import asyncio.unix_events as unix
    unix._UnixDefaultEventLoopPolicy._loop_factory = EventLoop
    unix.SelectorEventLoop = EventLoop
    asyncio.SelectorEventLoop = asyncio.EventLoop = EventLoop
