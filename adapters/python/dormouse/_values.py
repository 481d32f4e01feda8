"""Typed values, as Python has them."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional

Typed = Dict[str, Any]


class Object(NamedTuple):
    """An object of a snippet: its class, its public properties (None: not shown), and its own rendering."""

    class_name: str
    properties: Optional[Dict[str, Any]]
    repr: Optional[str]


class Reference(NamedTuple):
    """An object that stands further up in the same value."""

    class_name: str
    id: int


class Resource(NamedTuple):
    """A handle of the language that is no object, such as an open stream of PHP."""

    class_name: str
    id: int


class Unknown(NamedTuple):
    """Something that could not be encoded, and why."""

    class_name: str
    reason: str


def plain(typed: Typed) -> Any:
    """The value itself: numbers, text, bytes, lists, tuples, sets and dictionaries as Python's own; all else as `Object`."""
    kind = typed["type"]
    if kind in ("string", "bool", "null"):
        return typed["value"]
    if kind == "int":
        number = typed["value"]
        return _integer(number) if isinstance(number, str) else int(number)
    if kind == "float":
        return float(typed["value"])
    if kind == "array":
        return _array(typed)
    if kind == "bytes":
        from base64 import b64decode

        return b64decode(typed["value"])
    if kind == "iterable":
        return _iterable(typed)
    if kind == "object":
        properties = typed.get("properties")
        shown = None if properties is None else {name: plain(value) for name, value in properties.items()}
        return Object(typed["class"], shown, typed.get("repr"))
    if kind == "reference":
        return Reference(typed["class"], typed["id"])
    if kind == "resource":
        return Resource(typed["class"], typed["id"])
    return Unknown(str(typed.get("class", "")), str(typed.get("reason", kind)))


def _integer(digits: str) -> int:
    """A whole number of any length: Python itself reads a few thousand digits."""
    if len(digits) <= 4000:
        return int(digits)
    if digits.startswith("-"):
        return -_integer(digits[1:])
    half = len(digits) // 2
    return int(_integer(digits[:-half]) * 10**half + _integer(digits[-half:]))


def _array(typed: Typed) -> Any:
    if "entries" in typed:
        pairs = [(plain(key), plain(value)) for key, value in typed["entries"]]
        try:
            entries = dict(pairs)
        except TypeError:
            return pairs
        # Keys that are different in the sandbox may be equal here.
        return entries if len(entries) == len(pairs) else pairs
    items = typed.get("value")
    if isinstance(items, dict):
        return {key: plain(value) for key, value in items.items()}
    if items is None:
        return [] if typed.get("is_list") else {}
    shown = [plain(item) for item in items]
    return tuple(shown) if typed.get("class") == "tuple" else shown


def _iterable(typed: Typed) -> Any:
    shown = [plain(item) for item in typed.get("preview", ())]
    kind = {"set": set, "frozenset": frozenset, "Set": set}.get(typed.get("class", ""))
    if kind is None or not typed.get("exhausted"):
        return shown
    try:
        members = kind(shown)
    except TypeError:
        return shown
    # Members that are different in the sandbox may be equal here.
    return members if len(members) == len(shown) else shown


def is_cut(typed: Typed) -> bool:
    """Whether something of a value was left out."""
    kind = typed["type"]
    if typed.get("truncated") or kind == "unknown" or typed.get("exhausted") is False:
        return True
    # Long keys are shortened, and may be the same then.
    whole, items = typed.get("count"), typed.get("value")
    if isinstance(whole, int) and isinstance(items, (dict, list)) and len(items) != whole:
        return True
    parts: List[Typed] = list(typed.get("preview", ()))
    value = typed.get("value")
    if kind == "array" and isinstance(value, list):
        parts += value
    elif kind == "array" and isinstance(value, dict):
        parts += value.values()
    parts += (typed.get("properties") or {}).values()
    for key, value in typed.get("entries", ()):
        parts += (key, value)
    return any(is_cut(part) for part in parts)
