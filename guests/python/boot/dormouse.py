"""What the sandbox offers to a snippet."""

import json as _json
from collections import abc as _abc
from asyncio.events import _get_running_loop

import _dormouse_host
from _dormouse import waiting as _waiting
from _dormouse.waiting import ToolError

__all__ = ["ToolError", "call_tool", "tools"]

ToolError.__module__ = __name__


def call_tool(name, /, **arguments):
    """Calls a function that the host offers, with JSON-compatible arguments, and returns its result."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a tool is a str, not {type(name).__name__}")
    return _call(name, _json.dumps(arguments))


def _call(name, arguments):
    ok, answer = _dormouse_host.call_tool(name, arguments)
    if not ok:
        raise ToolError(answer)
    return _json.loads(answer)


class ToolCall:
    """A call of a tool that was made where one can await: it begins when it is awaited, or made a task."""

    __slots__ = ("_coroutine", "_name")

    def __init__(self, name, arguments):
        self._name, self._coroutine = name, _waiting.call(name, arguments)

    def __await__(self):
        return self._coroutine.__await__()

    def send(self, value):
        return self._coroutine.send(value)

    def throw(self, *error):
        return self._coroutine.throw(*error)

    def close(self):
        return self._coroutine.close()

    def _not_awaited(self, *_):
        raise TypeError(f"this is a call of tools.{self._name} and not yet its result: write `await tools.{self._name}(...)`")

    __getitem__ = __iter__ = __len__ = __contains__ = __bool__ = __int__ = __float__ = _not_awaited

    def __getattr__(self, name):
        if name.startswith("__") or name.startswith("cr_"):
            raise AttributeError(name)
        self._not_awaited()

    def __repr__(self):
        return f"<a call of tools.{self._name}, which was not awaited>"


_abc.Coroutine.register(ToolCall)


class _Tools:
    """The tools that this sandbox can call: `await tools.SERVER.TOOL(argument=value)`.

    Where one cannot await (no `await` in the snippet, or a function without `async`) the same call waits and returns the result.
    """

    __slots__ = ("_path",)

    def __init__(self, path=""):
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise TypeError(f"the name of a tool is a str, not {type(name).__name__}")
        return _Tools(f"{self._path}.{name}" if self._path else name)

    def __setattr__(self, name, value):
        raise AttributeError("tools cannot be changed")

    def __reduce__(self):
        return _at, (self._path,)

    def __call__(self, /, *positional, **arguments):
        if not self._path:
            raise TypeError("name a tool: `tools.SERVER.TOOL(argument=value)`; `tools.search(\"words\")` finds one")
        if self._path == "search" or self._path == "describe":
            arguments = {("text" if self._path == "search" else "name"): positional[0], **arguments} if positional else arguments
        elif positional:
            if len(positional) > 1 or not isinstance(positional[0], dict):
                raise TypeError(f"tools.{self._path} takes its arguments by name: `tools.{self._path}(argument=value)`")
            arguments = {**positional[0], **arguments}
        text = _json.dumps(arguments)
        return _call(self._path, text) if _get_running_loop() is None else ToolCall(self._path, text)

    def __repr__(self):
        return f"<tools.{self._path}>" if self._path else "<tools>"


def _at(path):
    return _Tools(path) if path else tools


tools = _Tools()
