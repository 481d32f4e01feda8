// The installed package where it lasts: state, processes, threads, installations, servers. As package.test.mjs.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync, chmodSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";

import { Dormouse, DormouseError } from "dormouse-sandbox";

const require = createRequire(import.meta.url);
const PACKAGE = dirname(require.resolve("dormouse-sandbox/package.json"));
const PLATFORM = dirname(createRequire(join(PACKAGE, "package.json")).resolve("dormouse-sandbox-linux-x64-gnu/package.json"));
const HERE = dirname(dirname(PACKAGE));

const made = [];
after(() => made.forEach((folder) => rmSync(folder, { recursive: true, force: true })));
function folder() {
  made.push(mkdtempSync(join(tmpdir(), "dormouse-test-")));
  return made.at(-1);
}
const code = (wanted) => (error) => error instanceof DormouseError && error.code === wanted && error.hint !== "";

/** Another process of this Node.js. */
function child(program, { env = {}, cwd = HERE, words = [], input = `import { Dormouse, DormouseError, run } from "dormouse-sandbox";\n${program}` } = {}) {
  const environment = Object.fromEntries(Object.entries({ ...process.env, ...env }).filter(([, value]) => value !== undefined));
  return spawnSync(process.execPath, [...words, "--input-type=module", "-"], { input, env: environment, cwd, encoding: "utf8", timeout: 120_000 });
}
function says(ran, wanted) {
  assert.deepStrictEqual([ran.stdout, ran.status, ran.signal], [wanted, 0, null], ran.stderr);
}

test("a sandbox lasts from call to call and from process to process", async () => {
  const state = folder();
  const engine = new Dormouse({ state });
  const box = await engine.sandbox("box");
  await box.run("x = 40");
  const bytes = new Uint8Array(2_560_000).map((_, place) => place % 256);
  await box.writeBytes("/workspace/a.bin", bytes);
  assert.deepStrictEqual(await box.readBytes("/workspace/a.bin"), bytes);
  assert.equal((await box.exec("echo hi; exit 3")).exitCode, 3);
  assert.ok((await box.files()).entries.some((one) => one.path.endsWith("a.bin")));
  const [listed] = (await engine.list()).sandboxes;
  assert.deepStrictEqual([listed.name, typeof listed.limits.memoryBytes], ["box", "number"]);
  await engine.close();
  await assert.rejects(engine.run("1"), code("invalid_state"));
  const program = (snippet) => `console.log((await (await new Dormouse({ state: ${JSON.stringify(state)} }).sandbox("box")).run("${snippet}")).value)`;
  says(child(program("x + 2")), "42\n");
  // That process has saved what it did at its end.
  says(child(program("x = 1; x")), "1\n");
  says(child(program("x + 2")), "3\n");
  says(child(`${program("x = 5; x")}; process.exit(0)`), "5\n");
  says(child(program("x + 2")), "7\n");
});

test("checkpoints, forks, variables and the end", async (context) => {
  const engine = new Dormouse({ state: folder() });
  context.after(() => engine.close());
  const box = await engine.create({ name: "box", memoryBytes: 256 << 20 });
  await box.run("x = [1]");
  const mark = await box.checkpoint({ note: "before" });
  assert.equal((await box.listCheckpoints()).checkpoints[0].note, "before");
  await box.run("x.append(2)");
  const [first, second] = await box.fork(2);
  await first.run("x.append(3)");
  assert.deepStrictEqual((await second.run("x")).value, [1, 2]);
  await box.restore(mark.id);
  assert.deepStrictEqual((await box.run("x")).value, [1]);
  const variable = await box.getVar("x");
  assert.deepStrictEqual([variable.result.type, variable.result.is_list], ["array", true]);
  await assert.rejects(engine.create({ name: "box" }), code("name_taken"));
  await assert.rejects(engine.create({ nowhere: 1 }), /nowhere/);
  await assert.rejects(box.run("1", { memoryBytes: 64 << 20 }), /memoryBytes/);
  await box.destroy();
  await assert.rejects(box.get(), code("unknown_sandbox"));
  await assert.rejects(new Dormouse().sandbox("x"), (error) => error.hint !== "");
});

test("a sandbox that many ask for at once is made once", async (context) => {
  const engine = new Dormouse({ state: folder() });
  context.after(() => engine.close());
  const found = await Promise.all(Array.from({ length: 20 }, () => engine.sandbox("same")));
  assert.equal(new Set(found.map((box) => box.id)).size, 1);
});

test("a file is written whole or not at all", async (context) => {
  const engine = new Dormouse({ state: folder() });
  context.after(() => engine.close());
  const box = await engine.create({ name: "box", diskBytes: 1 << 20 });
  await box.writeBytes("/workspace/a", Buffer.from("old"));
  await assert.rejects(box.writeBytes("/workspace/a", new Uint8Array(2 << 20)), code("limit_disk"));
  assert.equal(Buffer.from(await box.readBytes("/workspace/a")).toString(), "old");
  assert.ok(!(await box.files()).entries.some((one) => one.path.includes("part")));
});

test("SDK-18: a folder of state on a full disk loses nothing that its program can still save", async (context) => {
  const state = folder();
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", state]);
  if (mounted.status !== 0) return context.skip("only root can mount a small disk");
  context.after(() => spawnSync("umount", ["--lazy", state]));
  const engine = new Dormouse({ state });
  const box = await engine.create({ name: "box", durability: "call" });
  await box.run("n = 1");
  const filler = join(state, "filler");
  spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=64k"]);
  const full = await box.run("big = __import__('os').urandom(6_000_000); n = 2; n");
  assert.deepStrictEqual([full.value, full.unsaved?.code], [2, "state_unavailable"]);
  await assert.rejects(engine.close(), code("state_unavailable"));
  rmSync(filler);
  assert.equal((await box.run("n")).value, 2);
  await engine.close();
  const again = new Dormouse({ state });
  assert.equal((await (await again.sandbox("box")).run("n")).value, 2);
  await again.close();
});

test("SDK-08: what is collected takes nothing with it", () => {
  const state = folder();
  const program = `
    let engine = new Dormouse({ state: ${JSON.stringify(state)} });
    await (await engine.sandbox("box")).run("x = 2");
    engine = undefined;
    for (let i = 0; i < 20; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 10)); }
    await using_again();
    async function using_again() {
      const again = new Dormouse({ state: ${JSON.stringify(state)} });
      console.log((await (await again.sandbox("box")).run("x")).value);
    }`;
  says(child(program, { words: ["--expose-gc"] }), "2\n");
});

test("SDK-06: the end of the program during a run, a callback, a wait", () => {
  const state = JSON.stringify(folder());
  for (const [program, wanted] of [
    // What a call promises keeps the program alive; nothing else of the engine does.
    [`await run("1"); console.log("end")`, "end\n"],
    [`void run("6 * 7").then((outcome) => console.log(outcome.value))`, "42\n"],
    [`void run("while True: pass", { timeoutMs: 60_000 }); setTimeout(() => { console.log("end"); process.exit(); }, 300)`, "end\n"],
    [`void run("call_tool('f')", { timeoutMs: 60_000, callbacks: { f: () => process.exit() } })`, ""],
    [`void run("while True: print(1)", { onOutput: () => {} }); setTimeout(() => process.exit(), 200)`, ""],
    [`const box = await new Dormouse({ state: ${state} }).sandbox("box"); await box.run("x = 1");
      void box.run("x = 2; call_tool('f')", { timeoutMs: 60_000, callbacks: { f: () => process.exit() } })`, ""],
    [`console.log((await (await new Dormouse({ state: ${state} }).sandbox("box")).run("x")).value)`, "1\n"],
  ]) {
    const begun = Date.now();
    says(child(program), wanted);
    assert.ok(Date.now() - begun < 30_000, program);
  }
});

test("SDK-10: a signal ends the program, and harms nothing of what is saved", async () => {
  const state = folder();
  const program = `import { Dormouse } from "dormouse-sandbox";
    const box = await new Dormouse({ state: ${JSON.stringify(state)} }).create({ name: "box", durability: "call" });
    await box.run("x = 1");
    console.log("begun");
    await box.run("x = 2\\nwhile True: pass", { timeoutMs: 60_000 });`;
  const ran = spawn(process.execPath, ["--input-type=module", "--eval", program], { cwd: HERE, stdio: ["ignore", "pipe", "inherit"] });
  await once(ran.stdout, "data");
  await sleep(200);
  ran.kill("SIGINT");
  const [, signal] = await once(ran, "exit");
  assert.equal(signal, "SIGINT");
  const engine = new Dormouse({ state });
  assert.equal((await (await engine.sandbox("box")).run("x")).value, 1);
  await engine.close();
});

test("SDK-13: worker threads have engines of their own, and may end in the middle of a run", async () => {
  const program = (ending) => `
    const { parentPort } = require("node:worker_threads");
    import("dormouse-sandbox").then(async ({ run }) => {
      parentPort.postMessage((await run("20 + 1", { callbacks: { f: () => 1 } })).value);
      ${ending}
    });`;
  const path = join(HERE, "worker-of-a-test.cjs");
  for (const ending of ["", `run("while True: pass", { timeoutMs: 60_000 })`, `run("call_tool('f')", { timeoutMs: 60_000, callbacks: { f: () => new Promise(() => {}) } })`]) {
    writeFileSync(path, program(ending));
    const workers = Array.from({ length: 4 }, () => new Worker(path));
    const told = await Promise.all(workers.map((worker) => once(worker, "message")));
    assert.deepStrictEqual(told.flat(), [21, 21, 21, 21]);
    await sleep(50);
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  rmSync(path);
  const engine = new Dormouse();
  assert.equal((await engine.run("1 + 1")).value, 2);
});

test("two processes on one folder", async (context) => {
  const state = folder();
  const engine = new Dormouse({ state });
  context.after(() => engine.close());
  await (await engine.sandbox("mine")).run("x = 1");
  const program = `const engine = new Dormouse({ state: ${JSON.stringify(state)} });
    console.log((await (await engine.sandbox("other")).run("2")).value); await engine.close();`;
  says(child(program), "2\n");
  assert.equal((await (await engine.sandbox("mine")).run("x")).value, 1);
});

test("SDK-04: no home, a read-only one and no cache", () => {
  const program = `console.log((await run("1 + 1")).value)`;
  says(child(program, { env: { HOME: undefined, XDG_CACHE_HOME: undefined, DORMOUSE_CACHE_DIR: undefined } }), "2\n");
  // Nobody can make a folder there, not even root.
  for (const home of ["/proc", "/dev/null", "/proc/nowhere"]) {
    says(child(program, { env: { HOME: home, XDG_CACHE_HOME: "", DORMOUSE_CACHE_DIR: "" } }), "2\n");
  }
});

/** The packages in another place. */
function copied() {
  const place = folder();
  mkdirSync(join(place, "node_modules"));
  const names = [[PACKAGE, "dormouse-sandbox"], [PLATFORM, "dormouse-sandbox-linux-x64-gnu"]];
  const filter = (from) => from !== join(PACKAGE, "node_modules");
  for (const [one, name] of names) cpSync(one, join(place, "node_modules", name), { recursive: true, filter });
  return { place, platform: join(place, "node_modules/dormouse-sandbox-linux-x64-gnu") };
}
const files = (below) => readdirSync(below, { recursive: true, encoding: "utf8" }).map((name) => join(below, name));
const told = `try { console.log((await run("1 + 1")).value) } catch (error) { console.log(error.code, error.hint, error.causes.length) }`;

test("SDK-02: two installations side by side, and files that a group may write", () => {
  const { place, platform } = copied();
  for (const path of files(platform)) chmodSync(path, statSync(path).mode | 0o020);
  says(child(told, { cwd: place }), "2\n");
  says(child(told), "2\n");
});

test("SDK-03: a damaged installation is told", () => {
  const { place, platform } = copied();
  for (const path of files(platform).filter((name) => name.endsWith(".cwasm"))) {
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1] ^= 1;
    writeFileSync(path, bytes);
  }
  const home = { HOME: folder(), XDG_CACHE_HOME: "", DORMOUSE_CACHE_DIR: "" };
  assert.match(child(told, { cwd: place, env: home }).stdout, /^guest_missing .*install/);
});

test("SDK-14: parts of different releases, and parts that are missing, are refused", () => {
  const { place, platform } = copied();
  const about = join(platform, "package.json");
  const package_ = JSON.parse(readFileSync(about, "utf8"));
  writeFileSync(about, JSON.stringify({ ...package_, version: "9.9.9" }));
  assert.match(child(told, { cwd: place }).stdout, /^version_mismatch install both in the same version/);
  writeFileSync(about, JSON.stringify(package_));
  const library = join(platform, "release/lib/dormouse");
  const [release] = readdirSync(library);
  renameSync(join(library, release), join(library, "9.9.9"));
  assert.match(child(told, { cwd: place }).stdout, /^version_mismatch install both in the same version/);
  writeFileSync(join(platform, "dormouse.node"), "no library");
  assert.match(child(told, { cwd: place }).stdout, /^capability_unavailable .*glibc.* 1\n$/);
  rmSync(platform, { recursive: true });
  assert.match(child(told, { cwd: place }).stdout, /^capability_unavailable install it in the version/);
  const line = spawnSync(process.execPath, [join(place, "node_modules/dormouse-sandbox/dist/cli.js"), "eval", "1"], { encoding: "utf8" });
  assert.match(line.stderr, /is not installed[^]*hint: /);
  assert.equal(line.status, 1);
});

test("the command line", async () => {
  for (const name of ["dormouse", "dormouse-sandbox"]) {
    const program = join(HERE, "node_modules/.bin", name);
    const ran = spawnSync(program, ["eval", "6 * 7"], { encoding: "utf8" });
    assert.deepStrictEqual([ran.stdout, ran.status], ["42\n", 0], ran.stderr);
    assert.equal(spawnSync(program, ["eval", "exit(3)"]).status, 3);
  }
  // What ends it ends the program as well.
  const program = spawn(join(HERE, "node_modules/.bin/dormouse"), ["eval", "--timeout", "60s", "while True: pass"], { stdio: "ignore" });
  await sleep(500);
  program.kill("SIGINT");
  assert.deepStrictEqual(await once(program, "exit"), [130, null]);
});

test("the same calls over a server", async (context) => {
  const place = folder();
  writeFileSync(join(place, "tokens"), "somebody secret-token-of-a-test\n", { mode: 0o600 });
  const words = ["serve", "--listen", "127.0.0.1:0", "--state-dir", join(place, "state"), "--token-file", join(place, "tokens")];
  const server = spawn(join(PLATFORM, "release/bin/dormouse"), words, { stdio: ["ignore", "pipe", "ignore"] });
  context.after(async () => {
    server.kill("SIGTERM");
    await once(server, "exit");
  });
  // It says its address on a line of its own, before anything else.
  const [url] = await once(createInterface(server.stdout), "line");
  const engine = new Dormouse({ url, token: "secret-token-of-a-test" });
  assert.equal((await engine.run("1+1")).value, 2);
  assert.equal((await engine.run("2 ** 70")).value, 2n ** 70n);
  assert.equal((await engine.run("while True: pass", { timeoutMs: 100 })).error.code, "limit_time");
  const box = await engine.sandbox("bo x");
  await box.run("x = 40");
  assert.equal((await (await engine.sandbox("bo x")).run("x + 2")).value, 42);
  await box.writeBytes("/workspace/a", new Uint8Array([0, 255]));
  assert.deepStrictEqual(await box.readBytes("/workspace/a"), new Uint8Array([0, 255]));
  assert.equal((await box.exec("wc -c < a")).stdout.trim(), "2");
  const mark = await box.checkpoint();
  await box.run("x = 0");
  await box.restore(mark.id);
  const [twin] = await box.fork();
  assert.equal((await twin.run("x")).value, 40);
  assert.equal((await box.files({ recursive: true, limit: 1 })).entries.length, 1);
  const pieces = [];
  await box.run("print('said')", { onOutput: (...piece) => pieces.push(piece) });
  assert.deepStrictEqual(pieces, [["stdout", "said\n"]]);
  await assert.rejects(engine.run("1", { callbacks: { f: () => 1 } }), code("capability_unavailable"));
  await assert.rejects(engine.run("1", { language: "cobol" }), code("unknown_language"));
  await assert.rejects(box.run("while True: pass", { timeoutMs: 60_000, signal: AbortSignal.timeout(300) }), { name: "TimeoutError" });
  assert.equal((await box.run("6 * 7")).value, 42);
  for (const one of [box, twin]) await one.destroy();
  await assert.rejects(new Dormouse({ url, token: "wrong" }).run("1"), code("unauthorized"));
  await assert.rejects(new Dormouse({ url: "http://127.0.0.1:9" }).run("1"), (error) => code("provider_unavailable")(error) && error.causes.length > 0);
  assert.throws(() => new Dormouse({ url: "ftp://x" }), code("args_invalid"));
});

test("the quick start is true", () => {
  for (const [page, most] of [[join(PACKAGE, "README.md"), 5], [join(HERE, "node.md"), 3], [join(HERE, "README.md"), 1]]) {
    const blocks = [...readFileSync(page, "utf8").matchAll(/```js\n([^]*?)```/g)];
    assert.ok(blocks.length >= most, page);
    for (const [, block] of blocks) says(child("", { input: block }), "");
  }
});
