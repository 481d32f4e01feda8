// The installed package, as its users have it. Run by the phase `dist` of `cargo xtask test`, in a folder where it is installed.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { after, test } from "node:test";

import { Dormouse, DormouseError, ObjectValue, Outcome, run, SnippetError } from "dormouse-sandbox";

const made = [];
after(() => made.forEach((folder) => rmSync(folder, { recursive: true, force: true })));
function folder() {
  made.push(mkdtempSync(join(tmpdir(), "dormouse-test-")));
  return made.at(-1);
}
/** One with a folder of state, which is closed after the test: Node.js 20 does not know `await using`. */
function lasting(context) {
  const engine = new Dormouse({ state: folder() });
  context.after(() => engine[Symbol.asyncDispose]());
  return engine;
}
const code = (wanted) => (error) => error instanceof DormouseError && error.code === wanted && error.hint !== "";

test("the first minute", async () => {
  assert.equal((await run("1+1")).value, 2);
});

test("values are JavaScript's own", async () => {
  for (const [snippet, wanted] of [
    ["None", null],
    ["True", true],
    ["2 ** 100", 2n ** 100n],
    ["-(2 ** 53)", -(2n ** 53n)],
    ["2 ** 53 - 1", Number.MAX_SAFE_INTEGER],
    ["1.5", 1.5],
    ["-0.0", -0],
    ["float('nan')", NaN],
    ["float('-inf')", -Infinity],
    ["'ä\\U0001f600'", "ä\u{1f600}"],
    ["b'\\x00\\xff'", new Uint8Array([0, 255])],
    ["[1, [2], (3,)]", [1, [2], [3]]],
    ["{'a': {1: 2}}", { a: new Map([[1, 2]]) }],
    ["{1, 2}", new Set([1, 2])],
  ]) {
    const outcome = await run(snippet);
    assert.deepStrictEqual(outcome.value, wanted, snippet);
    assert.equal(outcome.isCut, false, snippet);
  }
  const own = async (snippet) => (await run(snippet, { language: "javascript" })).value;
  assert.equal(await own("undefined"), undefined);
  assert.equal(await own("7n"), 7n);
  assert.deepStrictEqual(await own("new Map([[{}, 1], ['a', 2]]).size"), 2);
  const found = await own("new (class Point { x = 1 })()");
  assert.ok(found instanceof ObjectValue);
  assert.deepStrictEqual([found.className, found.properties], ["Point", { x: 1 }]);
});

test("SDK-11: odd values are told as what they are", async () => {
  assert.equal((await run("9007199254740993n", { language: "javascript" })).value, 2n ** 53n + 1n);
  assert.equal((await run("'\\ud800'")).value, "\ufffd");
  const keys = (await run("{float('nan'): 1, float('nan'): 2}")).value;
  assert.deepStrictEqual([...keys].map(([, value]) => value), [1, 2]);
  const hostile = (await run("{'__proto__': {'polluted': 1}, 'constructor': 2}")).value;
  assert.deepStrictEqual(Object.keys(hostile), ["__proto__", "constructor"]);
  assert.equal({}.polluted, undefined);
  assert.equal(Object.getPrototypeOf(hostile), Object.prototype);
  const out = await run("import sys; sys.stdout.buffer.write(b'a\\xffb'); sys.stdout.buffer.flush()");
  assert.equal(out.stdout, "a\ufffdb");
  const parts = [];
  await run("print('ä' * 100000)", { onOutput: (_, text) => parts.push(text) });
  assert.equal(parts.join(""), `${"ä".repeat(100_000)}\n`);
  // Integers that a number cannot hold cross in both directions.
  const seen = [];
  const echo = ({ n }) => (seen.push(n), n + 1n);
  assert.equal((await run("call_tool('echo', n=2 ** 60)", { callbacks: { echo } })).value, 2n ** 60n + 1n);
  assert.deepStrictEqual(seen, [2n ** 60n]);
});

test("what is cut is told", async () => {
  const cut = await run("list(range(10))", { previewItems: 3 });
  assert.deepStrictEqual([cut.value, cut.isCut], [[0, 1, 2], true]);
  assert.equal((await run("list(range(9000))")).value.length, 9000);
  assert.equal((await run("{'k' * 300 + str(n): n for n in range(3)}")).isCut, true);
});

test("a run ends in four ways", async () => {
  const raised = await run("def f():\n  return 1 / 0\nf()", { name: "mine.py" });
  assert.deepStrictEqual([raised.ok, raised.exitCode, raised.exception.line], [false, 1, 2]);
  assert.match(raised.exception.traceback, /mine\.py/);
  assert.throws(() => raised.value, (error) => error instanceof SnippetError && /ZeroDivisionError/.test(error.message));
  const left = await run("import sys; sys.exit(3)");
  assert.deepStrictEqual([left.exitCode, left.exception, left.error], [3, null, null]);
  assert.throws(() => left.value, /status 3/);
  assert.equal((await run("exit(0)")).value, null);
  const late = await run("while True: pass", { timeoutMs: 100 });
  assert.deepStrictEqual([late.error.code, late.exitCode, late.timedOut], ["limit_time", 124, true]);
  assert.throws(() => late.value, code("limit_time"));
});

test("outcomes survive JSON", async () => {
  const outcome = await run("{'a': (1, 2 ** 60)}");
  const again = new Outcome(JSON.parse(JSON.stringify(outcome)));
  assert.deepStrictEqual(again.value, outcome.value);
});

test("what keeps a run from starting is an error", async () => {
  for (const [options, wanted] of [
    [{ language: "cobol" }, "unknown_language"],
    [{ timeoutMs: 10 ** 9 }, "args_invalid"],
    [{ mounts: { "/data": "/nowhere/at/all" } }, "path_denied"],
    [{ mounts: { "/data": { path: "/tmp", writable: true } } }, "write_denied"],
    [{ callbacks: { "not a name": () => 1 } }, "args_invalid"],
  ]) {
    await assert.rejects(run("1", options), code(wanted), JSON.stringify(options));
  }
  for (const wrong of [
    { seed: -1 },
    { timeoutMs: "5" },
    { timeoutMs: 1.5 },
    { timeout_ms: 5 },
    { stdin: 5 },
    { callbacks: { a: 5 } },
    { mounts: { mounts: null } },
    { mounts: { mounts: { path: "/", writeable: true } } },
    { signal: {} },
    { env: [] },
    { onOutput: 5 },
    { nowhere: 1 },
    { allowEval: 1 },
    { allowNetwork: 1 },
  ]) {
    const [name] = Object.keys(wrong);
    await assert.rejects(run("1", wrong), (error) => error instanceof TypeError && error.message.includes(name === "callbacks" ? "a" : name));
  }
  await assert.rejects(run(5), TypeError);
  assert.throws(() => new Dormouse({ url: "http://127.0.0.1:1", allowWrites: true }), /allowWrites/);
  assert.throws(() => new Dormouse({ token: "x" }), /url/);
  for (const wrong of [{ stat: "x" }, { state: "" }, { maxRunning: 0 }, { ready: -1 }, { allowNet: "a.test" }, { secrets: [1] }, { network: 5 }]) {
    assert.throws(() => new Dormouse(wrong), (error) => error instanceof TypeError && error.message.includes(Object.keys(wrong)[0]));
  }
  assert.throws(() => new Dormouse(null), TypeError);
  await assert.rejects(run("1", null), TypeError);
});

test("a run reaches what the program allows, and nothing else", async (context) => {
  const server = createServer((_, answer) => answer.end("hello"));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  context.after(() => server.closeAllConnections() ?? server.close());
  const { port } = server.address();
  const place = folder();
  const [network, networkAudit] = ["net.toml", "audit.jsonl"].map((name) => join(place, name));
  writeFileSync(network, `[[profile.default.allow]]\nhost = "127.0.0.1"\nport = ${port}\nprotocol = "http"\n`);
  const asks = `await (await fetch("http://127.0.0.1:${port}/")).text()`;
  const [off, on] = [{ language: "javascript" }, { language: "javascript", allowNetwork: true }];
  const engine = new Dormouse({ state: join(place, "state"), network, networkAudit });
  context.after(() => engine.close());
  assert.equal((await engine.run("1")).network, null);
  assert.equal((await engine.run(asks, off)).ok, false);
  const outcome = await engine.run(asks, on);
  assert.deepEqual([outcome.value, outcome.network.requests, outcome.network.denied], ["hello", 1, []]);
  const made = await engine.create({ name: "lasting", network: "default" });
  assert.equal((await made.run(asks, off)).value, "hello");
  await assert.rejects((await engine.sandbox("without")).run(asks, on), code("network_denied"));
  assert.equal(readFileSync(networkAudit, "utf8").split('"event":"sent"').length, 3);
  const denied = await new Dormouse({ allowNet: ["other.test"] }).run(asks, on);
  assert.equal(denied.network.denied[0].reason, "host");
  await assert.rejects(run(asks, on), (error) => error.code === "network_denied" && error.hint.includes("allowNet"));
  await assert.rejects(new Dormouse({ secrets: ["K=env:HOME@a.test"] }).run("1"), code("args_invalid"));
});

test("fuel and seed", async () => {
  const once = async () => (await run("import random; random.random()", { seed: 2n ** 63n })).value;
  assert.equal(await once(), await once());
});

test("functions of the program", async () => {
  const callbacks = {
    add: ({ a, b = 1 }) => a + b,
    later: {
      mark: "!",
      async function({ text }) {
        await sleep(10);
        return text.toUpperCase() + this.mark;
      },
      description: "In capitals.",
    },
    wrong: () => {
      throw new RangeError("no such item");
    },
    odd: () => () => 1,
  };
  const many = "[call_tool('add', a=1), call_tool('add', a=1, b=5), call_tool('later', text='x'), call_tool('odd')]";
  assert.deepStrictEqual((await run(many, { callbacks })).value, [2, 6, "X!", null]);
  const outcome = await run("call_tool('wrong')", { callbacks });
  assert.match(outcome.exception.message, /RangeError: no such item/);
  const own = await run("await callTool('later', { text: 'y' })", { callbacks, language: "javascript" });
  assert.equal(own.value, "Y!");
  // Nobody waits any more when the run has ended.
  const given = [];
  const slow = async (_, { signal }) => (given.push(signal), await sleep(5_000, null, { signal, ref: false }));
  await run("call_tool('slow')", { callbacks: { slow }, timeoutMs: 300 });
  assert.equal(given[0].aborted, true);
});

test("SDK-12: a call within a function that a snippet calls", async (context) => {
  const inner = async () => (await run("20 + 1")).value;
  assert.equal((await run("2 * call_tool('inner')", { callbacks: { inner } })).value, 42);
  const engine = lasting(context);
  const [box, other] = [await engine.sandbox("box"), await engine.sandbox("other")];
  const found = [];
  const within = async () => {
    found.push((await other.run("7")).value);
    await box.run("1").catch((error) => found.push(error.code));
    await box.exec("true").catch((error) => found.push(error.code));
  };
  await box.run("x = 1\ncall_tool('within')", { callbacks: { within } });
  assert.deepStrictEqual([found, (await box.run("x")).value], [[7, "invalid_state", "invalid_state"], 1]);
});

test("output is told while it is written", async () => {
  const told = [];
  const snippet = "import sys\nprint('a', flush=True)\nprint('b', file=sys.stderr)\ncall_tool('mark')\nprint('c')";
  const mark = () => void told.push(["mark", ""]);
  await run(snippet, { callbacks: { mark }, onOutput: (...piece) => told.push(piece) });
  assert.deepStrictEqual(told.filter(([stream]) => stream !== "stderr"), [["stdout", "a\n"], ["mark", ""], ["stdout", "c\n"]]);
  const broken = () => {
    throw new Error("the reader is broken");
  };
  await assert.rejects(run("print(1)", { onOutput: broken }), /the reader is broken/);
});

test("output can be iterated, and leaving the loop ends the run", async () => {
  const engine = new Dormouse();
  const running = engine.stream("for n in range(3): print(n, flush=True)\n42");
  let text = "";
  for await (const piece of running) text += piece.text;
  assert.deepStrictEqual([text, (await running.outcome).value], ["0\n1\n2\n", 42]);
  const endless = engine.stream("import time\nwhile True: print('x', flush=True); time.sleep(0.01)", { timeoutMs: 60_000 });
  for await (const _ of endless) break;
  await assert.rejects(endless.outcome, { name: "AbortError" });
  await assert.rejects(async () => {
    for await (const _ of engine.stream("1", { language: "cobol" }));
  }, code("unknown_language"));
});

test("SDK-07: an aborted signal ends the run, and its sandbox is as before it", async (context) => {
  const engine = lasting(context);
  const box = await engine.sandbox("box");
  await box.run("x = 1");
  const begun = Date.now();
  const signal = AbortSignal.timeout(300);
  await assert.rejects(box.run("x = 2\nwhile True: pass", { timeoutMs: 60_000, signal }), { name: "TimeoutError" });
  assert.equal((await box.run("x")).value, 1);
  assert.ok(Date.now() - begun < 20_000);
  await assert.rejects(box.run("1", { signal }), { name: "TimeoutError" });
  await assert.rejects(box.exec("sleep 30", { signal: AbortSignal.timeout(200) }), { name: "TimeoutError" });
});

test("SDK-09: a thousand calls at once", async () => {
  const all = Array.from({ length: 1000 }, (_, number) => run(`${number} * 2`, { timeoutMs: 60_000 }));
  assert.deepStrictEqual((await Promise.all(all)).map((outcome) => outcome.value), all.map((_, number) => number * 2));
});

test("folders, standard input, environment", async () => {
  const here = folder();
  writeFileSync(join(here, "a"), "x");
  assert.equal((await run("open('/data/a').read()", { mounts: { "/data": here } })).value, "x");
  assert.ok((await run("open('/data/b', 'w')", { mounts: { "/data": here } })).exception);
  const engine = new Dormouse({ allowWrites: true });
  const mounts = { "/data": { path: here, writable: true } };
  assert.equal((await engine.run("open('/data/b', 'w').write('y')", { mounts })).value, 1);
  assert.equal(readFileSync(join(here, "b"), "utf8"), "y");
  const asked = "import os, sys; (os.environ['A_B'], sys.stdin.read(), os.getcwd())";
  const options = { env: { A_B: "1" }, stdin: new TextEncoder().encode("in"), cwd: "/tmp" };
  assert.deepStrictEqual((await run(asked, options)).value, ["1", "in", "/tmp"]);
});

test("SDK-11: what would become something else is refused", async () => {
  await assert.rejects(run("'\ud800'"), /half a character/);
  const told = async (answer, snippet = "call_tool('f')") => (await run(snippet, { callbacks: { f: () => answer } })).exception?.message;
  for (const [answer, why] of [[2n ** 70n, /64 bits/], [new Map(), /Map/], [new Uint8Array(1), /Uint8Array/], ["\ud800", /half a character/]]) {
    assert.match(await told(answer), why);
  }
});

test("SDK-15: runs whose functions run snippets do not wait for each other", async () => {
  // As many again as may run at one time may wait.
  for (const [engine, many] of [[new Dormouse(), 120], [new Dormouse({ maxRunning: 1 }), 20]]) {
    const f = async () => (await sleep(50), (await engine.run("5")).value);
    const runs = Array.from({ length: many }, () => engine.run("call_tool('f')", { timeoutMs: 30_000, callbacks: { f } }));
    assert.deepStrictEqual((await Promise.all(runs)).map((outcome) => outcome.value), runs.map(() => 5));
  }
  // Nor do runs that only wait hold up others.
  const engine = new Dormouse({ maxRunning: 2 });
  const waits = [1, 2].map(() => engine.run("call_tool('f')", { timeoutMs: 30_000, callbacks: { f: () => sleep(3_000) } }));
  await sleep(300);
  const begun = Date.now();
  await engine.run("1");
  assert.ok(Date.now() - begun < 2_000);
  await Promise.all(waits);
});

test("SDK-16: output that nobody reads does not pile up", async () => {
  const engine = new Dormouse();
  const before = process.memoryUsage().rss;
  for (let time = 0; time < 60; time++) {
    for await (const _ of engine.stream("while True: print('x' * 100)", { timeoutMs: 2_000 })) break;
  }
  assert.ok(process.memoryUsage().rss - before < 400 << 20, `${(process.memoryUsage().rss - before) >> 20} MiB`);
  let calls = 0;
  const controller = new AbortController();
  const onOutput = () => (calls++, controller.abort());
  await assert.rejects(engine.run("while True: print('x' * 100)", { onOutput, signal: controller.signal }), { name: "AbortError" });
  await sleep(100);
  assert.equal(calls, 1);
});

test("a reader of output that is asynchronous, and a second reader", async () => {
  const engine = new Dormouse();
  const broken = async () => {
    throw new Error("the reader is broken");
  };
  await assert.rejects(engine.run("print(1)", { onOutput: broken }), /the reader is broken/);
  const running = engine.stream("import time\nprint(1, flush=True)\ntime.sleep(30)", { timeoutMs: 60_000 });
  const reader = running[Symbol.asyncIterator]();
  assert.throws(() => running[Symbol.asyncIterator](), TypeError);
  await reader.next();
  const waits = reader.next();
  await reader.return();
  assert.equal((await waits).done, true);
  await assert.rejects(running.outcome, { name: "AbortError" });
});

test("calls of one sandbox are carried out in their order", async (context) => {
  const box = await lasting(context).sandbox("box");
  const all = Array.from({ length: 30 }, (_, number) => box.exec(`echo ${number} >> f`));
  await Promise.all(all);
  assert.equal((await box.exec("echo $(cat f)")).stdout.trim(), all.map((_, number) => number).join(" "));
  for (let round = 0; round < 10; round++) {
    await Promise.all([box.run("v = 1"), box.run("v = 2"), box.run("v = 3")]);
    assert.equal((await box.run("v")).value, 3);
  }
});

test("SDK-17: options name neither another sandbox nor another argument", async (context) => {
  const engine = lasting(context);
  const [box, other] = [await engine.sandbox("box"), await engine.sandbox("other")];
  for (const wrong of [{ sandbox: "other" }, { sessionKey: "x" }, { command: "echo hi" }, { timeout_ms: 5 }]) {
    await assert.rejects(box.exec("true", wrong), TypeError, JSON.stringify(wrong));
    await assert.rejects(box.destroy(wrong), TypeError);
  }
  assert.equal((await other.get()).name, "other");
  assert.deepStrictEqual((await engine.create({ sessionKey: "k" })).answer.ignored ?? [], []);
  assert.deepStrictEqual((await engine.create({ sessionKey: "k", memoryBytes: 64 << 20 })).answer.ignored, ["memory_bytes"]);
});

test("errors say what to do in a program", async (context) => {
  const hint = async (call) => call.then(() => "", (error) => error.hint);
  assert.match(await hint(new Dormouse().sandbox("x")), /`state`/);
  const box = await lasting(context).sandbox("box");
  assert.match(await hint(box.restore("nowhere")), /`listCheckpoints`/);
  assert.match(await hint(run("1", { timeoutMs: 0 })), /`maxTimeoutMs`/);
  assert.match(await hint(run("1", { mounts: { "/m": { path: "/tmp", writable: true } } })), /`allowWrites`/);
  assert.match(await hint(box.install({ packages: ["attrs"] })), /dormouse serve/);
});

test("a file is written from every kind of buffer, and from nothing else", async (context) => {
  const box = await lasting(context).sandbox("box");
  await box.writeBytes("/workspace/a", new Uint16Array([300, 1]));
  assert.deepStrictEqual(await box.readBytes("/workspace/a"), new Uint8Array([44, 1, 1, 0]));
  await box.writeBytes("/workspace/a", new TextEncoder().encode("abc").buffer);
  assert.equal(Buffer.from(await box.readBytes("/workspace/a")).toString(), "abc");
  await assert.rejects(box.writeBytes("/workspace/a", "text"), TypeError);
});

test("a Dormouse is closed while something runs", async () => {
  const engine = new Dormouse({ state: folder() });
  const box = await engine.sandbox("box");
  await box.run("x = 1");
  const endless = box.run("x = 2\nwhile True: pass", { timeoutMs: 60_000 });
  await sleep(200);
  const [closing, late] = [engine.close({ abort: true }), box.run("x")];
  await assert.rejects(late, code("invalid_state"));
  await assert.rejects(endless, (error) => error.code === "cancelled");
  await closing;
  await engine.close();
});
