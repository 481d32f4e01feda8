"""Threads, of which there is one: what would run in another is run at once, which is an order in which it could have happened.

A function that is given to a pool, and a thread that is no daemon, run to their end before the call that starts them returns. What
waits for somebody else meanwhile would wait for ever, which is an error of its own. Daemons and timers mostly run until they are told to
stop, so they are refused.
"""

import contextlib
import threading
from asyncio import events, tasks
from concurrent import futures
from concurrent.futures import thread as pools

from _dormouse.absent import NO_THREADS

_REFUSED = f"can't start new thread: {NO_THREADS}"


def refuse(*_args, **_options):
    raise RuntimeError(_REFUSED)


@contextlib.contextmanager
def apart():
    """Without the loop and the task that are under way, as in a thread of its own."""
    loop = events._get_running_loop()
    task = None if loop is None else tasks._swap_current_task(loop, None)
    events._set_running_loop(None)
    try:
        yield
    finally:
        events._set_running_loop(loop)
        if loop is not None:
            tasks._swap_current_task(loop, task)


def start(self):
    """Start the thread's activity: all of it, before this returns."""
    if not self._initialized:
        raise RuntimeError("thread.__init__() not called")
    if self._started.is_set():
        raise RuntimeError("threads can only be started once")
    if self.daemon or isinstance(self, threading.Timer):
        raise RuntimeError(f"{_REFUSED}; one that is no daemon and no timer is run at once")
    before = threading.current_thread()
    self._set_ident()
    self._os_thread_handle = threading._make_thread_handle(self._ident)
    self._started.set()
    threading._active[self._ident] = self
    try:
        with apart():
            self._context = self._context or threading._contextvars.Context()
            self._context.run(self.run)
    except BaseException:
        self._invoke_excepthook(self)
    finally:
        threading._active[self._ident] = before
        self._os_thread_handle._set_done()


def _ready(pool):
    """What the pool's functions run in, after its initializer."""
    if "_in_place" not in pool.__dict__:
        context = pool._create_worker_context()
        try:
            context.initialize()
        except BaseException:
            pools._base.LOGGER.critical("Exception in initializer:", exc_info=True)
            pool._initializer_failed()
            raise pool.BROKEN(pool._broken) from None
        pool._in_place = context
    return pool._in_place


def submit(self, fn, /, *args, **kwargs):
    """Call the function at once. The future that is returned is done."""
    if self._broken:
        raise self.BROKEN(self._broken)
    if self._shutdown:
        raise RuntimeError("cannot schedule new futures after shutdown")
    future = futures.Future()
    item = pools._WorkItem(future, self._resolve_work_item_task(fn, args, kwargs))
    with apart():
        item.run(_ready(self))
    return future


class _Pumped(futures.Future):
    """What a portal's loop comes to: it runs while somebody waits."""

    def __init__(self):
        super().__init__()
        self._portal = _open[-1] if _open else None

    def _pump(self, timeout):
        loop = self._portal and self._portal.loop
        if not loop or self.done() or loop.is_running():
            return
        stop = lambda _: loop.stop()
        timer = None if timeout is None else loop.call_later(timeout, loop.stop)
        self.add_done_callback(stop)
        try:
            with apart():
                loop.run_forever()
        finally:
            self._done_callbacks = [one for one in self._done_callbacks if one is not stop]
            if timer:
                timer.cancel()

    def result(self, timeout=None):
        self._pump(timeout)
        return super().result(timeout and 0)

    def exception(self, timeout=None):
        self._pump(timeout)
        return super().exception(timeout and 0)


_open = []


def _portal_class(portals, loop):
    class Portal(portals.BlockingPortal):
        def __init__(self):
            super().__init__()
            self.loop = loop
            # Its callers stand for another thread.
            self._event_loop_thread_id = -1

        def _spawn_task_from_thread(self, func, args, kwargs, name, future):
            def spawn():
                try:
                    self._task_group.start_soon(self._call_func, func, args, kwargs, future, name=name)
                except BaseException as error:
                    future.set_exception(error)

            future._portal = self
            loop.call_soon(spawn)

    return Portal


def portal_maker(portals):
    """anyio's `start_blocking_portal`, for its module `from_thread`."""
    @contextlib.contextmanager
    def start_blocking_portal(backend="asyncio", backend_options=None, *, name=None):
        if backend != "asyncio":
            raise RuntimeError(f"the back end `{backend}` cannot be used here: {NO_THREADS}")
        loop = events.new_event_loop()
        opened = futures.Future()

        async def work():
            async with _portal_class(portals, loop)() as portal:
                opened.set_result(portal)
                loop.stop()
                await portal.sleep_until_stopped()

        with apart():
            task = loop.create_task(work())
            loop.run_forever()
        portal, failed = opened.result(0), False
        _open.append(portal)
        try:
            yield portal
        except BaseException:
            failed = True
            raise
        finally:
            _open.remove(portal)
            with apart():
                loop.create_task(portal.stop(failed))
                loop.run_until_complete(task)
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.close()

    portals.Future = _Pumped
    return start_blocking_portal


def install():
    import _thread
    _thread.start_new_thread = _thread.start_new = _thread.start_joinable_thread = refuse
    threading._start_joinable_thread = refuse
    threading.Thread.start = start
    pools.ThreadPoolExecutor.submit = submit
