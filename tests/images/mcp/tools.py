"""The tools of the test image's MCP server: `Read`, `Edit`, `Bash` and `run_tests` in /workspace."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

HOME = "/workspace"
MAX_LINES = 2000
MAX_FILE = 16 << 20
# Bytes of output that an answer has; more is cut in the middle.
MAX_OUTPUT = 64 << 10
USUAL_TIMEOUT, MAX_TIMEOUT = 120_000, 600_000


class Invalid(Exception):
    """A call that cannot be served; the text is for the caller."""


class Call:
    """A running call: it can be cancelled, and tells how far it is."""

    def __init__(self, progress):
        self.progress = progress
        self.cancelled = threading.Event()
        self.child = None

    def cancel(self):
        self.cancelled.set()
        self.kill()

    def kill(self):
        child = self.child
        if child is not None:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass

    def run(self, command, timeout_ms, environment=None):
        """Runs a program in /workspace. Returns its output (both streams) and its exit code, or None when its time ended."""
        child = subprocess.Popen(
            command,
            cwd=HOME,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.child = child
        output = Output()
        reader = threading.Thread(target=output.read, args=(child.stdout,), daemon=True)
        reader.start()
        code = self.wait(child, timeout_ms / 1000)
        # What it left running holds the pipe open.
        self.kill()
        reader.join(timeout=5)
        self.child = None
        return output.text(), code

    def wait(self, child, limit):
        started = time.monotonic()
        if self.cancelled.is_set():
            self.kill()
        while True:
            left = limit - (time.monotonic() - started)
            try:
                return child.wait(timeout=max(0, min(1, left)))
            except subprocess.TimeoutExpired:
                if left <= 0:
                    self.kill()
                    child.wait()
                    return None
                seconds = round(time.monotonic() - started, 1)
                self.progress(seconds, f"running for {seconds} s")


class Output:
    """The beginning and the end of a stream."""

    def __init__(self):
        self.head, self.tail, self.dropped = b"", b"", 0

    def read(self, stream):
        half = MAX_OUTPUT // 2
        while data := stream.read1(1 << 16):
            room = half - len(self.head)
            self.head += data[:room]
            self.tail += data[room:]
            over = max(0, len(self.tail) - half)
            self.tail, self.dropped = self.tail[over:], self.dropped + over

    def text(self):
        middle = f"\n[{self.dropped} bytes left out]\n".encode() if self.dropped else b""
        return (self.head + middle + self.tail).decode(errors="replace")


class Tool:
    def __init__(self, name, description, properties, required, read_only, serve, output=None):
        self.name, self.serve, self.output = name, serve, output
        self.description, self.read_only = description, read_only
        self.properties, self.required = properties, required

    def described(self):
        told = {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": self.properties,
                "required": self.required,
                "additionalProperties": False,
            },
            "annotations": {"readOnlyHint": self.read_only, "openWorldHint": False},
        }
        return {**told, "outputSchema": self.output} if self.output else told

    def run(self, call, arguments):
        """A failure is a result that the model can read, no error of the protocol."""
        try:
            self.check(arguments)
            return self.serve(call, arguments)
        except (Invalid, OSError) as error:
            return said(f"Error: {error}", is_error=True)

    def check(self, arguments):
        if not isinstance(arguments, dict):
            raise Invalid("arguments are an object")
        kinds = {"string": str, "integer": int, "boolean": bool}
        for name, value in arguments.items():
            if name not in self.properties:
                raise Invalid(f"{self.name} has no argument `{name}`")
            kind = self.properties[name]["type"]
            if not isinstance(value, kinds[kind]) or (kind == "integer" and isinstance(value, bool)):
                raise Invalid(f"`{name}` is of type {kind}")
        for name in self.required:
            if name not in arguments:
                raise Invalid(f"the argument `{name}` is missing")


def said(text, structured=None, is_error=False):
    result = {"content": [{"type": "text", "text": text}], "isError": is_error}
    return result if structured is None else {**result, "structuredContent": structured}


def path_of(arguments):
    path = os.path.normpath(os.path.join(HOME, arguments["file_path"]))
    if "\0" in path:
        raise Invalid("a path has no NUL")
    return path


def timeout_of(arguments):
    timeout = arguments.get("timeout_ms", USUAL_TIMEOUT)
    if not 100 <= timeout <= MAX_TIMEOUT:
        raise Invalid(f"`timeout_ms` is between 100 and {MAX_TIMEOUT}")
    return timeout


def contents(path):
    if os.path.getsize(path) > MAX_FILE:
        raise Invalid(f"`{path}` has more than {MAX_FILE} bytes")
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read(MAX_FILE)


def read(_call, arguments):
    start, limit = arguments.get("offset", 1), arguments.get("limit", MAX_LINES)
    if start < 1 or not 1 <= limit <= MAX_LINES:
        raise Invalid(f"`offset` begins with 1, and `limit` is between 1 and {MAX_LINES}")
    path = path_of(arguments)
    lines = contents(path).encode(errors="surrogateescape").decode(errors="replace").splitlines()
    shown = [f"{number:>6}\t{line[:2000]}" for number, line in enumerate(lines, 1)][start - 1 : start - 1 + limit]
    text = "\n".join(shown)
    return said(text or "(no lines)", {"path": path, "content": text, "start_line": start, "lines": len(shown)})


def edit(_call, arguments):
    path, old, new = path_of(arguments), arguments["old_string"], arguments["new_string"]
    if not old:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8", newline="") as file:
            file.write(new)
        return said(f"Made {path}", {"path": path, "replaced": 0})
    text = contents(path)
    count = text.count(old)
    if count == 0:
        raise Invalid(f"`old_string` is not in {path}")
    if count > 1 and not arguments.get("replace_all", False):
        raise Invalid(f"`old_string` is in {count} places of {path}; say more of it, or `replace_all`")
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text.replace(old, new))
    places = "" if count == 1 else f" in {count} places"
    return said(f"Edited {path}{places}", {"path": path, "replaced": count})


def bash(call, arguments):
    timeout = timeout_of(arguments)
    output, code = call.run(["bash", "-c", arguments["command"]], timeout)
    end = f"exit code: {code}" if code is not None else f"timeout: ended after {timeout} ms"
    gap = "" if not output or output.endswith("\n") else "\n"
    return said(f"{output}{gap}{end}", {"output": output, "exit_code": 124 if code is None else code}, code is None)


def run_tests(call, arguments):
    timeout = timeout_of(arguments)
    path = os.path.normpath(os.path.join(HOME, arguments.get("path", HOME)))
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "result.json")
        checks = os.path.join(os.path.dirname(os.path.abspath(__file__)), "checks.py")
        command = [sys.executable, "-B", checks, path, result]
        output, code = call.run(command, timeout, {"PYTHONDONTWRITEBYTECODE": "1"})
        try:
            found = json.loads(contents(result))
        except (OSError, ValueError):
            cause = "did not end in time" if code is None else f"ended with exit code {code} before they were done"
            found = {"passed": False, "summary": f"the tests {cause}", "failures": []}
    found["output"] = output
    lines = [found["summary"]]
    lines += [f"{failure['test']}: {failure['message']}" for failure in found["failures"]]
    return said("\n".join(lines), found, is_error=not found["passed"])


def text(description):
    return {"type": "string", "description": description}


def number(description, least, most):
    return {"type": "integer", "minimum": least, "maximum": most, "description": description}


FILE = {"file_path": text("The file: an absolute path, or one below /workspace.")}
TIMEOUT = {"timeout_ms": number("Wall-clock limit in milliseconds, by default 120000.", 100, MAX_TIMEOUT)}
FOUND = {
    "type": "object",
    "properties": {
        "passed": {"type": "boolean"},
        "summary": {"type": "string"},
        "tests": {"type": "object"},
        "failures": {"type": "array", "items": {"type": "object"}},
        "output": {"type": "string"},
    },
    "required": ["passed", "summary", "failures"],
}

ALL = {
    tool.name: tool
    for tool in (
        Tool(
            "Read",
            "Shows the lines of a file with their numbers.",
            {
                **FILE,
                "offset": number("First line, by default 1.", 1, 1 << 53),
                "limit": number("Most lines.", 1, MAX_LINES),
            },
            ["file_path"],
            True,
            read,
        ),
        Tool(
            "Edit",
            "Replaces a text in a file. An empty `old_string` makes a new file.",
            {
                **FILE,
                "old_string": text("What is there."),
                "new_string": text("What takes its place."),
                "replace_all": {"type": "boolean", "description": "Every place. By default there must be one."},
            },
            ["file_path", "old_string", "new_string"],
            False,
            edit,
        ),
        Tool(
            "Bash",
            "Runs a command line with bash in /workspace.",
            {"command": text("The command line."), **TIMEOUT},
            ["command"],
            False,
            bash,
        ),
        Tool(
            "run_tests",
            "Runs the Python tests below a folder. The call is an error when one fails or when there are none.",
            {"path": text("A file or a folder, by default /workspace."), **TIMEOUT},
            [],
            False,
            run_tests,
            FOUND,
        ),
    )
}
