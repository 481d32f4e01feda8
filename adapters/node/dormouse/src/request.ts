import { AsyncLocalStorage } from "node:async_hooks";
import { resolve } from "node:path";

import { DormouseError } from "./errors.js";
import { parse, stringify } from "./json.js";
import type { Offered, Reply } from "./native.js";
import { arguments_, type CallOptions, camel, type Fields } from "./surface.js";

/** `stdout` or `stderr`. */
export type StreamName = "stdout" | "stderr";

/** Called with the stream and the text. What it throws, or its promise is rejected with, ends the run. */
export type OutputHandler = (stream: StreamName, text: string) => unknown;

/** A folder of this machine that a sandbox sees: read-only, unless it is `writable` and the `Dormouse` allows writes. */
export interface Mount {
  /** The folder. */
  readonly path: string;
  /** Whether the sandbox may write there. Default false. */
  readonly writable?: boolean | undefined;
}

/** Folders of this machine, by where the sandbox sees them: a path, which is read-only, or a {@link Mount}. */
export type Mounts = Readonly<Record<string, string | Mount>>;

/** What a function gets besides its arguments. */
export interface CallbackContext {
  /** Aborted when the run has ended and nobody waits for the answer. */
  readonly signal: AbortSignal;
}

/** A function of this program that a snippet may call. It gets the arguments by name and answers what JSON can say, or a promise. */
export type CallbackFunction = (args: any, context: CallbackContext) => unknown;

/** A function that a snippet may call, with what is said of it: `call_tool(name, ...)` in Python, `callTool(name, {...})` in JavaScript. */
export interface Callback {
  /** What is called, as a method of this object. */
  readonly function: CallbackFunction;
  /** What it is for, in a sentence. Default empty. */
  readonly description?: string | undefined;
  /** The JSON Schema of its arguments. Default: any object. */
  readonly schema?: Readonly<Record<string, unknown>> | undefined;
}

/** What a run in a persistent sandbox may say besides its code; the names are those of the tool `sandbox_eval`. */
export interface SandboxRunOptions extends CallOptions {
  /** `python` (default), `javascript`, `typescript` or `php`. */
  readonly language?: string | undefined;
  /** The file name that traces show. Default `<snippet>`. */
  readonly name?: string | undefined;
  /** Standard input, at most 8 MiB. Default empty. */
  readonly stdin?: string | Uint8Array | undefined;
  /** Wall-clock limit in milliseconds. Default 5000, from 10 to 60000. */
  readonly timeoutMs?: number | undefined;
  /** Bytes kept of each of standard output and standard error. Default and most 8 MiB; of a server 16 KiB and 48 KiB. */
  readonly outputBytes?: number | undefined;
  /** Whether the snippet may evaluate text as code. Default true. */
  readonly allowEval?: boolean | undefined;
  /**
   * Whether it may reach what the {@link Dormouse} allows (`allowNet`, `network`). A persistent sandbox has what it was made with
   * (`create({ network: "default" })`). Default false.
   */
  readonly allowNetwork?: boolean | undefined;
  /** Fixes all randomness. Default: random. */
  readonly seed?: number | bigint | undefined;
  /** Items of the outermost container of the value to skip. Default 0. */
  readonly previewOffset?: number | undefined;
  /** Items shown of each container of the value. Default and most 10000; of a server 50. */
  readonly previewItems?: number | undefined;
  /** Functions of this program that the snippet may call, by name. Not over a server. */
  readonly callbacks?: Readonly<Record<string, CallbackFunction | Callback>> | undefined;
  /** Called with `stdout` or `stderr` and the text, while the snippet runs; over a server when it is done. */
  readonly onOutput?: OutputHandler | undefined;
}

/** What a run in a fresh sandbox may say besides its code. */
export interface RunOptions extends SandboxRunOptions {
  /** Memory limit in bytes, interpreter included. Default 128 MiB, from 16 MiB to 512 MiB. */
  readonly memoryBytes?: number | undefined;
  /** Bytes of files that the run may write. Default 64 MiB. Not over a server. */
  readonly diskBytes?: number | undefined;
  /** Limit on executed operations, which is deterministic; the run is then slower. Default: off. */
  readonly fuel?: number | undefined;
  /** Environment variables. Default none. Not over a server. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The working directory. Not over a server. */
  readonly cwd?: string | undefined;
  /** Folders of this machine. Not over a server. */
  readonly mounts?: Mounts | undefined;
}

/** What an option has to be, by its name. */
const KINDS = {
  language: "string",
  name: "string",
  stdin: "text or bytes",
  timeoutMs: "integer",
  outputBytes: "integer",
  allowEval: "boolean",
  allowNetwork: "boolean",
  seed: "integer",
  previewOffset: "integer",
  previewItems: "integer",
  callbacks: "object",
  onOutput: "function",
  signal: "signal",
  memoryBytes: "integer",
  diskBytes: "integer",
  fuel: "integer",
  env: "object",
  cwd: "string",
  mounts: "object",
} as const satisfies Record<keyof RunOptions, string>;

/** What only a fresh sandbox can be asked. */
const FRESH = new Set(["memoryBytes", "diskBytes", "fuel", "env", "cwd", "mounts"]);
/** What goes another way than as JSON. */
const APART = new Set(["stdin", "callbacks", "onOutput", "mounts"]);

/** Refuses options that there are not, and values of other types. `sandbox`: whether it is for a persistent one. */
export function check(code: unknown, options: RunOptions, sandbox: boolean): void {
  if (typeof code !== "string") throw new TypeError(`\`code\` has to be a string, not ${typeof code}`);
  if (typeof options !== "object" || options === null) throw new TypeError("`options` have to be an object");
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name as keyof RunOptions] : undefined;
    if (kind === undefined || (sandbox && FRESH.has(name))) {
      const isOther = kind === undefined && Object.hasOwn(KINDS, camel(name));
      const known = isOther ? `; it is called \`${camel(name)}\` here` : "";
      const where = kind === undefined ? "" : " in a persistent sandbox: it was decided when the sandbox was created";
      throw new TypeError(`there is no option \`${name}\`${where}${known}`);
    }
    if (value !== undefined && value !== null && !isOf(kind, value)) {
      throw new TypeError(`\`${name}\` has to be ${WORDS[kind]}, not ${told(value)}`);
    }
  }
}

/** What has to be there, in words. */
const WORDS = {
  string: "a string",
  "text or bytes": "a string or a Uint8Array",
  integer: "an integer from 0 to 2^64 - 1",
  boolean: "true or false",
  object: "an object",
  function: "a function",
  signal: "an AbortSignal",
} as const;

/** A wrong value in words. */
function told(value: unknown): string {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return Array.isArray(value) ? "an array" : typeof value;
}

function isOf(kind: string, value: unknown): boolean {
  if (kind === "integer") {
    return typeof value === "bigint" ? value >= 0n && value < 1n << 64n : Number.isSafeInteger(value) && (value as number) >= 0;
  }
  if (kind === "text or bytes") return typeof value === "string" || value instanceof Uint8Array;
  if (kind === "signal") return value instanceof AbortSignal;
  return typeof value === kind && !Array.isArray(value);
}

/** Folders as the native part takes them. */
export function folders(mounts: Mounts | null | undefined): Fields[] {
  return Object.entries(mounts ?? {}).map(([target, given]) => {
    const mount: Mount = typeof given === "string" ? { path: given } : given;
    const isMount = typeof mount === "object" && mount !== null && typeof mount.path === "string";
    const known = isMount && Object.keys(mount).every((name) => name === "path" || name === "writable");
    if (!known || !["undefined", "boolean"].includes(typeof mount.writable)) {
      throw new TypeError(`the mount \`${target}\` has to be a path, or { path, writable }`);
    }
    return { source: resolve(mount.path), target, writable: mount.writable ?? false };
  });
}

/** The part of a run that is JSON. */
export function request(code: string, sandbox: string | null, options: RunOptions): Fields {
  const plain = Object.fromEntries(Object.entries(options).filter(([name]) => !APART.has(name)));
  const asked: Fields = { ...arguments_(plain), code };
  if (sandbox !== null) asked.sandbox = sandbox;
  if (options.mounts) asked.mounts = folders(options.mounts);
  return asked;
}

/** What standard input yields. */
export function standardInput(options: RunOptions): Uint8Array {
  return typeof options.stdin === "string" ? new TextEncoder().encode(options.stdin) : (options.stdin ?? new Uint8Array());
}

/** The sandboxes whose runs wait for the function that is called. */
const around = new AsyncLocalStorage<readonly string[]>();

/** Whether this is in the middle of a function that a run in a persistent sandbox waits for. */
export function isInside(): boolean {
  return (around.getStore() ?? []).length > 0;
}

/** Refuses a call of a sandbox that waits for the function which calls it: neither would ever end. */
export function refuseInside(sandbox: unknown): void {
  if (typeof sandbox === "string" && around.getStore()?.includes(sandbox)) {
    throw new DormouseError(
      "invalid_state",
      "this sandbox is in the middle of a run, which waits for the function that calls it",
      "call it when the run has ended, or give the function another sandbox",
    );
  }
}

/** The functions of a run. */
export class Functions {
  /** As the native part takes them. */
  readonly offered: Offered[];
  readonly #functions: Map<string, Callback>;
  readonly #inside: readonly string[];
  readonly #ended = new AbortController();

  constructor(options: RunOptions, sandbox: string | null) {
    const given = Object.entries(options.callbacks ?? {}).map(([name, one]) => {
      const callback: Callback = typeof one === "function" ? { function: one } : one;
      const { description = "", schema = {} } = callback ?? {};
      if (typeof callback?.function !== "function" || typeof description !== "string" || typeof schema !== "object") {
        throw new TypeError(`the callback \`${name}\` has to be a function, or { function, description, schema }`);
      }
      return [name, callback] as const;
    });
    this.#functions = new Map(given);
    this.offered = given.map(([name, { description = "", schema = { type: "object" } }]) => {
      return { name, description, schema: stringify(schema) };
    });
    this.#inside = [...(around.getStore() ?? []), ...(sandbox === null ? [] : [sandbox])];
  }

  /** Calls one, and gives its answer when it is there. */
  call(name: string, text: string, reply: Reply): void {
    void around.run(this.#inside, async () => {
      try {
        const answer = await this.#functions.get(name)?.function(parse(text), { signal: this.#ended.signal });
        reply.send(true, stringify(answer));
      } catch (fault) {
        reply.send(false, words(fault));
      }
    });
  }

  /** Tells those that still go on that nobody waits for them. */
  end(): void {
    this.#ended.abort();
  }
}

/** An exception as a snippet is told of it. */
function words(fault: unknown): string {
  try {
    return String(fault);
  } catch {
    return "an exception without a text";
  }
}
