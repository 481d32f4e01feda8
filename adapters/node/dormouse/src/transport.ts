import { DormouseError, type ErrorFields } from "./errors.js";
import { type Engine, engine, type Listener, type Piece, type Ticket } from "./native.js";
import { stringify } from "./json.js";
import {
  Functions,
  isInside,
  type OutputHandler,
  refuseInside,
  request,
  type RunOptions,
  standardInput,
  type StreamName,
} from "./request.js";
import type { Fields } from "./surface.js";

/** Where calls go. */
export interface Transport {
  call(tool: string, asked: Fields, signal?: AbortSignal): Promise<Fields>;
  run(code: string, sandbox: string | null, options: RunOptions): Promise<Fields>;
  close(options: CloseOptions): Promise<void>;
}

/** How a {@link Dormouse} is closed. */
export interface CloseOptions {
  /** Ends what runs first, instead of waiting for it for a few seconds. Default false. */
  readonly abort?: boolean | undefined;
}

/** The answer; throws what kept the call from being done. What ended a run that had begun is a part of its answer. */
export function checked(answer: Fields): Fields {
  const error = answer.error as ErrorFields | null | undefined;
  if (error && (!("timed_out" in answer) || answer.provider === "none")) throw DormouseError.of(error);
  return answer;
}

/** Engines whose sandboxes are saved when the program ends. */
const open = new Set<WeakRef<Local>>();

process.on("exit", () => {
  for (const one of open) one.deref()?.end();
});

/** An engine in this process. It is made by the first call. */
export class Local implements Transport {
  readonly #options: Fields;
  readonly #self = new WeakRef(this);
  readonly #running = new Map<Ticket, (reason: unknown) => void>();
  #engine: Engine | undefined;
  #isClosed = false;

  constructor(options: Fields) {
    this.#options = options;
    if (options.state) open.add(this.#self);
  }

  get #native(): Engine {
    if (this.#isClosed) throw closed();
    this.#engine ??= engine(this.#options);
    return this.#engine;
  }

  async call(tool: string, asked: Fields, signal?: AbortSignal): Promise<Fields> {
    refuseInside(asked.sandbox);
    const native = this.#native;
    return checked(await this.#done((listener) => native.call(tool, stringify(asked), listener), signal));
  }

  async run(code: string, sandbox: string | null, options: RunOptions): Promise<Fields> {
    refuseInside(sandbox);
    const native = this.#native;
    const asked = stringify(request(code, sandbox, options));
    const functions = new Functions(options, sandbox);
    const output = options.onOutput ? new Decoded(options.onOutput) : undefined;
    try {
      const start = (listener: Listener) =>
        native.run(asked, standardInput(options), functions.offered, output !== undefined, listener);
      const answer = await this.#done(start, options.signal, functions, output);
      await output?.end();
      return answer;
    } finally {
      functions.end();
    }
  }

  /** Calls are refused from now on. What cannot be saved is kept: it can be closed again, or used. */
  async close({ abort = false }: CloseOptions): Promise<void> {
    if (isInside()) {
      throw new DormouseError(
        "invalid_state",
        "this Dormouse has a run that waits for the function which closes it",
        "close it when the run has ended",
      );
    }
    const engine = this.#engine;
    this.#isClosed = true;
    if (engine !== undefined) {
      for (const giveUp of abort ? this.#running.values() : []) giveUp(cancelled());
      try {
        await this.#done((listener) => engine.close(listener));
      } catch (error) {
        this.#isClosed = false;
        throw error;
      }
    }
    this.#engine = undefined;
    open.delete(this.#self);
  }

  /** Closes it at the end of the program, when nobody can be told by an exception any more. */
  end(): void {
    for (const ticket of this.#running.keys()) ticket.cancel();
    try {
      this.#engine?.closeNow();
    } catch (fault) {
      console.error(`dormouse: not saved: ${DormouseError.thrown(fault)}`);
    }
    this.#engine = undefined;
  }

  /** Waits for a call that is started. An aborted `signal` gives it up, and so does what the reader of the output throws. */
  #done(
    start: (listener: Listener) => Ticket,
    signal?: AbortSignal,
    functions?: Functions,
    output?: Decoded,
  ): Promise<Fields> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      let ticket: Ticket | undefined;
      let isSettled = false;
      const settle = (end: () => void) => {
        if (isSettled) return;
        isSettled = true;
        signal?.removeEventListener("abort", abort);
        if (ticket !== undefined) this.#running.delete(ticket);
        end();
      };
      const giveUp = (reason: unknown) =>
        settle(() => {
          ticket?.cancel();
          reject(reason);
        });
      const abort = () => giveUp(signal?.reason);
      const listener: Listener = (about, name, text, pieces, reply) => {
        // What was on its way when it was given up.
        if (isSettled) return;
        if (about === "call" && name !== null && text !== null && reply !== null) functions?.call(name, text, reply);
        else if (about === "error") settle(() => reject(DormouseError.of(JSON.parse(text ?? "") as ErrorFields)));
        else if (about === "answer") settle(() => resolve(JSON.parse(text ?? "") as Fields));
        else if (pieces !== null) output?.take(pieces, () => isSettled, giveUp);
      };
      try {
        ticket = start(listener);
      } catch (thrown) {
        reject(DormouseError.thrown(thrown));
        return;
      }
      this.#running.set(ticket, giveUp);
      signal?.addEventListener("abort", abort, { once: true });
    });
  }
}

function closed(): DormouseError {
  return new DormouseError("invalid_state", "this Dormouse is closed", "make a new one");
}

function cancelled(): DormouseError {
  return new DormouseError("cancelled", "the run was given up, because its Dormouse was closed");
}

/** Takes the bytes of both streams, and tells their text. A character that was cut is told when it is whole. */
class Decoded {
  readonly #handler: OutputHandler;
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  /** What a handler that is asynchronous still does. */
  #pending: Promise<unknown> = Promise.resolve();

  constructor(handler: OutputHandler) {
    this.#handler = handler;
  }

  /** Tells what came, as long as somebody listens. */
  take(pieces: readonly Piece[], isOver: () => boolean, fail: (fault: unknown) => void): void {
    for (const { stream, bytes } of pieces) {
      if (isOver()) return;
      this.#tell(stream, this.#decoders[stream].decode(bytes, { stream: true }), fail);
    }
  }

  /** Tells what is left, and waits for the handler. */
  async end(): Promise<void> {
    const faults: unknown[] = [];
    for (const stream of ["stdout", "stderr"] as const) {
      this.#tell(stream, this.#decoders[stream].decode(), (fault) => faults.push(fault));
    }
    await this.#pending;
    if (faults.length > 0) throw faults[0];
  }

  #tell(stream: StreamName, text: string, fail: (fault: unknown) => void): void {
    if (!text) return;
    try {
      const told = this.#handler(stream, text);
      if (!(told instanceof Promise)) return;
      told.catch(fail);
      this.#pending = Promise.all([this.#pending, told]);
      // Whoever waits for it is told; nobody may.
      this.#pending.catch(() => {});
    } catch (fault) {
      fail(fault);
    }
  }
}
