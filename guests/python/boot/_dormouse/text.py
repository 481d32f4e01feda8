"""Text that is safe to show: names of classes, cut strings, JSON without lone surrogates."""

from json.encoder import encode_basestring as _quote_py

try:
    from _json import encode_basestring as _quote
except ImportError:
    _quote = _quote_py

_type_name = type.__dict__["__qualname__"].__get__
_type_module = type.__dict__["__module__"].__get__


def clean(text):
    """Lone surrogates have no UTF-8 form; each becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def quote(text):
    """A JSON string literal."""
    return _quote(clean(text))


def cut(text, limit):
    """The beginning of a string in at most `limit` UTF-8 bytes, and whether that is less than all of it."""
    if text.isascii():
        return (text, False) if len(text) <= limit else (text[:limit], True)
    head = clean(text[:limit]).encode()
    if len(head) <= limit and len(text) <= limit:
        return head.decode(), False
    return head[:limit].decode("utf-8", "ignore"), True


def class_name(cls):
    """The qualified name of a class; the bare name for what is built in or the snippet's own.

    Goes past metaclasses, whose attributes may raise."""
    name = str(_type_name(cls))
    try:
        module = _type_module(cls)
    except Exception:
        module = None
    if isinstance(module, str) and module not in ("builtins", "__main__"):
        name = f"{module}.{name}"
    return clean(name[:200])


def message_of(exception, limit):
    """What `str` makes of an exception, even if that raises."""
    try:
        text = str.__str__(str(exception))
    except BaseException as broken:
        text = f"<its message could not be made: {class_name(type(broken))}>"
    head, truncated = cut(text, limit)
    return head + "...(truncated)" if truncated else head
