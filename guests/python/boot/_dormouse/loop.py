"""An event loop for a world without sockets and threads: timers and callbacks, nothing else can happen."""

import asyncio
import asyncio.base_events
import asyncio.events
import errno
import time

NO_NETWORK = "no network in this sandbox"
NO_PROCESSES = "no processes in this sandbox"


class _Clock:
    """Stands where a selector would: waiting is sleeping."""

    def select(self, timeout):
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

    def _process_events(self, events):
        pass

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

    def add_signal_handler(self, *args):
        raise NotImplementedError("no signals in this sandbox")


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
