"""Drives an MCP server over standard input and output with the Python SDK.

    python_sdk.py legacy|2026-07-28|auto COMMAND [ARGUMENT ...]

Prints `ok STEP` or `not ok STEP: why` for each of thirteen steps.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

MODE, SERVER = sys.argv[1], sys.argv[2:]
ERA = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}[MODE]
steps = []


def step(function):
    steps.append(function)
    return function


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what} is {found!r}, not {wanted!r}")


async def evaluate(client, **arguments):
    return await client.call_tool("sandbox_eval", arguments)


@step
async def list_tools(client):
    expect(client.protocol_version, ERA, "the protocol version")
    tools = (await client.list_tools()).tools
    expect([tool.name for tool in tools], ["sandbox_capabilities", "sandbox_eval"], "the list")
    for tool in tools:
        hints = tool.annotations
        told = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        assert None not in told, f"{tool.name} lacks an annotation: {told}"
        assert tool.title and tool.description and tool.output_schema, f"{tool.name} does not describe itself"


@step
async def eval_python(client):
    result = await evaluate(client, code="sum(range(10))")
    expect(result.is_error, False, "isError")
    expect(result.structured_content["result"], {"type": "int", "value": 45}, "the value")
    assert "45" in result.content[0].text, "the text does not show the value"


@step
async def eval_javascript(client):
    result = await evaluate(client, code="[1, 2, 3].map(n => n * n)[2]", language="javascript")
    expect(result.structured_content["result"], {"type": "int", "value": 9}, "the value")


@step
async def bad_arguments(client):
    for arguments in ({"codes": "1"}, {"code": 1}, {"code": "1", "timeout_ms": 1}, {}):
        result = await client.call_tool("sandbox_eval", arguments)
        expect(result.is_error, True, "isError")
        expect(result.structured_content["error"]["code"], "args_invalid", "the code")


@step
async def unknown_tool(client):
    try:
        await client.call_tool("no_such_tool", {})
    except MCPError as error:
        expect(error.error.code, -32602, "the code")
    else:
        raise AssertionError("it was answered")


@step
async def exception(client):
    result = await evaluate(client, code="print('before')\nint('x')")
    expect(result.is_error, False, "isError")
    told = result.structured_content
    expect((told["ok"], told["exception"]["class"], told["stdout"]), (False, "ValueError", "before\n"), "the outcome")


@step
async def timeout(client):
    begin = time.monotonic()
    result = await evaluate(client, code="while True: pass", timeout_ms=300)
    took = time.monotonic() - begin
    expect(result.is_error, True, "isError")
    expect(result.structured_content["error"]["code"], "limit_time", "the code")
    assert 0.29 < took < 2, f"it took {took:.2f} s"


@step
async def big_output(client):
    result = await evaluate(client, code="print('x' * 100_000)")
    told = result.structured_content
    expect(len(told["stdout"]) + told["truncated"]["stdout_bytes"], 100_001, "all bytes")
    assert len(told["stdout"]) <= 16_384, "more was kept than asked for"


@step
async def cancel_then_call(client):
    with anyio.move_on_after(0.3):
        await evaluate(client, code="while True: pass", timeout_ms=30_000)
        raise AssertionError("an endless loop ended by itself")
    begin = time.monotonic()
    result = await evaluate(client, code="'next'")
    expect(result.structured_content["result"]["value"], "next", "the value")
    assert time.monotonic() - begin < 2, "the next call waited for the cancelled one"


@step
async def progress(client):
    events = []

    async def on_progress(done, total, message):
        events.append(done)

    code = "import time\nend = time.time() + 1.8\nwhile time.time() < end: print(end='.')"
    result = await client.call_tool("sandbox_eval", {"code": code}, progress_callback=on_progress)
    expect(result.structured_content["ok"], True, "ok")
    assert len(events) >= 2 and events == sorted(set(events)), f"the events were {events}"


@step
async def capabilities(client):
    told = (await client.call_tool("sandbox_capabilities", {})).structured_content
    ready = {entry["language"] for entry in told["languages"] if entry["available"]}
    assert {"python", "javascript", "typescript"} <= ready, f"ready are {ready}"


async def in_order(folder):
    """Calls that are begun together, on a server that keeps sandboxes: each finds what the one before it has done."""
    server = StdioServerParameters(command=SERVER[0], args=[*SERVER[1:], "--state-dir", str(folder)])
    async with Client(stdio_client(server), mode=MODE) as client:

        async def call(tool, **arguments):
            told = await client.call_tool(tool, {"session_key": "k", **arguments})
            expect(told.is_error, False, f"isError of {tool}")
            return told.structured_content

        for number in range(20):
            told = await asyncio.gather(
                call("sandbox_eval", code=f"x = {number}"),
                call("sandbox_eval", code="x"),
                call("sandbox_write", path="/workspace/f", content=str(number)),
                call("sandbox_exec", command="cat f"),
            )
            expect((told[1]["result"]["value"], told[3]["stdout"]), (number, str(number)), "what was found")
        await call("sandbox_eval", code="l = []")
        await asyncio.gather(*(call("sandbox_eval", code=f"l.append({number})") for number in range(20)))
        told = await call("sandbox_eval", code="l == list(range(20))")
        expect(told["result"]["value"], True, "whether they came in order")


async def drive(status):
    # A shell in between, since the SDK does not tell how its server ended.
    script = 'code="$1"; shift; "$@"; echo $? > "$code"'
    server = StdioServerParameters(command="sh", args=["-c", script, "sh", str(status), *SERVER])
    failed = 0
    async with Client(stdio_client(server), mode=MODE) as client:
        for function in steps:
            failed += await run(function.__name__, function(client))
    for _ in range(2_000):
        if status.exists() and status.read_text():
            break
        await asyncio.sleep(0.01)

    async def close():
        expect(status.read_text().strip() if status.exists() else None, "0", "the exit code")

    failed += await run("close", close())
    return failed + await run("in_order", in_order(status.parent / "state"))


async def run(name, working):
    try:
        await asyncio.wait_for(working, 40)
    except Exception as error:
        print(f"not ok {name}: {type(error).__name__}: {error}".replace("\n", " "), flush=True)
        return 1
    print(f"ok {name}", flush=True)
    return 0


with tempfile.TemporaryDirectory() as folder:
    sys.exit(1 if asyncio.run(drive(Path(folder, "status"))) else 0)
