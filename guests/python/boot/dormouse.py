"""What the sandbox offers to a snippet."""

import json as _json

import _dormouse_host

__all__ = ["ToolError", "call_tool"]


class ToolError(RuntimeError):
    """A function of the host failed, or there is none of that name."""


def call_tool(name, /, **arguments):
    """Calls a function that the host offers, with JSON-compatible arguments, and returns its result."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a tool is a str, not {type(name).__name__}")
    ok, answer = _dormouse_host.call_tool(name, _json.dumps(arguments))
    if not ok:
        raise ToolError(answer)
    return _json.loads(answer)
