"""Typed values: any object as bounded JSON. The scalar forms exist a second time in encode.c, for speed."""

import base64
from collections import deque
from itertools import islice
from operator import length_hint
from types import (AsyncGeneratorType, BuiltinFunctionType, CoroutineType, FunctionType, GeneratorType,
                   MemberDescriptorType, MethodType, ModuleType)

from _dormouse_host import sole, utf8_length
from _dormouse.text import class_name, cut, quote

KEY_BYTES = 256
SAFE_INTEGER = 2**53 - 1
_INNER = object()  # marks a value that is not the outermost

# What closes the text once the budget is spent: one `unknown` and the ends of what is open, for each level.
_RESERVE_PER_LEVEL = 320

_NO_PROPERTIES = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)
_LAZY = (set, frozenset, range, deque, GeneratorType,
         type({}.keys()), type({}.values()), type({}.items()))
_NOT_ITERABLE = (CoroutineType, AsyncGeneratorType)
# Names of a class whose instances are shown by what they are and not by what they give, though they can be iterated over.
_SHOWN_WHOLE = {"__await__", "__debuginfo__", "__dataclass_fields__", "_member_map_"}


class _Spent(Exception):
    """The text has reached its size."""


class Encoder:
    """Encodes one value. Pieces are collected in `out`, and `left` says how many bytes may follow."""

    def __init__(self, depth, items, string_bytes, total_bytes, offset):
        self.depth, self.items, self.string_bytes, self.offset = depth, items, string_bytes, offset
        self.total_bytes = total_bytes
        self.left = total_bytes - _RESERVE_PER_LEVEL * (min(depth, 64) + 1)
        self.out = []
        self.open = {}  # id of an object that is being encoded -> [its number or None, where the number goes]
        self.numbers = {}
        self.own = set()  # ids of objects that nothing but this value holds: what is taken out of those nobody misses
        self.kept = []  # keeps numbered objects alive, so that no other object gets the same id

    def text(self, value):
        self.value(value, 1)
        text = "".join(self.out)
        # The reserve is for names of ordinary length.
        if len(text) > self.total_bytes // 4 and len(text.encode()) > self.total_bytes:
            return '{"type":"unknown","class":' + quote(class_name(type(value))) + ',"reason":"value too large"}'
        return text

    def put(self, piece):
        self.left -= len(piece) if piece.isascii() else len(piece.encode())
        self.out.append(piece)

    def value(self, value, level):
        """Encodes a value, whatever it does. False: nothing more should be encoded."""
        mark = len(self.out)
        try:
            if self.left <= 0:
                raise _Spent
            self.dispatch(value, level)
            return True
        except _Spent:
            reason = "value too large"
        except BaseException as error:
            try:
                reason = f"{class_name(type(error))}: {error}"
            except BaseException:
                reason = class_name(type(error))
        # A container that ran out of budget has closed itself; this is the value that did not fit.
        del self.out[mark:]
        self.open.pop(id(value), None)
        name = class_name(type(value))
        reason = cut(reason, 200)[0]
        self.put(f'{{"type":"unknown","class":{quote(name)},"reason":{quote(reason)}}}')
        return self.left > 0

    def dispatch(self, value, level):
        kind = type(value)
        if value is None:
            self.put('{"type":"null","value":null}')
        elif kind is bool:
            self.put('{"type":"bool","value":true}' if value else '{"type":"bool","value":false}')
        elif issubclass(kind, int):
            self.integer(int.__int__(value))
        elif issubclass(kind, float):
            self.number(float.__float__(value))
        elif issubclass(kind, str):
            self.string(str.__str__(value))
        elif issubclass(kind, (bytes, bytearray, memoryview)):
            self.bytes(kind, value)
        elif id(value) in self.open:
            self.put(f'{{"type":"reference","class":{quote(class_name(kind))},"id":{self.number_of(value)}}}')
        elif issubclass(kind, (list, tuple)):
            self.sequence(kind, value, level)
        elif issubclass(kind, dict):
            self.mapping(kind, value, level)
        elif self.is_iterable(kind, value) and (id(value) in self.own or not hasattr(kind, "__next__")):
            self.iterable(kind, value, level)
        else:
            self.object(kind, value, level)

    # Scalars

    def integer(self, value):
        if -SAFE_INTEGER <= value <= SAFE_INTEGER:
            self.put(f'{{"type":"int","value":{value}}}')
            return
        digits, length = decimal_digits(value, self.string_bytes)
        extra = "" if length is None else f',"truncated":true,"length":{length}'
        self.whole(f'{{"type":"int","value":"{digits}"{extra}}}')

    def number(self, value):
        if value != value:
            shown = '"NaN"'
        elif value in (float("inf"), float("-inf")):
            shown = '"Infinity"' if value > 0 else '"-Infinity"'
        else:
            shown = float.__repr__(value)
            if shown == "-0.0":
                shown = '"-0"'
        self.put(f'{{"type":"float","value":{shown}}}')

    def string(self, value):
        head, truncated = cut(value, self.string_bytes)
        extra = f',"truncated":true,"length":{utf8_length(value)}' if truncated else ""
        self.whole(f'{{"type":"string","value":{quote(head)}{extra}}}')

    def bytes(self, kind, value):
        if kind is memoryview:
            length = value.nbytes
            flat = value.cast("B") if value.c_contiguous and value.ndim else value.tobytes()
            head = bytes(flat[:self.string_bytes])
        else:
            base = bytes if issubclass(kind, bytes) else bytearray
            length = base.__len__(value)
            head = bytes(base.__getitem__(value, slice(self.string_bytes)))
        extra = ',"truncated":true' if len(head) < length else ""
        name = "" if kind is bytes else f',"class":{quote(class_name(kind))}'
        shown = base64.b64encode(head).decode()
        self.whole(f'{{"type":"bytes","value":"{shown}","length":{length}{extra}{name}}}')

    def whole(self, piece):
        """Adds text that may be long: all of it or nothing."""
        if len(piece) > self.left:
            raise _Spent
        self.put(piece)

    # Containers

    def number_of(self, value):
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.numbers) + 1
            self.kept.append(value)
        slot = self.open.get(id(value))
        if slot is not None:
            self.out[slot] = f'"id":{number},'
        return number

    def start(self, value, head):
        """Opens a container. Its number is filled in when something refers to it."""
        self.put(head)
        self.open[id(value)] = len(self.out)
        self.out.append("")

    def window(self, level):
        """What is shown of a container: from, and up to."""
        offset = self.offset if level == 1 else 0
        return offset, offset + self.items

    def sequence(self, kind, value, level):
        base = list if issubclass(kind, list) else tuple
        count = base.__len__(value)
        name = "" if kind is list else f'"class":{quote(class_name(kind))},'
        head = f'{{"type":"array",{name}"is_list":true,"count":{count}'
        if level > self.depth:
            self.put(head + ',"truncated":true}')
            return
        begin, end = self.window(level)
        if id(value) in self.own:
            self.own |= sole(value, begin, end)
        self.start(value, '{"type":"array",')
        self.put(f'{name}"is_list":true,"count":{count},"value":[')
        shown = self.run(base.__getitem__(value, slice(begin, end)), level)
        self.put("]" if begin + shown >= count and not begin else '],"truncated":true')
        self.close(value)

    def mapping(self, kind, value, level):
        count = dict.__len__(value)
        name = "" if kind is dict else f'"class":{quote(class_name(kind))},'
        if level > self.depth:
            self.put(f'{{"type":"array",{name}"is_list":false,"count":{count},"truncated":true}}')
            return
        begin, end = self.window(level)
        if id(value) in self.own:
            self.own |= sole(value, begin, end)
        texts = all(issubclass(key_type, str) for key_type in set(map(type, dict.keys(value))))
        pairs = list(islice(dict.items(value), begin, end))
        self.start(value, '{"type":"array",')
        self.put(f'{name}"is_list":false,"count":{count},')
        shown = self.fields(pairs, level) if texts else self.entries(pairs, level)
        if begin or begin + shown < count:
            self.put(',"truncated":true')
        self.close(value)

    def entries(self, pairs, level):
        shown = 0
        self.put('"entries":[')
        for key, item in pairs:
            self.put(",[" if shown else "[")
            more = self.value(key, level + 1)
            self.put(",")
            more = self.value(item, level + 1) and more
            self.put("]")
            shown += 1
            if not more:
                break
        self.put("]")
        return shown

    def fields(self, pairs, level, word='"value":{'):
        shown = 0
        self.put(word)
        for key, item in pairs:
            comma = "," if shown else ""
            self.put(f"{comma}{quote(cut(str.__str__(key), KEY_BYTES)[0])}:")
            shown += 1
            if not self.value(item, level + 1):
                break
        self.put("}")
        return shown

    def run(self, values, level):
        shown = 0
        for item in values:
            if shown:
                self.put(",")
            shown += 1
            if not self.value(item, level + 1):
                break
        return shown

    def close(self, value):
        self.put("}")
        self.open.pop(id(value), None)

    # Iterables

    def is_iterable(self, kind, value):
        if issubclass(kind, _LAZY):
            return True
        if issubclass(kind, _NO_PROPERTIES) or issubclass(kind, _NOT_ITERABLE):
            return False
        names = set()
        for base in type.__dict__["__mro__"].__get__(kind):
            names.update(type.__dict__["__dict__"].__get__(base))
        if "__iter__" not in names or names & _SHOWN_WHOLE:
            return False
        return not instance_fields(value)

    def iterable(self, kind, value, level):
        name = quote(class_name(kind))
        try:
            size = len(value)
        except Exception:
            size = None
            hint = length_hint(value, -1)
        else:
            hint = size
        tail = f',"size_hint":{hint}' if hint >= 0 else ""
        if level > self.depth:
            self.put(f'{{"type":"iterable","class":{name},"exhausted":false{tail},"truncated":true}}')
            return
        begin, end = self.window(level)
        source = iter(value)
        self.start(value, '{"type":"iterable",')
        self.put(f'"class":{name},"preview":[')
        shown, ended, failure = 0, False, None
        for skipped in range(begin):
            if next(source, _INNER) is _INNER:
                ended = True
                break
        while not ended and shown < self.items:
            item = next(source, _INNER)
            if item is _INNER:
                ended = True
                break
            if shown:
                self.put(",")
            shown += 1
            if not self.value(item, level + 1):
                break
        # A full preview does not try for one more item: that would consume what is not shown.
        ended = ended or (size is not None and begin + shown >= size)
        if not ended and size is None and shown == self.items:
            ended = length_hint(source, -1) == 0
        self.put(f'],"exhausted":{"true" if ended else "false"}{tail}')
        self.close(value)

    # Objects

    def object(self, kind, value, level):
        name = quote(class_name(kind))
        plain = issubclass(kind, _NO_PROPERTIES)
        tail = self.rendering(kind, value)
        if plain or level > self.depth:
            extra = "" if plain else ',"truncated":true'
            self.put(f'{{"type":"object","class":{name},"id":{self.number_of(value)}{tail}{extra}}}')
            return
        pairs = properties(kind, value)
        begin, end = self.window(level)
        self.start(value, f'{{"type":"object","class":{name},')
        self.number_of(value)
        shown = self.fields(pairs[begin:end], level, '"properties":{')
        self.put(tail)
        if begin or begin + shown < len(pairs):
            self.put(',"truncated":true')
        self.close(value)

    def rendering(self, kind, value):
        """`,"repr":...` when the class defines one that works."""
        try:
            if kind.__repr__ is object.__repr__:
                return ""
            shown = repr(value)
            # Twice the text is the worst that quoting makes of ordinary text.
            head = cut(str.__str__(shown), max(0, min(self.string_bytes, self.left // 2)))[0]
        except BaseException:
            return ""
        return f',"repr":{quote(head)}'


def decimal_digits(value, limit):
    """The digits of an integer, at most `limit` of them, and how many there are if that is not all."""
    # An integer beyond the cap is divided first, since the time to convert grows with the square of the length.
    size = value.bit_length() * 30103 // 100000 + 1
    sign, value = ("-", -value) if value < 0 else ("", value)
    surplus = max(0, size - limit - 2)
    digits = digits_of(value // 10**surplus if surplus else value)
    length = len(digits) + surplus
    if length <= limit:
        return sign + digits, None
    return sign + digits[:limit], length


def digits_of(value):
    """`str` of an integer that may have more digits than Python's own safeguard allows."""
    parts = []
    while value >= 10**4000:
        value, part = divmod(value, 10**4000)
        parts.append(f"{part:04000d}")
    parts.append(str(value))
    return "".join(reversed(parts))


def instance_fields(value):
    """The public items of an object's own dictionary, past `__getattribute__` and `__dict__` of its class."""
    try:
        fields = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return []
    if not isinstance(fields, dict):
        return []
    return [(name, item) for name, item in dict.items(fields)
            if isinstance(name, str) and not name.startswith("_")]


def enum_fields(kind, value):
    """The name and the value of a member of an enumeration."""
    if "_member_map_" not in type.__dict__["__dict__"].__get__(kind):
        return []
    own = object.__getattribute__(value, "__dict__")
    return [(field[1:-1], dict.get(own, field)) for field in ("_name_", "_value_") if dict.__contains__(own, field)]


def properties(kind, value):
    """The names and values that describe an object."""
    if hasattr(kind, "__debuginfo__"):
        told = value.__debuginfo__()
        if isinstance(told, dict):
            return [(str(name), item) for name, item in told.items()]
    declared = getattr(kind, "__dataclass_fields__", None)
    if isinstance(declared, dict):
        return [(name, getattr(value, name)) for name in declared if hasattr(value, name)]
    pairs = dict(enum_fields(kind, value) + instance_fields(value))
    for base in reversed(type.__dict__["__mro__"].__get__(kind)):
        for name, member in type.__dict__["__dict__"].__get__(base).items():
            if type(member) is MemberDescriptorType and not name.startswith("_") and base.__module__ != "builtins":
                try:
                    pairs.setdefault(name, member.__get__(value))
                except AttributeError:
                    pass
    return list(pairs.items())


def encode(value, depth, items, string_bytes, total_bytes, offset, own):
    encoder = Encoder(depth, items, string_bytes, total_bytes, offset)
    if own:
        encoder.own.add(id(value))
    return encoder.text(value)
