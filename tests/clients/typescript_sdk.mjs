// Drives an MCP server over standard input and output with the TypeScript SDKs.
//
//     typescript_sdk.mjs sdk|legacy|2026-07-28|auto FOLDER COMMAND [ARGUMENT ...]
//
// `sdk` is @modelcontextprotocol/sdk, the others are modes of @modelcontextprotocol/client; FOLDER holds node_modules.
// Prints `ok STEP` or `not ok STEP: why` for each of thirteen steps.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [mode, folder, ...server] = process.argv.slice(2);
const require = createRequire(join(folder, "index.js"));
const era = { sdk: "2025-11-25", legacy: "2025-11-25" }[mode] ?? "2026-07-28";

function connectTo(transport) {
  const own = { name: "dormouse-tests", version: "0" };
  if (mode === "sdk") {
    const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
    const client = new Client(own);
    transport.setProtocolVersion = (version) => { client.negotiated = version; };
    client.call = (request, options) => client.callTool(request, undefined, options);
    return client;
  }
  const { Client } = require("@modelcontextprotocol/client");
  const pinned = mode === "2026-07-28" ? { pin: mode } : mode;
  const client = new Client(own, { versionNegotiation: { mode: pinned } });
  client.call = (request, options) => client.callTool(request, options);
  return client;
}

const steps = {
  async list_tools(client) {
    assert.equal(client.negotiated ?? client.getNegotiatedProtocolVersion(), era);
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), ["sandbox_capabilities", "sandbox_eval"]);
    for (const { annotations, title, description, outputSchema } of tools) {
      for (const hint of ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]) {
        assert.equal(typeof annotations[hint], "boolean", hint);
      }
      assert.ok(title && description && outputSchema);
    }
  },

  async eval_python(client) {
    const result = await evaluate(client, { code: "sum(range(10))" });
    assert.ok(!result.isError);
    assert.deepEqual(result.structuredContent.result, { type: "int", value: 45 });
    assert.ok(result.content[0].text.includes("45"));
  },

  async eval_javascript(client) {
    const result = await evaluate(client, { code: "[1, 2, 3].map(n => n * n)[2]", language: "javascript" });
    assert.deepEqual(result.structuredContent.result, { type: "int", value: 9 });
  },

  async bad_arguments(client) {
    for (const bad of [{ codes: "1" }, { code: 1 }, { code: "1", timeout_ms: 1 }, {}]) {
      const result = await evaluate(client, bad);
      assert.equal(result.isError, true);
      assert.equal(result.structuredContent.error.code, "args_invalid");
    }
  },

  async unknown_tool(client) {
    await assert.rejects(client.call({ name: "no_such_tool", arguments: {} }), (error) => error.code === -32602);
  },

  async exception(client) {
    const result = await evaluate(client, { code: "print('before')\nint('x')" });
    assert.ok(!result.isError);
    const { ok, exception, stdout } = result.structuredContent;
    assert.deepEqual([ok, exception.class, stdout], [false, "ValueError", "before\n"]);
  },

  async timeout(client) {
    const begin = performance.now();
    const result = await evaluate(client, { code: "while True: pass", timeout_ms: 300 });
    const took = performance.now() - begin;
    assert.equal(result.isError, true);
    assert.equal(result.structuredContent.error.code, "limit_time");
    assert.ok(took > 290 && took < 2000, `it took ${took} ms`);
  },

  async big_output(client) {
    const { stdout, truncated } = (await evaluate(client, { code: "print('x' * 100_000)" })).structuredContent;
    assert.equal(stdout.length + truncated.stdout_bytes, 100_001);
    assert.ok(stdout.length <= 16_384);
  },

  async cancel_then_call(client) {
    const giveUp = new AbortController();
    const endless = evaluate(client, { code: "while True: pass", timeout_ms: 30_000 }, { signal: giveUp.signal });
    setTimeout(() => giveUp.abort("enough"), 300);
    await assert.rejects(endless);
    const begin = performance.now();
    const result = await evaluate(client, { code: "'next'" });
    assert.equal(result.structuredContent.result.value, "next");
    assert.ok(performance.now() - begin < 2000, "the next call waited for the cancelled one");
  },

  async progress(client) {
    const events = [];
    const code = "import time\nend = time.time() + 1.8\nwhile time.time() < end: print(end='.')";
    const onprogress = (event) => events.push(event.progress);
    const result = await evaluate(client, { code }, { onprogress, resetTimeoutOnProgress: true });
    assert.equal(result.structuredContent.ok, true);
    assert.ok(events.length >= 2 && events.every((event, i) => !i || event > events[i - 1]), `the events: ${events}`);
  },

  async capabilities(client) {
    const { languages } = (await client.call({ name: "sandbox_capabilities", arguments: {} })).structuredContent;
    const ready = languages.filter((entry) => entry.available).map((entry) => entry.language);
    for (const language of ["python", "javascript", "typescript"]) assert.ok(ready.includes(language), language);
  },
};

function evaluate(client, fields, options) {
  return client.call({ name: "sandbox_eval", arguments: fields }, options);
}

// Calls that are begun together, on a server that keeps sandboxes: each finds what the one before it has done.
async function inOrder() {
  const [command, ...args] = server;
  const keeping = new StdioClientTransport({ command, args: [...args, "--state-dir", join(place, "state")] });
  const client = connectTo(keeping);
  await client.connect(keeping);
  const call = async (name, fields) => {
    const result = await client.call({ name, arguments: { session_key: "k", ...fields } });
    assert.ok(!result.isError, result.content?.[0]?.text);
    return result.structuredContent;
  };
  for (let number = 0; number < 20; number++) {
    const told = await Promise.all([
      call("sandbox_eval", { code: `x = ${number}` }),
      call("sandbox_eval", { code: "x" }),
      call("sandbox_write", { path: "/workspace/f", content: String(number) }),
      call("sandbox_exec", { command: "cat f" }),
    ]);
    assert.deepEqual([told[1].result.value, told[3].stdout], [number, String(number)]);
  }
  await call("sandbox_eval", { code: "l = []" });
  const appends = Array.from({ length: 20 }, (_, number) => call("sandbox_eval", { code: `l.append(${number})` }));
  await Promise.all(appends);
  assert.equal((await call("sandbox_eval", { code: "l == list(range(20))" })).result.value, true);
  await client.close();
}

let failed = 0;

async function run(name, step) {
  try {
    await step();
    console.log(`ok ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${name}: ${String(error?.message ?? error).replaceAll("\n", " ")}`);
  }
}

const place = mkdtempSync(join(tmpdir(), "client-"));
const status = join(place, "status");
const { StdioClientTransport } = require(
  mode === "sdk" ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio",
);
// A shell in between, since the SDK does not tell how its server ended.
const script = 'code="$1"; shift; "$@"; echo $? > "$code"';
const transport = new StdioClientTransport({ command: "sh", args: ["-c", script, "sh", status, ...server] });
const client = connectTo(transport);
await client.connect(transport);
for (const [name, step] of Object.entries(steps)) await run(name, () => step(client));
await run("close", async () => {
  await client.close();
  const isWritten = () => existsSync(status) && readFileSync(status, "utf8").endsWith("\n");
  for (let turn = 0; turn < 2_000 && !isWritten(); turn++) await sleep(10);
  assert.equal(readFileSync(status, "utf8").trim(), "0");
});
await run("in_order", inOrder);
rmSync(place, { recursive: true });
process.exitCode = failed ? 1 : 0;
