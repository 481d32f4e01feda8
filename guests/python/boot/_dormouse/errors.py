"""Exceptions as JSON: where they were raised, why, and how Python itself shows them."""

import json
import linecache
import traceback

import _dormouse_host
from _dormouse.text import class_name, clean, cut, message_of

DRIVER = "/<dormouse>/"  # where the driver's own code objects say they are from
PREVIOUS = 10
TRACEBACK_BYTES = 8192
DEEP = 200  # frames that Python's own rendering may look at
_CUT = "...(truncated)"


def encode(error, depth, items, string_bytes, total_bytes, frames):
    """The JSON text of an exception (docs/values.md)."""
    string_bytes = min(string_bytes, max(256, total_bytes // 8))
    own = describe(error, string_bytes, frames)
    own["excerpt"], own["traceback"] = excerpt_of(error, string_bytes), rendering(error)
    own["previous"] = [describe(cause, string_bytes, frames) for cause in causes(error)]
    text = json.dumps(own, ensure_ascii=False)
    # What says least goes first.
    for field, empty in (("previous", []), ("traceback", None), ("stack_trace", []), ("excerpt", None)):
        if len(text.encode()) <= total_bytes:
            break
        own[field] = empty
        text = json.dumps(own, ensure_ascii=False)
    return text


def describe(error, string_bytes, frames):
    """The fields that an exception and its causes share."""
    steps = steps_of(error)
    file = line = column = None
    message = None
    if isinstance(error, SyntaxError) and isinstance(error.msg, str) and isinstance(error.filename, str):
        complete_syntax_error(error)
        head, truncated = cut(str.__str__(error.msg), string_bytes)
        message = head + _CUT if truncated else head
        file, line = clean(str.__str__(error.filename)), positive(error.lineno)
        column = positive(error.offset)
    elif steps:
        code, line, last = steps[-1]
        file, column = clean(code.co_filename), column_of(code, last)
    if message is None:
        message = message_of(error, string_bytes)
    shown = [step_text(code, step_line) for code, step_line, _ in reversed(steps[-frames:] if frames else [])]
    if len(steps) > frames:
        shown.append(_CUT)
    return {"class": class_name(type(error)), "message": message, "code": code_of(error),
            "file": file, "line": line, "column": column, "stack_trace": shown}


def complete_syntax_error(error):
    """The compiler, unlike the parser, does not know the text of a line that it refuses."""
    if error.text is None and error.lineno:
        line = linecache.getline(error.filename, error.lineno)
        if line:
            error.text = line


def code_of(error):
    number = getattr(error, "errno", None) if isinstance(error, OSError) else None
    return number if type(number) is int else None


def positive(number):
    return number if type(number) is int and 0 < number < 2**32 else None


def causes(error):
    """What led to an exception, nearest first: causes or contexts, then the members of groups."""
    found, seen, queue = [], {id(error)}, [error]
    while queue and len(found) < PREVIOUS:
        current = queue.pop(0)
        following = current.__cause__
        if following is None and not current.__suppress_context__:
            following = current.__context__
        members = current.exceptions if isinstance(current, BaseExceptionGroup) else ()
        for cause in (following, *members):
            if cause is not None and id(cause) not in seen and len(found) < PREVIOUS:
                seen.add(id(cause))
                found.append(cause)
                queue.append(cause)
    return found


def is_driver(code):
    return code.co_filename.startswith(DRIVER)


def steps_of(error):
    """The code object, line and last instruction of each frame, outermost first, without the driver's own."""
    steps, step = [], error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not is_driver(code):
            steps.append((code, step.tb_lineno, step.tb_lasti))
        step = step.tb_next
    return steps


def step_text(code, line):
    owner, _, name = code.co_qualname.rpartition(".")
    owner = owner.rpartition(".")[2]
    place = f"{name} ({code.co_filename}:{line})"
    return clean(place if owner in ("", "<locals>") else f"{owner}->{place}")


def column_of(code, last):
    """The column of an instruction, from 1, in characters as far as the source is known."""
    for index, position in enumerate(code.co_positions()):
        if index == last // 2:
            line, _, column, _ = position
            if column is None:
                return None
            source = linecache.getline(code.co_filename, line) if line else ""
            if source and not source.isascii():
                column = len(clean(source).encode()[:column].decode("utf-8", "ignore"))
            return column + 1
    return None


def excerpt_of(error, limit):
    """The line that raised, if it is known."""
    if isinstance(error, SyntaxError) and isinstance(error.text, str):
        text = error.text.splitlines()[:1]
        return cut(clean(text[0]), limit)[0] if text else None
    for code, line, _ in reversed(steps_of(error)):
        text = linecache.getline(code.co_filename, line) if line else ""
        return cut(clean(text.rstrip("\r\n")), limit)[0] if text else None
    return None


def rendering(error):
    """Python's own traceback, without the driver's frames, cut from its middle."""
    try:
        shown = traceback.TracebackException(type(error), error, error.__traceback__, limit=-DEEP, compact=True)
        drop_driver(shown, set())
        text = clean("".join(shown.format()))
    except BaseException:
        return None
    whole = text.encode()
    if len(whole) <= TRACEBACK_BYTES:
        return text
    half = (TRACEBACK_BYTES - 32) // 2
    return whole[:half].decode("utf-8", "ignore") + f"\n  {_CUT}\n" + whole[-half:].decode("utf-8", "ignore")


def drop_driver(shown, seen):
    if shown is None or id(shown) in seen:
        return
    seen.add(id(shown))
    shown.stack[:] = [frame for frame in shown.stack if not frame.filename.startswith(DRIVER)]
    for other in (shown.__cause__, shown.__context__, *(shown.exceptions or ())):
        drop_driver(other, seen)


def snippet_lines(filename):
    """The lines of a snippet that defines or defined code under this very name object, or None."""
    source = _dormouse_host.source_of(filename)
    return None if source is None else source.splitlines(True)


def install():
    """Makes `linecache` know snippets, so that tracebacks and `inspect.getsource` show their lines.

    Nothing is registered when a snippet runs; snippets are looked up by the identity of their name when asked."""
    getlines = linecache.getlines

    def lines(filename, module_globals=None):
        known = snippet_lines(filename)
        return getlines(filename, module_globals) if known is None else known

    linecache.getlines = lines
