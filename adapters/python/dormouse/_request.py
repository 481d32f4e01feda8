"""What a run is asked with."""

from __future__ import annotations

import codecs
import json
import os
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Dict, List, Mapping, Optional, Tuple, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired

OutputHandler = Callable[[str, str], Any]
"""Called with `stdout` or `stderr`, and the text."""


class Mount:
    """A folder of this machine that a sandbox sees: read-only, unless it is `writable` and the `Dormouse` allows writes."""

    __slots__ = ("path", "writable")

    path: str
    """The folder."""
    writable: bool
    """Whether the sandbox may write there."""

    def __init__(self, path: Union[str, os.PathLike[str]], *, writable: bool = False) -> None:
        self.path = os.fspath(path)
        self.writable = writable


class Function:
    """A function that a snippet may call: `call_tool(name, ...)` in Python, `callTool(name, {...})` in JavaScript.

    It gets the arguments by name and answers what JSON can say; it may be a coroutine function. `schema` is the JSON Schema of
    its arguments.
    """

    __slots__ = ("function", "description", "schema")

    function: Callable[..., Any]
    """What is called."""
    description: str
    """What it is for, in a sentence; by default the first line of its documentation."""
    schema: Dict[str, Any]
    """The JSON Schema of its arguments."""

    def __init__(
        self, function: Callable[..., Any], *, description: str = "", schema: Optional[Mapping[str, Any]] = None
    ) -> None:
        if not callable(function):
            raise TypeError(f"a callback has to be a function, not {type(function).__name__}")
        self.function = function
        self.description = description or (function.__doc__ or "").strip().split("\n")[0]
        self.schema = dict(schema) if schema is not None else {"type": "object"}


Mounts = Mapping[str, Union[str, "os.PathLike[str]", Mount]]
Callbacks = Mapping[str, Union[Callable[..., Any], Function]]
Caller = Callable[..., Any]
"""Makes of a function what the native part calls, and tells whether it takes its time."""


class SandboxRunOptions(TypedDict, total=False):
    """What a run in a persistent sandbox may say besides its code; the names are those of the tool `sandbox_eval`."""

    language: str
    """`python` (default), `javascript`, `typescript` or `php`."""
    name: str
    """The file name that traces show. Default `<snippet>`."""
    stdin: Union[str, bytes]
    """Standard input, at most 8 MiB. Default empty."""
    timeout_ms: int
    """Wall-clock limit in milliseconds. Default 5000, from 10 to 60000."""
    output_bytes: int
    """Bytes kept of each of standard output and standard error. Default and most 8 MiB; of a server 16 KiB and 48 KiB."""
    allow_eval: bool
    """Whether the snippet may evaluate text as code. Default True."""
    allow_network: bool
    """Whether it may reach what the `Dormouse` allows (`allow_net`, `network`). A persistent sandbox has what it was made with
    (`create(network="default")`). Default False."""
    seed: int
    """Fixes all randomness. Default: random."""
    preview_offset: int
    """Items of the outermost container of the value to skip. Default 0."""
    preview_items: int
    """Items shown of each container of the value. Default and most 10000; of a server 50."""
    callbacks: Callbacks
    """Functions of this program that the snippet may call, by name. Not over a server."""
    on_output: OutputHandler
    """Called with `stdout` or `stderr` and the text, while the snippet runs; over a server when it is done."""


class RunOptions(SandboxRunOptions, total=False):
    """What a run in a fresh sandbox may say besides its code."""

    memory_bytes: int
    """Memory limit, interpreter included. Default 128 MiB, from 16 MiB to 512 MiB."""
    disk_bytes: int
    """Bytes of files that the run may write. Default 64 MiB. Not over a server."""
    fuel: int
    """Limit on executed operations, which is deterministic; the run is then slower. Default: off."""
    env: Mapping[str, str]
    """Environment variables. Default none. Not over a server."""
    cwd: str
    """The working directory. Not over a server."""
    mounts: Mounts
    """Folders of this machine, by where the sandbox sees them: a path, which is read-only, or a `Mount`. Not over a server."""


APART = ("stdin", "callbacks", "on_output", "mounts", "env")
OF_SANDBOX = frozenset(SandboxRunOptions.__annotations__)
OF_RUN = frozenset(RunOptions.__annotations__)


WHOLE = frozenset(
    ("timeout_ms", "output_bytes", "seed", "preview_offset", "preview_items", "memory_bytes", "disk_bytes", "fuel")
)


def named(code: Any, options: Mapping[str, Any], known: "frozenset[str]") -> None:
    """Refuses names that there are not, and values of other types, as a call of a function does."""
    if not isinstance(code, str):
        raise TypeError(f"`code` has to be str, not {type(code).__name__}")
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"run() got an unexpected keyword argument {name!r}")
        if value is None:
            continue
        if name in WHOLE:
            wanted: Any = int
        elif name in ("callbacks", "mounts", "env"):
            wanted = Mapping
        elif name == "stdin":
            wanted = (str, bytes, bytearray, memoryview)
        else:
            wanted = bool if name in ("allow_eval", "allow_network") else str
        if name == "on_output":
            if not callable(value) or _is_coroutine_function(value):
                raise TypeError("`on_output` has to be a function that is no coroutine function")
        elif not isinstance(value, wanted) or (name in WHOLE and isinstance(value, bool)):
            kinds = wanted if isinstance(wanted, tuple) else (wanted,)
            said = " or ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"`{name}` has to be {said}, not {type(value).__name__}")
        if name in WHOLE and not 0 <= value < 1 << 64:
            raise ValueError(f"`{name}` has to be at least 0 and below 2**64")


def _is_coroutine_function(value: Any) -> bool:
    import inspect

    return inspect.iscoroutinefunction(value)


def folders(mounts: Optional[Mounts]) -> List[Dict[str, Any]]:
    """Folders as the native part takes them."""
    found = []
    for target, given in (mounts or {}).items():
        mount = given if isinstance(given, Mount) else Mount(given)
        found.append({"source": os.path.abspath(mount.path), "target": target, "writable": mount.writable})
    return found


def words(name: str, given: Any) -> List[str]:
    """A list of texts; refuses one text in the place of a list, and other values."""
    if isinstance(given, (str, bytes)) or not all(isinstance(one, str) for one in given):
        raise TypeError(f"`{name}` has to be a list of str")
    return list(given)


def request(code: str, options: Mapping[str, Any]) -> Dict[str, Any]:
    """The part of a run that is JSON."""
    asked = {name: value for name, value in options.items() if name not in APART and value is not None}
    asked["code"] = code
    if options.get("mounts"):
        asked["mounts"] = folders(options["mounts"])
    if options.get("env"):
        asked["env"] = dict(options["env"])
    return asked


def standard_input(options: Mapping[str, Any]) -> bytes:
    """What standard input yields."""
    given = options.get("stdin") or b""
    return given.encode() if isinstance(given, str) else bytes(given)


def functions(options: Mapping[str, Any], called: Callable[[Callable[..., Any]], Caller], takes_time: bool) -> Any:
    """Functions as the native part takes them, or None."""
    given: Optional[Callbacks] = options.get("callbacks")
    if not given:
        return None
    found: Dict[str, Tuple[str, str, Caller, bool]] = {}
    for name, one in given.items():
        function = one if isinstance(one, Function) else Function(one)
        found[name] = (function.description, json.dumps(function.schema), called(function.function), takes_time)
    return found


class Decoded:
    """Takes the bytes of both streams, and tells their text. A character that was cut is told when it is whole."""

    def __init__(self, handler: OutputHandler) -> None:
        self.handler = handler
        self.decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}

    def __call__(self, stream: str, data: bytes) -> None:
        text = self.decoders[stream].decode(data)
        if text:
            self.handler(stream, text)

    def end(self) -> None:
        """Tells what is left."""
        for stream, decoder in self.decoders.items():
            text = decoder.decode(b"", True)
            if text:
                self.handler(stream, text)


def answer_now(function: Callable[..., Any]) -> Caller:
    """Calls a function with JSON, and waits for its answer. A coroutine is run to its end."""

    def call(arguments: str) -> str:
        answer = function(**json.loads(arguments))
        if hasattr(answer, "__await__"):
            answer = _finish(answer)
        return json.dumps(answer)

    return call


def _finish(awaitable: Awaitable[Any]) -> Any:
    import asyncio

    async def wait() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    # This thread has a loop that waits for this run.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as beside:
        return beside.submit(asyncio.run, wait()).result()


class Later:
    """Calls functions on a loop of asyncio, and gives their answers when they are there."""

    def __init__(self) -> None:
        import asyncio

        self.loop = asyncio.get_running_loop()
        self.tasks: "set[asyncio.Task[None]]" = set()

    def caller(self, function: Callable[..., Any]) -> Caller:
        """What the native part calls, on a thread of its own."""

        def call(arguments: str, reply: Any) -> None:
            self.loop.call_soon_threadsafe(self.begin, function, arguments, reply)

        return call

    def begin(self, function: Callable[..., Any], arguments: str, reply: Any) -> None:
        """Begins one, on the loop."""
        task = self.loop.create_task(self.work(function, arguments, reply))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def work(self, function: Callable[..., Any], arguments: str, reply: Any) -> None:
        """Does one. A function that is no coroutine is called on a thread, so that the loop goes on."""
        import asyncio
        import inspect

        try:
            given = json.loads(arguments)
            if inspect.iscoroutinefunction(function):
                answer = await function(**given)
            else:
                answer = await asyncio.to_thread(function, **given)
                if hasattr(answer, "__await__"):
                    answer = await answer
            reply.send(True, json.dumps(answer))
        except Exception as error:
            reply.send(False, f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        except BaseException as error:
            reply.send(False, type(error).__name__)
            raise

    def end(self) -> None:
        """Gives up what still goes on: nobody waits for it."""
        for task in self.tasks:
            task.cancel()
