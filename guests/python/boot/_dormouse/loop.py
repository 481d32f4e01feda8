"""The loop of `asyncio` in a world with one thread: timers and callbacks, calls of the host's, and connections.

A program that waits for calls and timers alone comes back to its driver, so that it can be saved. Only the host knows when a connection
is ready, so a program that waits for one waits where it is; connections end with their run anyway.
"""

import asyncio
import asyncio.events
import asyncio.runners
import asyncio.selector_events
import errno
import heapq
import inspect
import selectors
import signal

import _dormouse_host
from _dormouse import network, parts, waiting
from _dormouse.absent import NO_PROCESSES

_NOTHING_LEFT = ("the event loop waits for something that can never happen: "
                 "nothing is scheduled, no connection is waited for, and this sandbox has no threads")
_NO_OTHERS = "there are no other programs in this sandbox to connect to"


class _Selector(selectors._BaseSelectorImpl):
    """Sockets, pipes within the program, and the standard input."""

    def _interests(self):
        return {number: (bool(key.events & selectors.EVENT_READ), bool(key.events & selectors.EVENT_WRITE))
                for number, key in self._fd_to_key.items()}

    def is_live(self):
        """Whether something is ready, or can become so without the program."""
        return any(network.is_live(number, *wanted) for number, wanted in self._interests().items())

    def select(self, timeout=None):
        """What is ready. Answers of the host's are given to who waits for them meanwhile."""
        try:
            found = network.wait(self._interests(), None if timeout is None else max(timeout, 0))
        except OSError as error:
            if error.errno != errno.EDEADLK:
                raise
            raise RuntimeError(_NOTHING_LEFT) from None
        return [(self._fd_to_key[number], reads * selectors.EVENT_READ | writes * selectors.EVENT_WRITE)
                for number, (reads, writes) in found.items()]


class EventLoop(asyncio.selector_events.BaseSelectorEventLoop):
    """The loop behind `asyncio.run`."""

    def __init__(self, selector=None):
        super().__init__(_Selector())
        self._signals = set()
        self._not_before, self._until = 0, None

    # No pipe to itself: nobody else could wake it.
    def _make_self_pipe(self):
        self._internal_fds = 0

    def _close_self_pipe(self):
        """There is none."""

    def _write_to_self(self):
        """It is awake."""

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
        self._until, ring = self._due(), network.until_timer()
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
                if self._ready or self._selector.is_live():
                    self._run_once()
                elif (wanted := self._wanted(task)) is not None:
                    return wanted
        finally:
            self._run_forever_cleanup()
        return None

    def look(self):
        """Connections ended with the run before: who has them is told so before anything new begins."""
        if self._selector.get_map():
            self._process_events(self._selector.select(0))

    def time_is_over(self):
        """What was waited for last is due, whatever the clock says: it may have stood still while the program was saved."""
        self._not_before = max(self._not_before, self._until or 0)

    def _sock_connect_cb(self, fut, sock, address):
        # The host's sentence says more than the number of an error.
        failure = sock.fileno() != -1 and sock._failure()
        if failure and not fut.done():
            fut.set_exception(failure)
        else:
            super()._sock_connect_cb(fut, sock, address)

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

    async def create_unix_connection(self, *args, **options):
        raise OSError(errno.EAFNOSUPPORT, _NO_OTHERS)

    create_unix_server = create_unix_connection

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
    _session.look()
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
