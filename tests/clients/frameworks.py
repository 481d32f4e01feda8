"""Drives an MCP server as frameworks do that users build agents with: each reads every tool's schema and answer by its own rules.

    frameworks.py fastmcp|langchain|agents|pydantic-ai|smolagents stdio|http COMMAND [ARGUMENT ...]

`http` serves with `COMMAND serve`, `stdio` with `COMMAND mcp`. Prints `ok STEP` or `not ok STEP: why` for each of six steps.
"""

import asyncio
import json
import logging
import subprocess
import sys
import tempfile
import warnings

CLIENT, DOOR, COMMAND = sys.argv[1], sys.argv[2], sys.argv[3]
STEPS = ["list", "answers", "exceptions", "refusals", "null", "quiet"]

# Each tool once, in an order in which each can be done. `$` is what an earlier answer told under that name.
CALLS = [
    ("sandbox_capabilities", {}),
    ("sandbox_create", {"name": "box"}),
    ("sandbox_get", {"sandbox": "box"}),
    ("sandbox_eval", {"code": "x = 40\nx + 2", "sandbox": "box"}),
    ("sandbox_list", {}),
    ("sandbox_vars", {"sandbox": "box"}),
    ("sandbox_get_var", {"sandbox": "box", "name": "x"}),
    ("sandbox_exec", {"sandbox": "box", "command": "echo one"}),
    ("sandbox_job", {"sandbox": "box", "action": "list"}),
    ("sandbox_eval", {"code": "6 * 7", "language": "javascript", "sandbox": "box", "background": True}),
    ("sandbox_run", {"run": "$run_id", "action": "wait"}),
    ("sandbox_run", {"action": "list"}),
    ("sandbox_write", {"sandbox": "box", "path": "/workspace/a.txt", "content": "one two"}),
    ("sandbox_read", {"sandbox": "box", "path": "/workspace/a.txt"}),
    ("sandbox_edit", {"sandbox": "box", "path": "/workspace/a.txt", "old": "one", "new": "1"}),
    ("sandbox_files", {"sandbox": "box"}),
    ("sandbox_upload", {"sandbox": "box", "path": "/workspace/b", "content_base64": "aGVsbG8="}),
    ("sandbox_download", {"sandbox": "box", "path": "/workspace/b"}),
    ("sandbox_make_folder", {"sandbox": "box", "path": "/workspace/folder"}),
    ("sandbox_rename_file", {"sandbox": "box", "path": "/workspace/b", "to": "/workspace/folder/b"}),
    ("sandbox_remove_file", {"sandbox": "box", "path": "/workspace/folder", "recursive": True}),
    ("sandbox_history", {"sandbox": "box"}),
    ("sandbox_checkpoint", {"sandbox": "box", "name": "first", "note": "before the rest"}),
    ("sandbox_describe_checkpoint", {"sandbox": "box", "checkpoint_id": "first", "note": "as it began"}),
    ("sandbox_list_checkpoints", {"sandbox": "box"}),
    ("sandbox_restore", {"sandbox": "box", "checkpoint_id": "first"}),
    ("sandbox_fork", {"sandbox": "box"}),
    ("sandbox_remove_checkpoint", {"sandbox": "box", "checkpoint_id": "first"}),
    ("sandbox_reset", {"sandbox": "box"}),
    ("sandbox_write", {"sandbox": "box", "path": "/workspace/test_a.py", "content": "def test_a(): assert True\n"}),
    ("run_tests", {"sandbox": "box"}),
    ("run_lint", {"sandbox": "box"}),
    ("sandbox_stop", {"sandbox": "box"}),
    ("sandbox_resume", {"sandbox": "box"}),
    ("sandbox_destroy", {"sandbox": "box"}),
]

# What cannot be done here is refused with a code; that is an answer too.
REFUSED = [
    ("sandbox_load", {"sandbox": "no", "path": "/none", "var": "x"}, "unknown_sandbox"),
    ("sandbox_install", {"sandbox": "no", "packages": ["requests"]}, "unknown_sandbox"),
    ("sandbox_sub_agent", {"sandbox": "no", "signature": "a -> b", "inputs": {"a": 1}}, "unknown_sandbox"),
    ("run_typecheck", {"sandbox": "no"}, "unknown_sandbox"),
    ("sandbox_eval", {"code": "1", "language": "cobol"}, "args_invalid"),
    ("sandbox_exec", {"sandbox": "no", "command": "ls"}, "unknown_sandbox"),
    ("sandbox_run", {"run": "no"}, "not_found"),
]

RAISES = [
    ("sandbox_eval", {"code": "1 / 0"}, "ZeroDivisionError"),
    ("sandbox_eval", {"code": "null.x", "language": "javascript"}, "TypeError"),
    ("sandbox_eval", {"code": "try { intdiv(1, 0); } catch (Error $e) { throw new Exception('outer', 7, $e); }", "language": "php"}, "Exception"),
]


class Records(logging.Handler):
    """What the client logs as wrong."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []

    def emit(self, record):
        self.said.append(f"{record.levelname} {record.name}: {record.getMessage()[:300]}")


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return {}


def plain(value):
    """A value as JSON has it, whatever class a client has made of it."""
    if hasattr(value, "model_dump"):
        return value.model_dump(by_alias=True)
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


class FastMcp:
    async def __aenter__(self):
        from fastmcp import Client
        from fastmcp.client.transports import StdioTransport

        transport = StdioTransport(COMMAND, ARGUMENTS) if DOOR == "stdio" else URL
        self.client = await Client(transport).__aenter__()
        return self

    async def __aexit__(self, *error):
        await self.client.__aexit__(*error)

    async def tools(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, name, arguments):
        result = await self.client.call_tool(name, arguments, raise_on_error=False)
        if not result.is_error and result.data is None:
            raise AssertionError(f"{name}: the answer could not be read as its schema says")
        return result.structured_content


class LangChain:
    async def __aenter__(self):
        from langchain_mcp_adapters.client import MultiServerMCPClient
        from langchain_mcp_adapters.tools import load_mcp_tools

        how = {"transport": "stdio", "command": COMMAND, "args": ARGUMENTS}
        if DOOR == "http":
            how = {"transport": "streamable_http", "url": URL}
        client = MultiServerMCPClient({"dormouse": how})
        self.session = client.session("dormouse")
        self.all = {tool.name: tool for tool in await load_mcp_tools(await self.session.__aenter__())}
        return self

    async def __aexit__(self, *error):
        await self.session.__aexit__(*error)

    async def tools(self):
        return list(self.all)

    async def call(self, name, arguments):
        from langchain_core.tools import ToolException

        call = {"name": name, "args": arguments, "id": "1", "type": "tool_call"}
        try:
            message = await self.all[name].ainvoke(call)
        except ToolException as error:
            return parsed(str(error)) or {"error": {"message": str(error)}}
        artifact = message.artifact
        if message.status == "error":
            return {"error": {"message": str(message.content)}}
        if artifact is None:
            raise AssertionError(f"{name}: no structured answer")
        return artifact.get("structured_content") if isinstance(artifact, dict) else artifact.structured_content


class Agents:
    async def __aenter__(self):
        from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

        if DOOR == "stdio":
            self.server = MCPServerStdio(params={"command": COMMAND, "args": ARGUMENTS}, client_session_timeout_seconds=60)
        else:
            self.server = MCPServerStreamableHttp(params={"url": URL}, client_session_timeout_seconds=60)
        await self.server.connect()
        return self

    async def __aexit__(self, *error):
        await self.server.cleanup()

    async def tools(self):
        from agents.mcp import MCPUtil

        tools = await self.server.list_tools()
        for tool in tools:
            MCPUtil.to_function_tool(tool, self.server, convert_schemas_to_strict=True)
        return [tool.name for tool in tools]

    async def call(self, name, arguments):
        result = plain(await self.server.call_tool(name, arguments))
        return result.get("structuredContent") or result.get("structured_content")


class PydanticAi:
    async def __aenter__(self):
        from pydantic_ai.mcp import MCPToolset

        if DOOR == "stdio":
            from fastmcp.client.transports import StdioTransport

            self.toolset = MCPToolset(StdioTransport(COMMAND, ARGUMENTS))
        else:
            self.toolset = MCPToolset(URL)
        await self.toolset.__aenter__()
        return self

    async def __aexit__(self, *error):
        await self.toolset.__aexit__(*error)

    async def tools(self):
        return [tool.name for tool in await self.toolset.list_tools()]

    async def call(self, name, arguments):
        from pydantic_ai import ModelRetry

        try:
            answer = plain(await self.toolset.direct_call_tool(name, arguments))
            # A file comes with a link to it.
            return answer[0] if isinstance(answer, list) else answer
        except ModelRetry as error:
            return parsed(str(error)) or {"error": {"message": str(error)}}


class Smolagents:
    async def __aenter__(self):
        from smolagents import MCPClient

        if DOOR == "stdio":
            from mcp import StdioServerParameters

            how = StdioServerParameters(command=COMMAND, args=ARGUMENTS)
        else:
            how = {"url": URL, "transport": "streamable-http"}
        self.client = MCPClient(how, structured_output=True)
        self.all = {tool.name: tool for tool in self.client.get_tools()}
        return self

    async def __aexit__(self, *error):
        self.client.disconnect()

    async def tools(self):
        return list(self.all)

    async def call(self, name, arguments):
        told = await asyncio.to_thread(self.all[name], **arguments)
        return parsed(told) or {"error": {"message": told}} if isinstance(told, str) else plain(told)


CLIENTS = {
    "fastmcp": FastMcp,
    "langchain": LangChain,
    "agents": Agents,
    "pydantic-ai": PydanticAi,
    "smolagents": Smolagents,
}


def mentions(answer, word):
    return word in json.dumps(answer, default=str)


async def listed(client):
    tools = set(await client.tools())
    missing = tools - {name for name, *_ in CALLS + REFUSED}
    assert not missing, f"tools that this does not call: {sorted(missing)}"
    unknown = {name for name, *_ in CALLS + REFUSED} - tools
    assert not unknown, f"tools that there are not: {sorted(unknown)}"


async def answers(client):
    told = {}
    for name, arguments in CALLS:
        arguments = {key: told.get(value[1:]) if str(value).startswith("$") else value for key, value in arguments.items()}
        answer = await client.call(name, arguments)
        assert isinstance(answer, dict) and answer, f"{name} answered {answer!r}"
        assert not answer.get("error"), f"{name}: {answer['error']}"
        told.update(answer)
    assert told.get("runs"), "the run is not in the list"


async def exceptions(client):
    for name, arguments, kind in RAISES:
        answer = await client.call(name, arguments)
        assert mentions(answer, kind), f"{arguments['code']}: {answer!r}"


async def refusals(client):
    for name, arguments, code in REFUSED:
        answer = await client.call(name, arguments)
        # Some clients pass on the text of a refusal alone, which is for a model to read.
        known = code in json.dumps(answer, default=str) or (answer.get("error") or {}).get("message")
        assert known, f"{name}: {answer!r}"


async def null(client):
    for language, code in [("python", "None"), ("javascript", "null"), ("php", "return null;")]:
        answer = await client.call("sandbox_eval", {"code": code, "language": language})
        assert mentions(answer.get("result"), "null"), f"{language}: {answer!r}"


async def drive():
    records = Records()
    logging.getLogger().addHandler(records)
    warnings.simplefilter("ignore", DeprecationWarning)
    done = {}
    async with CLIENTS[CLIENT]() as client:
        for logger in logging.root.manager.loggerDict.values():
            # Some say what is wrong on a log of their own.
            if isinstance(logger, logging.Logger) and not logger.propagate:
                logger.addHandler(records)
        for step in [listed, answers, exceptions, refusals, null]:
            name = "list" if step is listed else step.__name__
            try:
                await step(client)
                done[name] = None
            except Exception as error:
                done[name] = f"{type(error).__name__}: {error}".replace("\n", " ")[:600]
    said = [line for line in records.said if not any(code in line for _, _, code in REFUSED)]
    done["quiet"] = "; ".join(said)[:600] or None
    for name in STEPS:
        why = done.get(name)
        print(f"not ok {name}: {why}" if why else f"ok {name}", flush=True)


with tempfile.TemporaryDirectory() as state:
    OPTIONS = ["--state-dir", state, "--tools", "all"]
    ARGUMENTS = ["mcp", *OPTIONS]
    server = None
    if DOOR == "http":
        serve = [COMMAND, "serve", "--listen", "127.0.0.1:0", *OPTIONS]
        server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
        URL = server.stdout.readline().strip() + "/mcp"
    try:
        asyncio.run(drive())
    finally:
        if server:
            server.terminate()
            server.wait()
