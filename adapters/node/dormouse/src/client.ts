import { randomBytes } from "node:crypto";
import { resolve } from "node:path";

import type { CreateAnswer, ForkAnswer, ReadAnswer, WriteAnswer } from "./answers.js";
import { DormouseError } from "./errors.js";
import { Outcome } from "./outcome.js";
import { Remote } from "./remote.js";
import { check, folders, type Mounts, type RunOptions, type SandboxRunOptions } from "./request.js";
import { Running } from "./running.js";
import { arguments_, type CallOptions, camel, type Fields, renamed, type Shape } from "./surface.js";
import { type CloseOptions, Local, type Transport } from "./transport.js";
import { type CreateOptions, DormouseVerbs, SandboxVerbs, SHAPES } from "./verbs.js";

/** Bytes of a file that one call moves. */
const PIECE = 1 << 16;
/** How often a sandbox is made that somebody else makes, and ends, at the same time. */
const TRIES = 3;

/** How a {@link Dormouse} is set up. */
export interface DormouseOptions {
  /** Folder in which persistent sandboxes lie. Default: there are none. */
  readonly state?: string | undefined;
  /** Folder of compiled code. Default: the user's cache folder. */
  readonly cache?: string | undefined;
  /** Folders of this machine that every sandbox sees. Default none. */
  readonly mounts?: Mounts | undefined;
  /** Whether a folder may be mounted for writing. Default false. */
  readonly allowWrites?: boolean | undefined;
  /** File of rules of the network (docs/reference/network.md). Default: none. */
  readonly network?: string | undefined;
  /**
   * Hosts that may be reached by https, each as `HOST` or `HOST:PORT`: by runs with `allowNetwork`, and by sandboxes that were made with
   * `network: "default"`. Default none.
   */
  readonly allowNet?: readonly string[] | undefined;
  /**
   * Keys that leave this process only for the host they are for, each as `NAME=env:VAR@HOST`. A sandbox sees a placeholder in its variable
   * `NAME`. Default none.
   */
  readonly secrets?: readonly string[] | undefined;
  /** File to which each request that leaves a sandbox is written down. Default: `network.jsonl` in `state`, or none without one. */
  readonly networkAudit?: string | undefined;
  /** Unused instances kept ready for each language that has run. Default 0. */
  readonly ready?: number | undefined;
  /** Runs at one time, from 1; more wait. Default 64. */
  readonly maxRunning?: number | undefined;
  /** The longest time limit that a run can ask for, in milliseconds. Default 60000. */
  readonly maxTimeoutMs?: number | undefined;
  /** The largest memory limit that a run can ask for, in bytes. Default 512 MiB. */
  readonly maxMemoryBytes?: number | undefined;
  /** A server (`dormouse serve`) instead of this process; nothing but `token` is said then. */
  readonly url?: string | undefined;
  /** The owner's token at the server. */
  readonly token?: string | undefined;
}

/** What of them a server decides. */
const OF_AN_ENGINE = [
  "state",
  "cache",
  "mounts",
  "allowWrites",
  "network",
  "allowNet",
  "secrets",
  "networkAudit",
  "ready",
  "maxRunning",
  "maxTimeoutMs",
  "maxMemoryBytes",
] as const satisfies readonly (keyof DormouseOptions)[];

/** Options that are paths, as the engine calls them, and of what. */
const PATHS = [
  ["state", "folder"],
  ["cache", "folder"],
  ["network", "file"],
  ["network_audit", "file"],
] as const;

/** The least that options can be. */
const LEAST = [
  ["ready", 0],
  ["maxRunning", 1],
  ["maxTimeoutMs", 10],
  ["maxMemoryBytes", 16 << 20],
] as const satisfies readonly (readonly [keyof DormouseOptions, number])[];

function transport(options: DormouseOptions): Transport {
  if (typeof options !== "object" || options === null) throw new TypeError("`options` have to be an object");
  const { url, token, ...here } = options;
  const native = arguments_(here, OF_AN_ENGINE);
  if (url !== undefined) {
    const [decided] = Object.keys(native);
    if (decided !== undefined) throw new TypeError(`\`${camel(decided)}\` is the server's to decide: leave it out with \`url\``);
    return new Remote(url, token);
  }
  if (token !== undefined) throw new TypeError("`token` is for a server: name it with `url`");
  for (const [name, what] of PATHS) {
    const path = native[name];
    if (path === undefined) continue;
    if (typeof path !== "string" || path === "") throw new TypeError(`\`${camel(name)}\` has to be the path of a ${what}`);
    native[name] = resolve(path);
  }
  for (const name of ["allowNet", "secrets"] as const) {
    const words: unknown = here[name];
    if (words !== undefined && !(Array.isArray(words) && words.every((word) => typeof word === "string"))) {
      throw new TypeError(`\`${name}\` has to be an array of strings`);
    }
  }
  for (const [name, least] of LEAST) {
    const value = here[name];
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= least)) {
      throw new TypeError(`\`${name}\` has to be an integer from ${least}, not ${value}`);
    }
  }
  if (here.mounts) native.mounts = folders(here.mounts);
  return new Local(native);
}

/**
 * Sandboxes: in this process, or those of a server.
 *
 * Make one when the program starts and keep it. Use it with `await using`, or call {@link Dormouse.close}, where it has a folder of
 * state. Each worker thread has its own. Several may have the same folder of state; a sandbox is used by one at a time.
 */
export class Dormouse extends DormouseVerbs implements AsyncDisposable {
  readonly #transport: Transport;

  constructor(options: DormouseOptions = {}) {
    super();
    this.#transport = transport(options);
  }

  /**
   * Runs a snippet in a fresh sandbox; the value of its last expression comes back.
   *
   * @throws {@link DormouseError} for what kept it from being run. What the snippet does itself, exceptions and limits included, is
   * told by the {@link Outcome}.
   */
  async run<T = unknown>(code: string, options: RunOptions = {}): Promise<Outcome<T>> {
    check(code, options, false);
    return new Outcome<T>(await this.#transport.run(code, null, options));
  }

  /** The same, with its output while it runs. */
  stream<T = unknown>(code: string, options: RunOptions = {}): Running<T> {
    return streamed((also) => this.run<T>(code, { ...options, ...also }), options);
  }

  /** The persistent sandbox of that name, made if it is not there. {@link Dormouse.create} makes one with other limits. */
  async sandbox(name: string, options: CallOptions = {}): Promise<Sandbox> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#found("sandbox_get", { sandbox: name }, options.signal);
      } catch (error) {
        if (!isCode(error, "unknown_sandbox")) throw error;
      }
      try {
        return await this.#found("sandbox_create", { name }, options.signal);
      } catch (error) {
        // Somebody else has just made it.
        if (!isCode(error, "name_taken") || tries === TRIES) throw error;
      }
    }
  }

  override async create(options: CreateOptions = {}): Promise<Sandbox> {
    return new Sandbox(this, (await this.asked("sandbox_create", {}, options)) as CreateAnswer);
  }

  /**
   * Saves all sandboxes, and lets go of them. Happens by itself when the program ends as it should. Waits a few seconds for calls that
   * are under way; calls that come later are refused.
   *
   * @throws {@link DormouseError} `busy` where calls do not end, and what keeps a sandbox from being saved. Nothing is lost then: it can
   * be closed again, or used.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    await this.#transport.close(options);
  }

  /** {@link Dormouse.close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal */
  async call(tool: string, asked: Fields, signal: AbortSignal | undefined): Promise<unknown> {
    return renamed(await this.#transport.call(tool, asked, signal), SHAPES[tool] as Shape);
  }

  /** @internal */
  async runIn<T>(code: string, sandbox: string, options: SandboxRunOptions): Promise<Outcome<T>> {
    check(code, options, true);
    return new Outcome<T>(await this.#transport.run(code, sandbox, options));
  }

  async #found(tool: string, asked: Fields, signal: AbortSignal | undefined): Promise<Sandbox> {
    return new Sandbox(this, (await this.call(tool, asked, signal)) as CreateAnswer);
  }
}

/** Where a sandbox begins that is forked. */
export interface ForkOptions extends CallOptions {
  /** A checkpoint of it. Default: where it is. */
  readonly checkpointId?: string | undefined;
}

/** What is told of a sandbox: its id, its name, and what the call that made the object answers besides. */
export type SandboxAnswer = Readonly<Pick<CreateAnswer, "id" | "name"> & Partial<CreateAnswer>>;

/** A persistent sandbox: variables, imports and files last from call to call, and over the end of the program. */
export class Sandbox extends SandboxVerbs {
  /** Its id, which never changes. */
  readonly id: string;
  /** Its name. */
  readonly name: string;
  /** Whose it is. */
  readonly dormouse: Dormouse;
  /** What was told of it when this object was made, such as what of its options was `ignored` because it was there already. */
  readonly answer: SandboxAnswer;

  /** @internal */
  constructor(dormouse: Dormouse, answer: SandboxAnswer) {
    super();
    this.dormouse = dormouse;
    this.answer = answer;
    this.id = answer.id;
    this.name = answer.name;
  }

  /** Runs a snippet in it, as {@link Dormouse.run}. */
  async run<T = unknown>(code: string, options: SandboxRunOptions = {}): Promise<Outcome<T>> {
    return await this.dormouse.runIn<T>(code, this.id, options);
  }

  /** The same, with its output while it runs. */
  stream<T = unknown>(code: string, options: SandboxRunOptions = {}): Running<T> {
    return streamed((also) => this.run<T>(code, { ...options, ...also }), options);
  }

  /** Sandboxes that begin where this one is, or was at a checkpoint. */
  async fork(count: number = 1, options: ForkOptions = {}): Promise<Sandbox[]> {
    const answer = (await this.asked("sandbox_fork", { count }, options)) as ForkAnswer;
    return answer.sandboxes.map((one) => new Sandbox(this.dormouse, one));
  }

  /** The whole of a file. */
  async readBytes(path: string, options: CallOptions = {}): Promise<Uint8Array> {
    const parts: Buffer[] = [];
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const asked = { path, offset, max_bytes: PIECE, encoding: "base64" };
      const answer = (await this.call("sandbox_read", asked, options.signal)) as ReadAnswer;
      parts.push(Buffer.from(answer.content, "base64"));
      offset = answer.nextOffset;
    }
    return new Uint8Array(Buffer.concat(parts));
  }

  /**
   * Replaces a file, or makes it and its folders, as a whole or not at all.
   *
   * @throws {@link DormouseError} as well where it could not be saved.
   */
  async writeBytes(path: string, content: ArrayBufferView | ArrayBuffer, options: CallOptions = {}): Promise<void> {
    const data = bytes(content);
    const starts = Array.from({ length: Math.max(1, Math.ceil(data.length / PIECE)) }, (_, piece) => piece * PIECE);
    // One of several pieces gets its name when it is whole.
    const draft = starts.length > 1 ? `${path}.${randomBytes(6).toString("hex")}.part` : path;
    try {
      let answer: WriteAnswer | undefined;
      for (const start of starts) {
        const content = Buffer.from(data.subarray(start, start + PIECE)).toString("base64");
        const asked = { path: draft, content, encoding: "base64", append: start > 0 };
        answer = (await this.call("sandbox_write", asked, options.signal)) as WriteAnswer;
      }
      if (draft !== path) {
        const asked = { path: draft, to: path, replace: true };
        answer = (await this.call("sandbox_rename_file", asked, options.signal)) as WriteAnswer;
      }
      if (answer?.unsaved) throw DormouseError.of(answer.unsaved);
    } catch (error) {
      if (draft !== path) await this.call("sandbox_remove_file", { path: draft }, undefined).catch(() => {});
      throw error;
    }
  }

  /** @internal */
  async call(tool: string, asked: Fields, signal: AbortSignal | undefined): Promise<unknown> {
    return await this.dormouse.call(tool, { ...asked, sandbox: this.id }, signal);
  }
}

/** The bytes of a buffer, of any kind. */
function bytes(content: ArrayBufferView | ArrayBuffer): Uint8Array {
  if (ArrayBuffer.isView(content)) return new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
  if (content instanceof ArrayBuffer) return new Uint8Array(content);
  throw new TypeError("a file is written from a Uint8Array or another buffer; for text use `write`");
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof DormouseError && error.code === code;
}

/** A run with a signal and a handler of its own, besides those that it was given. */
function streamed<T>(
  run: (also: Pick<RunOptions, "signal" | "onOutput">) => Promise<Outcome<T>>,
  { signal, onOutput }: RunOptions,
): Running<T> {
  return new Running<T>((own, keep) =>
    run({
      signal: signal ? AbortSignal.any([signal, own]) : own,
      onOutput: (stream, text) => {
        keep(stream, text);
        return onOutput?.(stream, text);
      },
    }),
  );
}

let shared: Dormouse | undefined;

/** Runs a snippet in a fresh sandbox of this process: {@link Dormouse.run} with a `Dormouse` that all such calls share. */
export async function run<T = unknown>(code: string, options: RunOptions = {}): Promise<Outcome<T>> {
  shared ??= new Dormouse();
  return await shared.run<T>(code, options);
}
