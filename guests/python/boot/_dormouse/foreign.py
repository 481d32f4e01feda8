"""Packages of others that need something here: extensions that are linked with the interpreter; anyio, which starts threads of its own
for functions that block, which are called at once, as `asyncio.to_thread` does, and for loops (`threads.portal_maker`); rich, whose
displays are drawn by a thread now and then: here they are drawn when they begin, where the program refreshes them, and when they end."""

import _imp
import contextvars
import sys
from importlib.machinery import ModuleSpec

from _dormouse import threads

# They lie in packages, so they are not among `sys.builtin_module_names`: who lists modules would import them.
LINKED = {name for name in sys.builtin_module_names if "." in name}


async def _run_sync(backend, func, args, abandon_on_cancel=False, limiter=None):
    await backend.checkpoint()
    return contextvars.copy_context().run(func, *args)


def _change_backend(module):
    module.AsyncIOBackend.run_sync_in_worker_thread = classmethod(_run_sync)


def _change_portals(module):
    module.start_blocking_portal = threads.portal_maker(module)


def _change_displays(module):
    module._RefreshThread.start = module._RefreshThread.join = lambda self, timeout=None: None


def _change_tracks(module):
    # What the thread does at its end is all that is to be done.
    thread = module._TrackThread
    thread.start, thread.join = lambda self: None, thread.run


_CHANGES = {
    "anyio._backends._asyncio": _change_backend,
    "anyio.from_thread": _change_portals,
    "rich.live": _change_displays,
    "rich.progress": _change_tracks,
}


class Linked:
    """Loads an extension that is linked with the interpreter."""

    @staticmethod
    def create_module(spec):
        return _imp.create_builtin(spec)

    @staticmethod
    def exec_module(module):
        _imp.exec_builtin(module)


class Foreign:
    """Finds what others find, and changes it when it has been loaded."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in LINKED:
            return ModuleSpec(name, Linked, origin="built-in")
        if name not in _CHANGES:
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not Foreign)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            _CHANGES[name](module)

        spec.loader.exec_module = exec_module
        return spec


# Tracers and warnings skip the frames of the import system by this name; each import passes here.
_find = Foreign.find_spec
_find.__code__ = _find.__code__.replace(co_filename="<frozen importlib._bootstrap>")
