"""What lies around the interpreter: standard streams, environment, arguments."""

import io
import os
import sys

import _dormouse_host


def open_streams():
    """Standard streams over the descriptors 0 to 2. Lone surrogates never make a print fail."""
    def text(descriptor, name, mode, **options):
        raw = io.FileIO(descriptor, mode, closefd=False)
        raw.name = name
        buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
        stream = io.TextIOWrapper(buffer, encoding="utf-8", **options)
        stream.mode = mode
        return stream

    return (text(0, "<stdin>", "r", errors="surrogateescape"),
            text(1, "<stdout>", "w", errors="backslashreplace", line_buffering=True),
            text(2, "<stderr>", "w", errors="backslashreplace", line_buffering=True))


def refresh():
    """Takes environment and arguments from the host anew."""
    os.reload_environ()
    sys.argv[:] = [os.fsdecode(argument) for argument in _dormouse_host.arguments()] or [""]
    for folder in reversed(os.environ.get("PYTHONPATH", "").split(":")):
        if folder and folder not in sys.path:
            sys.path.insert(0, folder)


def install():
    """Makes `os.reload_environ`, which a program may call too, ask the host if nobody has."""
    create = os._create_environ

    def create_environ():
        _dormouse_host.read_environment()
        return create()

    os._create_environ = create_environ
