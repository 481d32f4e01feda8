"""Editing of lines, where there is no terminal to edit in: settings and the history are kept, and nothing is edited."""

import os as _os

backend = "readline"
_READLINE_VERSION = _READLINE_RUNTIME_VERSION = 0x0802
_READLINE_LIBRARY_VERSION = "8.2"
_history, _state = [], {"completer": None, "delimiters": " \t\n`~!@#$%^&*()-=+[{]}\\|;:'\",<>/?", "length": -1, "auto": True}


def parse_and_bind(string, /):
    """Does nothing."""


def read_init_file(filename=None, /):
    """Does nothing."""


def get_line_buffer():
    """The line that is edited: none."""
    return ""


def insert_text(string, /):
    """Does nothing."""


def redisplay():
    """Does nothing."""


def read_history_file(filename=None, /):
    """Adds the lines of a file to the history."""
    with open(filename or _os.path.expanduser("~/.history"), encoding="utf-8", errors="surrogateescape") as file:
        _history.extend(line.rstrip("\n") for line in file)


def write_history_file(filename=None, /):
    """Writes the history to a file."""
    kept = _history if _state["length"] < 0 else _history[len(_history) - min(_state["length"], len(_history)):]
    with open(filename or _os.path.expanduser("~/.history"), "w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(f"{line}\n" for line in kept)


def append_history_file(nelements, filename=None, /):
    """Adds the last lines of the history to a file."""
    if nelements < 0:
        raise ValueError("nelements must be positive")
    with open(filename or _os.path.expanduser("~/.history"), "a", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(f"{line}\n" for line in _history[max(0, len(_history) - nelements):])


def get_history_length():
    """How many lines of the history are written to a file; negative: all."""
    return _state["length"]


def set_history_length(length, /):
    """Sets that number."""
    _state["length"] = length


def get_current_history_length():
    """How many lines there are."""
    return len(_history)


def get_history_item(index, /):
    """A line, counted from 1. None: there is no such line."""
    return _history[index - 1] if 1 <= index <= len(_history) else None


def remove_history_item(pos, /):
    """Forgets a line, counted from 0."""
    if not 0 <= pos < len(_history):
        raise ValueError(f"No history item at position {pos}")
    del _history[pos]


def replace_history_item(pos, line, /):
    """Puts another line in the place of one, counted from 0."""
    if not 0 <= pos < len(_history):
        raise ValueError(f"No history item at position {pos}")
    _history[pos] = line


def add_history(line, /):
    """Adds a line."""
    _history.append(line)


def clear_history():
    """Forgets all lines."""
    _history.clear()


def set_auto_history(enabled, /):
    """Remembers whether lines that are read are added: there are none."""
    _state["auto"] = bool(enabled)


def set_startup_hook(function=None, /):
    """Does nothing."""


def set_pre_input_hook(function=None, /):
    """Does nothing."""


def set_completer(function=None, /):
    """Sets the function that completes words."""
    _state["completer"] = function


def get_completer():
    """That function."""
    return _state["completer"]


def get_completion_type():
    """The kind of the completion under way: none."""
    return 0


def get_begidx():
    """Where the word begins that is completed."""
    return 0


def get_endidx():
    """Where it ends."""
    return 0


def set_completer_delims(string, /):
    """Sets the letters that separate words."""
    _state["delimiters"] = string


def get_completer_delims():
    """Those letters."""
    return _state["delimiters"]


def set_completion_display_matches_hook(function=None, /):
    """Does nothing."""
