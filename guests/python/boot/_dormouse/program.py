"""A program as a command line starts it: `python3 [OPTION...] [-c CODE | -m MODULE | FILE | -] [ARGUMENT...]`."""

import atexit
import importlib.util
import io
import os
import runpy
import sys

from _dormouse import absent, session
from _dormouse.errors import is_driver

_WITH_VALUE = "WX"  # options that are understood, take a value and change nothing here
_WITHOUT = "bBdEiIOPqRsSuvx"  # options that are understood and change nothing here
_VERSIONS = ("-V", "--version")


# What pytest would take for granted: descriptors that can be doubled, to capture output and to tell of crashes; users, after
# whom it names the folder of `tmp_path`. Its own command line comes after this and wins.
_PYTEST = "--capture=sys -p no:faulthandler --basetemp=/tmp/pytest"


def main():
    """Runs what the arguments say, to its end."""
    os.environ["PYTEST_ADDOPTS"] = f"{_PYTEST} {os.environ.get('PYTEST_ADDOPTS', '')}".rstrip()
    start, arguments = read(sys.argv[1:])
    sys.argv[:] = arguments
    try:
        start()
    except SystemExit:
        finish()
        raise
    except BaseException as error:
        show(error)
        finish()
        raise SystemExit(1) from None
    finish()


def read(words):
    """What to start, and what `sys.argv` is to be."""
    words = list(words)
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word in _VERSIONS:
            return (lambda: print("Python", sys.version.split()[0])), [""]
        if word == "--":
            break
        if word.startswith("--"):
            raise usage(f"unknown option {word}")
        for at, letter in enumerate(word[1:], 2):
            if letter in "cm" or letter in _WITH_VALUE:
                value = word[at:] or (words.pop(0) if words else None)
                if value is None:
                    raise usage(f"Argument expected for the -{letter} option")
                if letter == "c":
                    return (lambda: run_text(value, "<string>", "")), ["-c", *words]
                if letter == "m":
                    return (lambda: run_module(value)), ["-m", *words]
                break
            if letter not in _WITHOUT:
                raise usage(f"Unknown option: -{letter}")
    if not words or words[0] == "-":
        return (lambda: run_text(sys.stdin.read(), "<stdin>", "")), (words or [""])
    return (lambda: run_file(words[0])), words


def usage(why):
    print(f"{why}\nusage: python3 [option] ... [-c cmd | -m mod | file | -] [arg] ...", file=sys.stderr)
    return SystemExit(2)


def run_text(source, name, folder):
    sys.path.insert(0, folder)
    exec(compile(source, name, "exec", dont_inherit=True), session.main)


def run_module(name):
    sys.path.insert(0, os.getcwd())
    top = name.partition(".")[0]
    why = absent.said(top)
    if why is not None and importlib.util.find_spec(top) is None:
        print(f"python3: {why}", file=sys.stderr)
        raise SystemExit(1)
    runpy._run_module_as_main(name)


def run_file(path):
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        runpy.run_path(path, run_name="__main__")
        return
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        print(f"python3: can't open file {os.path.abspath(path)!r}: [Errno {error.errno}] {error.strerror}",
              file=sys.stderr)
        raise SystemExit(2) from None
    whole = os.path.abspath(path)
    session.main.update(__file__=whole, __cached__=None)
    run_text(source, whole, os.path.dirname(whole))


def show(error):
    """What an interpreter writes of an exception that nobody caught, without the frames of this file."""
    trace = error.__traceback__
    while trace is not None and (is_driver(trace.tb_frame.f_code) or "runpy" in trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    try:
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    except BaseException as worse:
        print(f"Error in sys.excepthook: {worse!r}", file=sys.stderr)


def finish():
    """What an interpreter does at its end."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
