"""An event loop for a world without sockets and threads: timers and callbacks, nothing else can happen."""

import asyncio
import asyncio.base_events
import asyncio.events
import asyncio.runners
import errno
import heapq
import inspect
import signal
import time

import _dormouse_host
from _dormouse import parts, waiting
from _dormouse.absent import NO_NETWORK, NO_PROCESSES

_NOTHING_LEFT = ("the event loop waits for something that can never happen: "
                 "nothing is scheduled, and this sandbox has no threads and no sockets")


def _number(file):
    return file if isinstance(file, int) else file.fileno()


def _ring():
    """Seconds until the timer of the real time sends its signal; None: it is not set."""
    left = _dormouse_host.timer(0)[0]
    return left / 1e9 if left else None


class _Clock:
    """Stands where a selector would: waiting is sleeping."""

    def __init__(self):
        self.readers, self.writers = {}, {}

    def ready(self):
        readers = [handle for file, handle in self.readers.items() if _dormouse_host.is_ready(file)]
        return readers + list(self.writers.values())

    def select(self, timeout):
        ready = self.ready()
        if ready or timeout == 0:
            return ready
        ring = _ring()
        rings = ring is not None and (timeout is None or ring < timeout)
        if waiting.is_open():
            waiting.wait(ring if rings else timeout)
        elif rings:
            _dormouse_host.wait_for_timer()
        elif timeout is None:
            raise RuntimeError(_NOTHING_LEFT)
        else:
            time.sleep(timeout)
        return ()


class EventLoop(asyncio.base_events.BaseEventLoop):
    """The loop behind `asyncio.run`."""

    def __init__(self, selector=None):
        super().__init__()
        self._selector = _Clock()
        self._signals = set()
        self._not_before, self._until = 0, None

    def time(self):
        """Return the time according to the event loop's clock."""
        return max(super().time(), self._not_before)

    def _due(self):
        """When the next timer is due; None: there is none."""
        while self._scheduled and self._scheduled[0]._cancelled:
            self._timer_cancelled_count -= 1
            heapq.heappop(self._scheduled)._scheduled = False
        return self._scheduled[0]._when if self._scheduled else None

    def _wanted(self, task):
        """What the program waits for, as nothing is ready; None: something has been done."""
        self._until, ring = self._due(), _ring()
        left = None if self._until is None else self._until - self.time()
        if left is not None and left <= self._clock_resolution:
            self._run_once()
            return None
        if ring is not None and (left is None or ring < left):
            self._until, left = None, ring
            if ring <= self._clock_resolution:
                _dormouse_host.wait_for_timer()
                return None
        if left is None and not waiting.is_open():
            _fail(task)
            return None
        return waiting.wanted(left)

    def turn(self, task):
        """Goes on until the task is done, or nothing is left to do: what the program waits for then; None: it is done."""
        self._run_forever_setup()
        try:
            while not task.done():
                if self._ready or self._selector.ready():
                    self._run_once()
                elif (wanted := self._wanted(task)) is not None:
                    return wanted
        finally:
            self._run_forever_cleanup()
        return None

    def time_is_over(self):
        """What was waited for last is due, whatever the clock says: it may have stood still while the program was saved."""
        self._not_before = max(self._not_before, self._until or 0)

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


def _fail(task):
    """Nothing can end what the task waits for: it is told so where it waits."""
    error, waits = RuntimeError(_NOTHING_LEFT), task
    while isinstance(waits, asyncio.Task):
        waits = waits._fut_waiter
    if waits is None or waits.done():
        raise error
    waits.set_exception(error)


_session = None


def run(coroutine):
    """Runs a part of a snippet that awaits.

    A generator: it yields what the program waits for, and is sent the answers.
    """
    runs = _statement if parts.RUN in coroutine.cr_code.co_names else _in_session
    try:
        return (yield from runs(coroutine))
    except BaseException as error:
        error.__traceback__ = _from_snippet(error.__traceback__, coroutine.cr_code)
        raise


def _see_through(loop, task):
    """Goes on with a task until it is done."""
    try:
        while (wanted := loop.turn(task)) is not None:
            answers = yield wanted
            if answers:
                waiting.settle(answers)
            else:
                loop.time_is_over()
    except BaseException:
        if task.done() and not task.cancelled():
            # It is told here, and nobody else has to.
            task.exception()
        raise
    return task.result()


def _in_session(coroutine):
    """All of a session's snippets share one loop, so tasks live on between them."""
    global _session
    if _session is None or _session.is_closed():
        _session = EventLoop()
    loop, task = _session, _session.create_task(coroutine)
    try:
        return (yield from _see_through(loop, task))
    except GeneratorExit:
        # The program is forgotten.
        task.cancel()
        raise
    except BaseException:
        if not task.done():
            _end(loop)
        raise


def _end(loop):
    """Ends a session's loop whose program has ended in the middle, with all its tasks."""
    global _session
    _session = None
    left = asyncio.all_tasks(loop)
    try:
        asyncio.runners._cancel_all_tasks(loop)
        loop.run_until_complete(loop.shutdown_asyncgens())
    except BaseException:
        # The end of the program is what is told.
        pass
    finally:
        for task in left:
            task._log_destroy_pending = False
        loop.close()


def _statement(coroutine):
    """Runs a statement that calls `asyncio.run`: no loop runs but in these calls, and each has its own."""
    go_on, given = coroutine.send, None
    while True:
        try:
            asked = go_on(given)
        except StopIteration as ended:
            return ended.value
        go_on = coroutine.send
        try:
            given = yield from _main(*asked)
        except GeneratorExit:
            coroutine.close()
            raise
        except BaseException as error:
            error.__traceback__ = _without_driver(error.__traceback__)
            go_on, given = coroutine.throw, error


def _main(main, debug, loop_factory):
    with asyncio.Runner(debug=debug, loop_factory=loop_factory) as runner:
        loop = runner.get_loop()
        if not isinstance(loop, EventLoop):
            return runner.run(main)
        return (yield from _see_through(loop, loop.create_task(main, context=runner._context)))


def _from_snippet(trace, code):
    """A traceback without the frames of the loop that ran the snippet."""
    step = trace
    while step is not None:
        if step.tb_frame.f_code is code:
            return step
        step = step.tb_next
    return trace


def _without_driver(trace):
    """A traceback without the frames of this file that it begins with."""
    while trace is not None and trace.tb_next is not None and trace.tb_frame.f_code.co_filename == _main.__code__.co_filename:
        trace = trace.tb_next
    return trace


class _Asked:
    """What is awaited in the place of a call of `asyncio.run`."""

    def __init__(self, asked, value):
        self.asked, self.value = asked, value

    def __await__(self):
        return self.value if self.asked is None else (yield self.asked)


def _asked(main, *, debug=None, loop_factory=None):
    return main, debug, loop_factory


def run_here(function, /, *args, **options):
    """Stands for the call `asyncio.run(...)` of a snippet's own statement: what it runs can pause, since nothing lies below it."""
    asked = None
    if function is asyncio.run:
        try:
            asked = _asked(*args, **options)
        except TypeError:
            # The function itself says what is wrong.
            pass
    if asked is not None and asyncio.iscoroutine(asked[0]):
        return _Asked(asked, None)
    return _Asked(None, function(*args, **options))


def install():
    """Makes this the loop of `asyncio.run`, `asyncio.new_event_loop` and the policies."""
    import asyncio.unix_events as unix
    unix._UnixDefaultEventLoopPolicy._loop_factory = EventLoop
    unix.SelectorEventLoop = EventLoop
    asyncio.SelectorEventLoop = asyncio.EventLoop = EventLoop
