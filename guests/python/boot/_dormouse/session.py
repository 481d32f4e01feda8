"""The snippets' namespace: its variables, and how it begins."""

import builtins
import json
import keyword
import sys

import _dormouse_host
import dormouse
from _dormouse.text import class_name, clean, cut

SUMMARY_CHARACTERS = 100
main = sys.modules["__main__"].__dict__


def reset():
    """A namespace as it was before the first snippet. The same dictionary, so that old functions stay usable."""
    main.clear()
    main.update(__name__="__main__", __doc__=None, __package__=None, __loader__=None, __spec__=None,
                __builtins__=builtins, call_tool=dormouse.call_tool, tools=dormouse.tools)


def get(name, query):
    """The value of a variable, or of an expression in which `value` is that value."""
    if name not in main:
        raise NameError(f"name '{name}' is not defined", name=name)
    value = main[name]
    if query is None:
        return value
    # One dictionary serves as globals, since a nested scope of the expression sees no locals of `eval`.
    return _dormouse_host.eval_query(query, {**main, "value": value})


def set(name, text):
    """Binds a variable to the value of JSON text; what is wrong with it, or None."""
    if not name.isidentifier() or keyword.iskeyword(name):
        return f"`{clean(name[:100])}` is not a name in Python"
    try:
        main[name] = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    return None


def vars(total_bytes):
    """The variables that a user would call theirs, as JSON; as many as fit."""
    own = {"call_tool": dormouse.call_tool, "tools": dormouse.tools}
    entries, left = [], total_bytes - 2
    pairs = [(name, value) for name, value in dict.items(main) if isinstance(name, str)]
    for name, value in sorted(pairs, key=lambda pair: pair[0]):
        if name.startswith("_") or own.get(name) is value:
            continue
        entry = json.dumps({"name": clean(cut(name, 200)[0]), "type": class_name(type(value)),
                            "summary": summary(value)}, ensure_ascii=False)
        left -= len(entry.encode()) + 1
        if left < 0:
            break
        entries.append(entry)
    return "[" + ",".join(entries) + "]"


def summary(value):
    try:
        shown = str.__str__(repr(value))
    except BaseException as error:
        return f"<its repr raised {class_name(type(error))}>"
    if len(shown) > SUMMARY_CHARACTERS:
        shown = shown[:SUMMARY_CHARACTERS - 3] + "..."
    return clean(shown)
