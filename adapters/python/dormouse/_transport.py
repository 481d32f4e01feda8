"""Where calls go: to an engine in this process, or to a server."""

from __future__ import annotations

import json
import os
import threading
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Protocol, Tuple

from ._errors import Error
from ._native import VERSION, forked
from ._request import Decoded, Later, answer_now, functions, request, standard_input

Answer = Dict[str, Any]


class Transport(Protocol):
    """Both forms of each call: one that is waited for, and one of asyncio."""

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer: ...

    async def call_async(self, tool: str, arguments: Mapping[str, Any]) -> Answer: ...

    def run(self, code: str, sandbox: Optional[str], options: Mapping[str, Any]) -> Answer: ...

    async def run_async(self, code: str, sandbox: Optional[str], options: Mapping[str, Any]) -> Answer: ...

    def close(self) -> None: ...


def checked(answer: Answer) -> Answer:
    """The answer; raises what kept the call from being done. What ended a run that had begun is a part of its answer."""
    error = answer.get("error")
    if error is not None and ("timed_out" not in answer or answer.get("provider") == "none"):
        raise Error.of(error)
    return answer


def installed() -> Optional[str]:
    """The folder of guests that came with the package, if it has them. Machine code is used where nobody else can write it."""
    releases = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_release", "lib", "dormouse")
    folder = os.path.join(releases, VERSION)
    if not os.path.isdir(folder):
        others = sorted(os.listdir(releases)) if os.path.isdir(releases) else []
        if others:
            raise Error(
                "version_mismatch",
                f"this package is of release {VERSION}, and the guests in it are of {others[-1]}",
                "install the wheel of one release again, as a whole",
            )
        return None
    for place, _, files in os.walk(folder):
        for path in [place, *(os.path.join(place, name) for name in files)]:
            status = os.stat(path)
            # As files come to be where others of the user's group may write what he makes.
            if status.st_mode & 0o022 and status.st_uid == os.geteuid():
                os.chmod(path, status.st_mode & 0o7755)
    return folder


def cache() -> Optional[str]:
    """The folder for what is compiled and noted, where no variable names the user's: one that is the user's own."""
    if any(os.path.isabs(os.environ.get(name, "")) for name in ("DORMOUSE_CACHE_DIR", "XDG_CACHE_HOME", "HOME")):
        return None
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"dormouse-{os.geteuid()}")


class Local:
    """An engine in this process. It is made by the first call."""

    def __init__(self, options: Dict[str, Any]) -> None:
        self.options = options
        self.engine: Any = None
        self.closed = False
        self.lock = threading.Lock()
        if options.get("state"):
            OPEN.add(self)

    def native(self) -> Any:
        """The engine."""
        if self.closed:
            raise Error("invalid_state", "this Dormouse is closed", "make a new one")
        if self.engine is None:
            from ._native import Engine

            with self.lock:
                if self.closed:
                    raise Error("invalid_state", "this Dormouse is closed", "make a new one")
                folder = self.options.get("state")
                if folder and os.path.realpath(folder) in TAKEN:
                    raise Error(
                        "invalid_state",
                        "this process was forked from one that has this folder of state open",
                        "start processes with the method `spawn`, or let them use a server (`dormouse serve`)",
                    )
                if self.engine is None:
                    self.engine = Engine(json.dumps({"installed": installed(), "cache": cache(), **self.options}))
        return self.engine

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        answer: Answer = json.loads(self.native().call(tool, json.dumps(arguments), None))
        return checked(answer)

    async def call_async(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        native = self.native()
        asked = json.dumps(arguments)
        return checked(await _done(lambda done: native.start_call(tool, asked, None, done)))

    def run(self, code: str, sandbox: Optional[str], options: Mapping[str, Any]) -> Answer:
        asked = request(code, options)
        if sandbox is not None:
            asked["sandbox"] = sandbox
        handler = options.get("on_output")
        output = None if handler is None else Decoded(handler)
        offered = functions(options, answer_now, False)
        said = self.native().run(json.dumps(asked), standard_input(options), offered, output)
        if output is not None:
            output.end()
        answer: Answer = json.loads(said)
        return answer

    async def run_async(self, code: str, sandbox: Optional[str], options: Mapping[str, Any]) -> Answer:
        import asyncio

        asked = request(code, options)
        if sandbox is not None:
            asked["sandbox"] = sandbox
        native, later, stdin = self.native(), Later(), standard_input(options)
        offered = functions(options, later.caller, True)
        handler = options.get("on_output")
        output, told = None, None
        if handler is not None:
            output, loop = Decoded(handler), asyncio.get_running_loop()
            decoded = output

            def tell(stream: str, data: bytes) -> None:
                loop.call_soon_threadsafe(decoded, stream, data)

            told = tell
        try:
            answer = await _done(lambda done: native.start_run(json.dumps(asked), stdin, offered, told, done))
        finally:
            later.end()
        if output is not None:
            output.end()
        return answer

    def close(self) -> None:
        """Saves all sandboxes, and lets go of them. A second time does nothing, unless the first one failed."""
        with self.lock:
            engine, self.closed = self.engine, True
        if engine is not None:
            try:
                engine.close()
            except Error as error:
                # What could not be saved is still there: it can be closed again, or used. In a process that was forked it is not.
                if error.code != "invalid_state":
                    self.closed = False
                    raise
                self.engine = None
                OPEN.discard(self)
                raise
        self.engine = None
        OPEN.discard(self)

    def __del__(self) -> None:
        # What nobody can call any more is saved as well. One that is half made has no engine.
        if getattr(self, "engine", None) is not None and self.options.get("state"):
            close_quietly(self)


OPEN: "weakref.WeakSet[Local]" = weakref.WeakSet()
"""Engines whose sandboxes are saved when the program ends."""


TAKEN: "set[str]" = set()
"""Folders that were open in the process that this one was forked from. SQLite cannot open them here."""


def after_fork() -> None:
    """The folders of the parent's engines stay the parent's."""
    for local in list(OPEN):
        if local.engine is not None:
            TAKEN.add(os.path.realpath(local.options["state"]))
        local.lock = threading.Lock()
    OPEN.clear()
    forked()


def close_all() -> None:
    """Closes what is open, at the end of the program, and keeps threads out of an interpreter that ends."""
    for local in list(OPEN):
        close_quietly(local)
    from ._native import end

    end()


def close_quietly(local: Local) -> None:
    """Closes one where nobody can be told by an exception. In a process that was forked there is nothing to save."""
    try:
        local.close()
    except Error as error:
        if error.code != "invalid_state":
            import sys

            print(f"dormouse: not saved: {error}", file=sys.stderr)


async def _done(start: Callable[[Callable[[Optional[BaseException], Optional[str]], Any]], Any]) -> Answer:
    """Waits on this loop for a call that is started; a wait that is cancelled cancels the call."""
    import asyncio

    loop = asyncio.get_running_loop()
    future: "asyncio.Future[str]" = loop.create_future()

    def settle(error: Optional[BaseException], answer: Optional[str]) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(answer or "{}")

    ticket = start(lambda error, answer: loop.call_soon_threadsafe(settle, error, answer))
    try:
        said = await future
    except asyncio.CancelledError:
        ticket.cancel()
        raise
    answer: Answer = json.loads(said)
    return answer


class Remote:
    """A server: `dormouse serve`."""

    def __init__(self, url: str, token: Optional[str]) -> None:
        from urllib.parse import urlsplit

        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Error("args_invalid", f"`{url}` is no address of a server", "use http://HOST:PORT or https://HOST")
        self.secure = parts.scheme == "https"
        self.host, self.port, self.below = parts.hostname, parts.port, parts.path.rstrip("/")
        self.token = token

    def connection(self, wait: float) -> Any:
        """One connection, for one call."""
        from http.client import HTTPConnection, HTTPSConnection

        kind = HTTPSConnection if self.secure else HTTPConnection
        return kind(self.host, self.port, timeout=wait)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        return checked(self.ask(tool, arguments))

    async def call_async(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        return checked(await self.ask_async(tool, arguments))

    def run(self, code: str, sandbox: Optional[str], options: Mapping[str, Any]) -> Answer:
        answer = self.ask("sandbox_eval", self.asked(code, sandbox, options))
        self.told(answer, options)
        return answer

    async def run_async(self, code: str, sandbox: Optional[str], options: Mapping[str, Any]) -> Answer:
        answer = await self.ask_async("sandbox_eval", self.asked(code, sandbox, options))
        self.told(answer, options)
        return answer

    def close(self) -> None:
        """There is nothing to close."""

    @staticmethod
    def asked(code: str, sandbox: Optional[str], options: Mapping[str, Any]) -> Dict[str, Any]:
        """The arguments of the tool; refuses what a server cannot have."""
        for name in ("callbacks", "mounts", "env", "cwd", "disk_bytes"):
            if options.get(name):
                raise Error(
                    "capability_unavailable",
                    f"`{name}` cannot be used over a server",
                    "leave it out, or use a Dormouse without `url`, which runs in this process",
                )
        asked = request(code, options)
        if sandbox is not None:
            asked["sandbox"] = sandbox
        if options.get("stdin"):
            try:
                asked["stdin"] = standard_input(options).decode()
            except UnicodeDecodeError:
                raise Error("args_invalid", "`stdin` over a server has to be UTF-8", "write a file instead") from None
        return asked

    @staticmethod
    def told(answer: Answer, options: Mapping[str, Any]) -> None:
        """Tells the output of a run, and raises what kept it from being run."""
        checked(answer)
        handler = options.get("on_output")
        for stream in ("stdout", "stderr"):
            if handler is not None and answer[stream]:
                handler(stream, answer[stream])

    def prepared(self, tool: str, arguments: Mapping[str, Any]) -> Tuple[str, str, Optional[bytes], Dict[str, str]]:
        """Method, path, body and headers of a call."""
        from urllib.parse import quote, urlencode

        from ._verbs import ROUTES

        left = dict(arguments)
        method, path = ROUTES["sandbox_eval/fresh" if tool == "sandbox_eval" and "sandbox" not in left else tool]
        parts = []
        for part in path.split("/"):
            name = part[1:-1] if part.startswith("{") else None
            parts.append(quote(str(left.pop(name)), safe="") if name else part)
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        path = self.below + "/".join(parts)
        if method in ("POST", "PUT"):
            headers["Content-Type"] = "application/json"
            return method, path, json.dumps(left).encode(), headers
        said = {name: json.dumps(value) if isinstance(value, bool) else value for name, value in left.items()}
        return method, f"{path}?{urlencode(said)}" if said else path, None, headers

    def ask(self, tool: str, arguments: Mapping[str, Any], connections: Optional[List[Any]] = None) -> Answer:
        """One request, and its answer."""
        from http.client import HTTPException

        method, path, body, headers = self.prepared(tool, arguments)
        # The server bounds how long a call takes.
        connection = self.connection(wait=float(arguments.get("timeout_ms", 0)) / 1000 + 600)
        if connections is not None:
            connections.append(connection)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            said = json.loads(answer.read())
        except (OSError, HTTPException, ValueError) as fault:
            raise Error(
                "provider_unavailable",
                f"the server at {self.host} does not answer as one of Dormouse does",
                "see whether `dormouse serve` runs there, and whether the address is right",
                [f"{type(fault).__name__}: {fault}"],
            ) from fault
        finally:
            connection.close()
        if not isinstance(said, dict):
            raise Error("provider_unavailable", f"the server at {self.host} is none of Dormouse")
        return said

    async def ask_async(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """The same on a thread. A wait that is cancelled ends the connection, and with it the call."""
        import asyncio
        import socket

        connections: List[Any] = []
        try:
            return await asyncio.to_thread(self.ask, tool, arguments, connections)
        except asyncio.CancelledError:
            for connection in connections:
                if connection.sock is not None:
                    try:
                        connection.sock.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
            raise
