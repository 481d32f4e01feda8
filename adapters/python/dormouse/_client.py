"""The classes of the package."""

from __future__ import annotations

import atexit
import os
import threading
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import Error
from ._native import part, parted
from ._outcome import Outcome
from ._request import OF_RUN, OF_SANDBOX, Function, Mount, Mounts, RunOptions, SandboxRunOptions, folders, named, words
from ._transport import Local, Remote, Transport, after_fork, close_all
from ._verbs import AsyncDormouseVerbs, AsyncSandboxVerbs, DormouseVerbs, SandboxVerbs

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Type

    from typing_extensions import Unpack

__all__ = ["AsyncDormouse", "AsyncSandbox", "Dormouse", "Function", "Mount", "Sandbox", "run", "run_async"]

PIECE = 1 << 16
"""Bytes of a file that one call moves."""
TRIES = 3
"""How often a sandbox is made that somebody else makes, and ends, at the same time."""


class _Client:
    """What both kinds of `Dormouse` are made with."""

    transport: Transport

    def __init__(
        self,
        state: Union[str, "os.PathLike[str]", None] = None,
        *,
        cache: Union[str, "os.PathLike[str]", None] = None,
        mounts: Optional[Mounts] = None,
        allow_writes: bool = False,
        network: Union[str, "os.PathLike[str]", None] = None,
        allow_net: Sequence[str] = (),
        secrets: Sequence[str] = (),
        network_audit: Union[str, "os.PathLike[str]", None] = None,
        ready: int = 0,
        max_running: Optional[int] = None,
        max_timeout_ms: Optional[int] = None,
        max_memory_bytes: Optional[int] = None,
        url: Optional[str] = None,
        token: Optional[str] = None,
    ) -> None:
        """Sandboxes in this process, or with `url` those of a server (`dormouse serve`).

        `state`: folder in which persistent sandboxes lie; without one there are none. `cache`: folder of compiled code, by
        default the user's. `mounts`: folders of this machine that every sandbox sees, as for `run`. `allow_writes`: whether a
        folder may be mounted for writing. `allow_net`: hosts that runs may reach by https, as `HOST` or `HOST:PORT`; `network`: a file of rules
        (docs/reference/network.md), which can say more; both count for runs with `allow_network=True` and for sandboxes that were
        made with `network="default"`. `secrets`: keys that leave this process only for the host they are for, as
        `NAME=env:VAR@HOST`; a sandbox sees a placeholder in its variable `NAME`. `network_audit`: file to which each request is
        written down, by default `network.jsonl` in `state`. `ready`: unused instances kept ready for each language. `max_running`: runs at one
        time (default 64), more wait. `max_timeout_ms`, `max_memory_bytes`: the most that a run can ask for (default 60 s and
        512 MiB). `url`, `token`: a server, and the owner's token there; nothing else is said then.
        """
        options: Dict[str, Any] = {
            "state": None if state is None else os.path.abspath(os.fspath(state)),
            "cache": None if cache is None else os.path.abspath(os.fspath(cache)),
            "mounts": folders(mounts),
            "allow_writes": allow_writes,
            "network": None if network is None else os.path.abspath(os.fspath(network)),
            "allow_net": words("allow_net", allow_net),
            "secrets": words("secrets", secrets),
            "network_audit": None if network_audit is None else os.path.abspath(os.fspath(network_audit)),
            "ready": ready,
            "max_running": max_running,
            "max_timeout_ms": max_timeout_ms,
            "max_memory_bytes": max_memory_bytes,
        }
        said = {name: value for name, value in options.items() if value}
        if url is None:
            if token is not None:
                raise TypeError("`token` is for a server: name it with `url`")
            self.transport = Local(said)
        elif said:
            raise TypeError(f"`{next(iter(said))}` is the server's to decide: leave it out with `url`")
        else:
            self.transport = Remote(url, token)


class Dormouse(_Client, DormouseVerbs):
    """Sandboxes: in this process, or those of a server.

    Make one when the program starts and keep it. Its methods can be called from any number of threads. Use it with `with`, or
    call `close`, where it has a folder of state.
    """

    def run(self, code: str, **options: Unpack[RunOptions]) -> Outcome:
        """Runs a snippet in a fresh sandbox; the value of its last expression comes back. See `RunOptions`.

        Raises `Error` for what kept it from being run. What the snippet does itself, exceptions and limits included, is told
        by the `Outcome`. Ctrl-C ends the run.
        """
        named(code, options, OF_RUN)
        return Outcome(self.transport.run(code, None, options))

    def sandbox(self, name: str) -> Sandbox:
        """The persistent sandbox of that name, made if it is not there. `create` makes one with other limits."""
        tries = 0
        while True:
            try:
                return Sandbox(self, self._call("sandbox_get", {"sandbox": name}))
            except Error as error:
                if error.code != "unknown_sandbox":
                    raise
            try:
                return Sandbox(self, self._call("sandbox_create", {"name": name}))
            except Error as error:
                tries += 1
                # Somebody else has just made it.
                if error.code != "name_taken" or tries == TRIES:
                    raise

    def _made(self, answer: Any) -> Sandbox:
        return Sandbox(self, answer)

    def close(self) -> None:
        """Saves all sandboxes, and lets go of them. Happens by itself when the program ends as it should.

        Raises `Error` where calls do not end within a few seconds (`busy`), or a sandbox cannot be saved. Nothing is lost then: it can
        be closed again, or used.
        """
        self.transport.close()

    def __enter__(self) -> Dormouse:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        try:
            self.close()
        except Error:
            # What the block raised itself is not to be hidden.
            if error is None:
                raise

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        return self.transport.call(tool, arguments)


class _Named:
    """What is known of a sandbox without asking."""

    id: str
    """Its id, which never changes."""
    name: str
    """Its name."""
    answer: Mapping[str, Any]
    """What was told of it when this object was made, such as what of its options was `ignored` because it was there already."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.id = answer["id"]
        self.name = answer["name"]
        self.answer = answer

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self.id}>"


class Sandbox(_Named, SandboxVerbs):
    """A persistent sandbox: variables, imports and files last from call to call, and over the end of the program."""

    dormouse: Dormouse
    """Whose it is."""

    def __init__(self, dormouse: Dormouse, answer: Mapping[str, Any]) -> None:
        super().__init__(answer)
        self.dormouse = dormouse

    def run(self, code: str, **options: Unpack[SandboxRunOptions]) -> Outcome:
        """Runs a snippet in it, as `Dormouse.run`. See `SandboxRunOptions`."""
        named(code, options, OF_SANDBOX)
        return Outcome(self.dormouse.transport.run(code, self.id, options))

    def fork(self, count: int = 1, *, checkpoint_id: Optional[str] = None) -> List[Sandbox]:
        """Sandboxes that begin where this one is, or was at a checkpoint."""
        asked: Dict[str, Any] = {"count": count}
        if checkpoint_id is not None:
            asked["checkpoint_id"] = checkpoint_id
        return [Sandbox(self.dormouse, one) for one in self._call("sandbox_fork", asked)["sandboxes"]]

    def read_bytes(self, path: str) -> bytes:
        """The whole of a file."""
        from base64 import b64decode

        parts: List[bytes] = []
        offset: Optional[int] = 0
        while offset is not None:
            asked = {"path": path, "offset": offset, "max_bytes": PIECE, "encoding": "base64"}
            answer = self._call("sandbox_read", asked)
            parts.append(b64decode(answer["content"]))
            offset = answer.get("next_offset")
        return b"".join(parts)

    def write_bytes(self, path: str, data: bytes) -> None:
        """Replaces a file, or makes it and its folders, as a whole or not at all. Raises `Error` as well where it could not be saved."""
        steps = _Writing(path, data)
        for tool, asked in steps.calls:
            try:
                steps.done(self._call(tool, asked))
            except Error:
                self._gone(steps.draft)
                raise

    def _gone(self, draft: Optional[str]) -> None:
        if draft is not None:
            try:
                self._call("sandbox_remove_file", {"path": draft})
            except Error:
                pass

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        return self.dormouse._call(tool, {"sandbox": self.id, **arguments})


class AsyncDormouse(_Client, AsyncDormouseVerbs):
    """`Dormouse` for asyncio: the same methods, each to be awaited. A wait that is cancelled ends the run."""

    async def run(self, code: str, **options: Unpack[RunOptions]) -> Outcome:
        """As `Dormouse.run`. A coroutine function among the callbacks runs on this loop, another one on a thread."""
        named(code, options, OF_RUN)
        return Outcome(await self.transport.run_async(code, None, options))

    async def sandbox(self, name: str) -> AsyncSandbox:
        """As `Dormouse.sandbox`."""
        tries = 0
        while True:
            try:
                return AsyncSandbox(self, await self._call("sandbox_get", {"sandbox": name}))
            except Error as error:
                if error.code != "unknown_sandbox":
                    raise
            try:
                return AsyncSandbox(self, await self._call("sandbox_create", {"name": name}))
            except Error as error:
                tries += 1
                # Somebody else has just made it.
                if error.code != "name_taken" or tries == TRIES:
                    raise

    def _made(self, answer: Any) -> AsyncSandbox:
        return AsyncSandbox(self, answer)

    async def close(self) -> None:
        """As `Dormouse.close`."""
        import asyncio

        await asyncio.to_thread(self.transport.close)

    async def __aenter__(self) -> AsyncDormouse:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        try:
            await self.close()
        except Error:
            if error is None:
                raise

    async def _call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        return await self.transport.call_async(tool, arguments)


class AsyncSandbox(_Named, AsyncSandboxVerbs):
    """`Sandbox` for asyncio."""

    dormouse: AsyncDormouse
    """Whose it is."""

    def __init__(self, dormouse: AsyncDormouse, answer: Mapping[str, Any]) -> None:
        super().__init__(answer)
        self.dormouse = dormouse

    async def run(self, code: str, **options: Unpack[SandboxRunOptions]) -> Outcome:
        """As `Sandbox.run`."""
        named(code, options, OF_SANDBOX)
        return Outcome(await self.dormouse.transport.run_async(code, self.id, options))

    async def fork(self, count: int = 1, *, checkpoint_id: Optional[str] = None) -> List[AsyncSandbox]:
        """As `Sandbox.fork`."""
        asked: Dict[str, Any] = {"count": count}
        if checkpoint_id is not None:
            asked["checkpoint_id"] = checkpoint_id
        answer = await self._call("sandbox_fork", asked)
        return [AsyncSandbox(self.dormouse, one) for one in answer["sandboxes"]]

    async def read_bytes(self, path: str) -> bytes:
        """As `Sandbox.read_bytes`."""
        from base64 import b64decode

        parts: List[bytes] = []
        offset: Optional[int] = 0
        while offset is not None:
            asked = {"path": path, "offset": offset, "max_bytes": PIECE, "encoding": "base64"}
            answer = await self._call("sandbox_read", asked)
            parts.append(b64decode(answer["content"]))
            offset = answer.get("next_offset")
        return b"".join(parts)

    async def write_bytes(self, path: str, data: bytes) -> None:
        """As `Sandbox.write_bytes`."""
        steps = _Writing(path, data)
        for tool, asked in steps.calls:
            try:
                steps.done(await self._call(tool, asked))
            except Error:
                await self._gone(steps.draft)
                raise

    async def _gone(self, draft: Optional[str]) -> None:
        if draft is not None:
            try:
                await self._call("sandbox_remove_file", {"path": draft})
            except Error:
                pass

    async def _call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        return await self.dormouse._call(tool, {"sandbox": self.id, **arguments})


class _Writing:
    """The calls that write a file. One of several pieces gets its name when it is whole."""

    def __init__(self, path: str, data: bytes) -> None:
        from base64 import b64encode
        from binascii import hexlify

        starts = range(0, len(data), PIECE) or range(1)
        self.draft = f"{path}.{hexlify(os.urandom(6)).decode()}.part" if len(starts) > 1 else None
        self.calls: List[Tuple[str, Dict[str, Any]]] = [
            (
                "sandbox_write",
                {
                    "path": self.draft or path,
                    "content": b64encode(data[start : start + PIECE]).decode(),
                    "encoding": "base64",
                    "append": start > 0,
                },
            )
            for start in starts
        ]
        if self.draft is not None:
            self.calls.append(("sandbox_rename_file", {"path": self.draft, "to": path, "replace": True}))
        self.left = len(self.calls)

    def done(self, answer: Mapping[str, Any]) -> None:
        """Notes what a call answered; the last one says whether all is saved."""
        self.left -= 1
        if self.left == 0 and answer.get("unsaved"):
            raise Error.of(answer["unsaved"])


_lock = threading.Lock()
_shared: Optional[Dormouse] = None
_shared_async: Optional[AsyncDormouse] = None


def run(code: str, **options: Unpack[RunOptions]) -> Outcome:
    """Runs a snippet in a fresh sandbox of this process: `Dormouse.run` with a `Dormouse` that all such calls share."""
    global _shared
    if _shared is None:
        with _lock:
            _shared = _shared or Dormouse()
    return _shared.run(code, **options)


async def run_async(code: str, **options: Unpack[RunOptions]) -> Outcome:
    """The same for asyncio."""
    global _shared_async
    if _shared_async is None:
        run_shared = AsyncDormouse()
        with _lock:
            _shared_async = _shared_async or run_shared
    return await _shared_async.run(code, **options)


def _after_fork() -> None:
    """The engine's threads stay in the parent: what calls share is made anew."""
    global _lock, _shared, _shared_async
    after_fork()
    _lock, _shared, _shared_async = threading.Lock(), None, None


os.register_at_fork(before=part, after_in_parent=parted, after_in_child=_after_fork)
atexit.register(close_all)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext dormouse`: cells that begin with `%%dormouse` run in a sandbox of the notebook's own, which keeps its variables.

    `%%dormouse javascript` names another language. The value of the cell is the value of its last expression.
    """
    import tempfile

    folder = tempfile.mkdtemp(prefix="dormouse-notebook-")
    sandbox = Dormouse(folder).sandbox("notebook")

    def cell(line: str, body: str) -> Any:
        outcome = sandbox.run(body, language=line.strip() or "python", on_output=_shown)
        return outcome.value

    shell.register_magic_function(cell, "cell", "dormouse")


def _shown(stream: str, text: str) -> None:
    import sys

    print(text, end="", file=sys.stdout if stream == "stdout" else sys.stderr, flush=True)
