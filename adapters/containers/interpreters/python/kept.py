"""Variables over a stop: what of the namespace can be pickled, by the container's own Python and for it alone.

`save` runs in a copy of the interpreter that ends when it has answered, so that nothing a variable does while it is pickled
reaches the session. Functions and classes of snippets go by value, modules by their names.
"""

import importlib
import importlib.util
import io
import json
import marshal
import os
import signal
import struct
import sys
import time
import types

from _dormouse import session
from _dormouse.text import class_name, clean, cut

MOST_NAMED = 50
MOST_LETTERS = 1000  # of a name
ONE = 1.0  # seconds for one variable
MAGIC = importlib.util.MAGIC_NUMBER.hex()
OWN = ("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__", "call_tool", "tools", "_")


class Late(BaseException):
    """A variable has had its time."""


class TooMuch(Exception):
    """More than may be kept."""


class Counted:
    """Counts the bytes of a pickle, and keeps them if asked to."""

    def __init__(self, most, parts=None):
        self.left, self.parts = most, parts

    def write(self, data):
        size = memoryview(data).nbytes
        self.left -= size
        if self.left < 0:
            raise TooMuch
        if self.parts is not None:
            self.parts.append(bytes(data))
        return size


# What a pickle of ours calls when it is loaded


def function(code, name, cells):
    return types.FunctionType(marshal.loads(code), session.main, name, None, cells or None)


def set_function(made, state):
    contents, fields = state
    for cell, full, value in contents:
        if full:
            cell.cell_contents = value
    for name, value in fields.items():
        setattr(made, name, value)


def proxy(value):
    return types.MappingProxyType(value)


def cell():
    return types.CellType()


def new_class(kind, name, bases, first):
    return types.new_class(name, bases, {"metaclass": kind}, lambda names: names.update(first))


def new_enum(kind, name, bases, members, first):
    names = kind.__prepare__(name, bases)
    for key, value in (*first.items(), *members):
        names[key] = value
    return kind(name, bases, names)


def set_class(made, state):
    for name, value in state.items():
        type.__setattr__(made, name, value)


def attribute(module, name):
    return getattr(importlib.import_module(module), name)


def cached(wrapped, most, typed):
    import functools
    return functools.lru_cache(most, typed)(wrapped)


class Gone:
    """Stands for something of a snippet that is named in a pickle and was not kept."""

    def __init__(self, name):
        self.name = name

    def __call__(self, *_arguments, **_named):
        raise RuntimeError(f"`{self.name}` was not kept when the sandbox slept")


def pickler(target):
    import functools
    import pickle

    class Pickler(pickle.Pickler):
        def reducer_override(self, value):
            kind = type(value)
            if kind is types.FunctionType and value.__globals__ is session.main:
                return of_function(value)
            if isinstance(value, type) and value.__module__ == "__main__":
                return of_class(value)
            if kind is types.ModuleType:
                if sys.modules.get(value.__name__) is not value:
                    raise pickle.PicklingError(f"the module {value.__name__} cannot be imported")
                return importlib.import_module, (value.__name__,)
            if kind is types.CellType:
                return cell, ()
            if kind is property:
                return property, (value.fget, value.fset, value.fdel, value.__doc__)
            if kind in (staticmethod, classmethod):
                return kind, (value.__func__,)
            if kind is types.MappingProxyType:
                return proxy, (dict(value),)
            if kind is functools._lru_cache_wrapper and value.__module__ == "__main__":
                had = value.cache_parameters()
                return cached, (value.__wrapped__, had["maxsize"], had["typed"])
            if kind.__module__ == "dataclasses" and kind.__name__ == "_FIELD_BASE":
                return attribute, ("dataclasses", value.name)
            if kind.__module__ == "dataclasses" and kind.__name__ in ("_MISSING_TYPE", "_KW_ONLY_TYPE"):
                return attribute, ("dataclasses", "MISSING" if kind.__name__ == "_MISSING_TYPE" else "KW_ONLY")
            return NotImplemented

    return Pickler(target, 5)


def of_function(value):
    contents = []
    for held in value.__closure__ or ():
        try:
            contents.append((held, True, held.cell_contents))
        except ValueError:
            contents.append((held, False, None))
    fields = {name: getattr(value, name) for name in ("__defaults__", "__kwdefaults__", "__doc__", "__qualname__", "__module__")}
    # From Python 3.14 on annotations may be code that was not run yet.
    if getattr(value, "__annotate__", None) is None:
        fields["__annotations__"] = value.__annotations__
    else:
        fields["__annotate__"] = value.__annotate__
    fields.update(value.__dict__)
    arguments = (marshal.dumps(value.__code__), value.__name__, tuple(value.__closure__ or ()))
    return function, arguments, (contents, fields), None, None, set_function


def of_class(value):
    enum = sys.modules.get("enum")
    names = dict(type.__getattribute__(value, "__dict__"))
    for name in ("__dict__", "__weakref__", "_abc_impl", "__annotations_cache__", "__static_attributes__", "__firstlineno__"):
        names.pop(name, None)
    first = {name: names.pop(name) for name in ("__module__", "__qualname__", "__doc__") if name in names}
    slots = names.get("__slots__")
    if slots is not None:
        first["__slots__"] = slots
        for name in ("__slots__", *((slots,) if isinstance(slots, str) else slots)):
            names.pop(name, None)
    if tuple in value.__bases__ and hasattr(value, "_field_defaults"):
        return name_tuple, (value.__name__, value._fields, value._field_defaults, first.get("__doc__"))
    if enum and isinstance(value, enum.EnumMeta):
        members = [(name, member.value) for name, member in value.__members__.items()]
        functions = {name: names[name] for name in names
                     if isinstance(names[name], (types.FunctionType, property, staticmethod, classmethod))
                     and getattr(names[name], "__globals__", session.main) is session.main}
        return new_enum, (type(value), value.__name__, value.__bases__, members, {**first, **functions})
    return new_class, (type(value), value.__name__, value.__bases__, first), names, None, None, set_class


def name_tuple(name, fields, defaults, doc):
    import collections
    made = collections.namedtuple(name, fields, defaults=[defaults[field] for field in fields if field in defaults],
                                  module="__main__")
    made.__doc__ = doc
    return made


def late(_signal, _frame):
    raise Late


def why(error):
    if isinstance(error, Late):
        return "it took too long"
    if isinstance(error, TooMuch):
        return "it is too large"
    try:
        text = str.__str__(str(error))
    except BaseException:
        text = ""
    return clean(cut(f"{class_name(type(error))}: {text}", 160)[0])


def save(most, seconds):
    """All that is kept, as bytes: a head in JSON, and a pickle of each variable, in the order in which they were made."""
    end = time.monotonic() + seconds
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    signal.signal(signal.SIGALRM, late)
    # As they are now, whatever pickling one of them does to the names.
    variables = {name: value for name, value in dict.items(session.main) if type(name) is str and name not in OWN}
    sizes, left_out = {}, []
    for name, value in variables.items():
        if len(name) > MOST_LETTERS:
            left_out.append((name, "its name is too long"))
            continue
        left = end - time.monotonic()
        if left <= 0:
            left_out.append((name, "there was no time left"))
            continue
        target = Counted(most)
        try:
            signal.setitimer(signal.ITIMER_REAL, min(ONE, left))
            try:
                pickler(target).dump(value)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            sizes[name] = most - target.left
        except BaseException as error:
            left_out.append((name, why(error)))
    for name in sorted(sizes, key=sizes.get, reverse=True):
        if sum(sizes.values()) <= most:
            break
        del sizes[name]
        left_out.append((name, "it is too large"))
    parts = []
    # By one pickler, so that what two variables share is one thing again.
    signal.setitimer(signal.ITIMER_REAL, max(ONE, end - time.monotonic()))
    whole = pickler(Counted(most, parts))
    for name in sizes:
        whole.dump(variables[name])
    signal.setitimer(signal.ITIMER_REAL, 0)
    head = {"python": MAGIC, "names": list(sizes), "left_out": told(left_out), "count": len(left_out)}
    head = json.dumps(head).encode()
    return struct.pack(">I", len(head)) + head + b"".join(parts)


def told(left_out):
    return [[clean(cut(name, 100)[0]), reason] for name, reason in left_out[:MOST_NAMED]]


def load(data):
    """Binds what was kept; answers with what was left out, as JSON."""
    import pickle
    size, = struct.unpack(">I", data[:4])
    head = json.loads(data[4:4 + size])
    if head["python"] != MAGIC:
        raise ValueError("they are another version of Python's")

    class Unpickler(pickle.Unpickler):
        def find_class(self, module, name):
            if module == "__main__":
                return session.main.get(name, Gone(name))
            return super().find_class(module, name)

    left_out, names = [], head["names"]
    pickled = Unpickler(io.BytesIO(memoryview(data)[4 + size:]))
    for at, name in enumerate(names):
        try:
            value = pickled.load()
        except BaseException as error:
            # Where the next one begins is not known any more.
            left_out += [(name, why(error)), *((later, "the one before it could not be loaded") for later in names[at + 1:])]
            break
        if type(value) is Gone:
            left_out.append((name, "it is known by its name alone"))
        else:
            session.main[name] = value
    named = [*told(left_out), *head["left_out"]][:MOST_NAMED]
    return json.dumps({"left_out": named, "count": head["count"] + len(left_out)})


def copied(most, seconds, closed):
    """What `save` answers, from a copy of this process that is ended when its time is over."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.setpgid(0, 0)
            os.close(reading)
            for descriptor in closed:
                os.close(descriptor)
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            try:
                # Of the two it is this one that the kernel ends where memory is short.
                with open("/proc/self/oom_score_adj", "w") as file:
                    file.write("1000")
            except OSError:
                pass
            try:
                kind, data = b"P", save(most, seconds * 0.6)
            except BaseException as error:
                kind, data = b"N", why(error).encode("utf-8", "replace")
            view = memoryview(struct.pack(">Q", len(data)) + kind + data)
            while view:
                view = view[os.write(writing, view):]
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    try:
        return received(reading, most, time.monotonic() + seconds)
    finally:
        os.close(reading)
        for end in (lambda: os.killpg(child, signal.SIGKILL), lambda: os.kill(child, signal.SIGKILL),
                    lambda: os.waitpid(child, 0)):
            try:
                end()
            except OSError:
                pass


def received(reading, most, end):
    import select
    parts, wanted, count = [], 9, 0
    while count < wanted:
        left = end - time.monotonic()
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            return b"N", "it took too long"
        part = os.read(reading, min(1 << 20, wanted - count))
        if not part:
            return b"N", "it ended in the middle: what is short of memory or of processes is not kept"
        parts.append(part)
        count += len(part)
        if wanted == 9 and count == 9:
            head = b"".join(parts)
            parts, wanted = [head], 9 + struct.unpack(">Q", head[:8])[0]
            if wanted > most + (1 << 16):
                return b"N", "it is too large"
    whole = b"".join(parts)
    kind, data = whole[8:9], whole[9:]
    return (b"P", data) if kind == b"P" else (b"N", data.decode("utf-8", "replace"))
