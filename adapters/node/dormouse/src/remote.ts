import { DormouseError } from "./errors.js";
import { request, type RunOptions, standardInput, type StreamName } from "./request.js";
import { stringify } from "./json.js";
import type { Fields } from "./surface.js";
import { checked, type Transport } from "./transport.js";
import { ROUTES } from "./verbs.js";

/** What a server cannot have. */
const HERE = ["callbacks", "mounts", "env", "cwd", "diskBytes"] as const;

/** A server: `dormouse serve`. */
export class Remote implements Transport {
  readonly #base: URL;
  readonly #token: string | undefined;
  #isClosed = false;

  constructor(url: string, token: string | undefined) {
    const base = URL.canParse(url) ? new URL(url) : undefined;
    if (base === undefined || !/^https?:$/.test(base.protocol)) {
      throw new DormouseError("args_invalid", `\`${url}\` is no address of a server`, "use http://HOST:PORT or https://HOST");
    }
    this.#base = base;
    this.#token = token;
  }

  async call(tool: string, asked: Fields, signal?: AbortSignal): Promise<Fields> {
    return checked(await this.#ask(tool, asked, signal));
  }

  async run(code: string, sandbox: string | null, options: RunOptions): Promise<Fields> {
    for (const name of HERE) {
      if (options[name] !== undefined && options[name] !== null) {
        throw new DormouseError(
          "capability_unavailable",
          `\`${name}\` cannot be used over a server`,
          "leave it out, or use a Dormouse without `url`, which runs in this process",
        );
      }
    }
    const asked = request(code, sandbox, options);
    if (options.stdin) {
      try {
        asked.stdin = new TextDecoder("utf-8", { fatal: true }).decode(standardInput(options));
      } catch {
        throw new DormouseError("args_invalid", "`stdin` over a server has to be UTF-8", "write a file instead");
      }
    }
    const answer = checked(await this.#ask("sandbox_eval", asked, options.signal));
    for (const stream of ["stdout", "stderr"] satisfies StreamName[]) {
      if (answer[stream]) await options.onOutput?.(stream, answer[stream] as string);
    }
    return answer;
  }

  /** Calls are refused from now on; what the server has goes on. */
  async close(): Promise<void> {
    this.#isClosed = true;
  }

  async #ask(tool: string, asked: Fields, signal: AbortSignal | undefined): Promise<Fields> {
    if (this.#isClosed) throw new DormouseError("invalid_state", "this Dormouse is closed", "make a new one");
    const { url, init } = this.#prepared(tool, asked);
    let said: unknown;
    try {
      const answer = await fetch(url, { ...init, signal: signal ?? null });
      said = await answer.json();
    } catch (fault) {
      signal?.throwIfAborted();
      const cause = fault instanceof Error && fault.cause !== undefined ? [String(fault), String(fault.cause)] : [String(fault)];
      throw new DormouseError(
        "provider_unavailable",
        `the server at ${this.#base.host} does not answer as one of Dormouse does`,
        "see whether `dormouse serve` runs there, and whether the address is right",
        cause,
      );
    }
    if (typeof said !== "object" || said === null || Array.isArray(said)) {
      throw new DormouseError("provider_unavailable", `the server at ${this.#base.host} is none of Dormouse`);
    }
    return said as Fields;
  }

  /** Address and request of a call. */
  #prepared(tool: string, asked: Fields): { url: URL; init: RequestInit } {
    const left = { ...asked };
    const [method, path] = ROUTES[tool === "sandbox_eval" && !("sandbox" in left) ? "sandbox_eval/fresh" : tool] as Route;
    const parts = path.split("/").map((part) => {
      if (!part.startsWith("{")) return part;
      const name = part.slice(1, -1);
      const value = left[name];
      if (value === undefined) throw missing(name);
      delete left[name];
      // An address has no such part: it would be another one.
      if (value === "." || value === "..") throw new DormouseError("args_invalid", `\`${value}\` cannot be \`${name}\``, "use its id");
      return encodeURIComponent(String(value));
    });
    const url = new URL(this.#base);
    url.pathname = url.pathname.replace(/\/+$/, "") + parts.join("/");
    const headers: Record<string, string> = { Accept: "application/json" };
    if (this.#token) headers.Authorization = `Bearer ${this.#token}`;
    if (method === "POST" || method === "PUT") {
      headers["Content-Type"] = "application/json";
      return { url, init: { method, headers, body: stringify(left) } };
    }
    for (const [name, value] of Object.entries(left)) url.searchParams.set(name, String(value));
    return { url, init: { method, headers } };
  }
}

type Route = readonly [method: string, path: string];

function missing(name: string): DormouseError {
  return new DormouseError("args_invalid", `\`${name}\` is missing`, "say it, as the method's documentation tells");
}
