import { DormouseError, type ErrorFields, SnippetError } from "./errors.js";
import { isCut, plain, type Typed } from "./values.js";

/** What a snippet raised, as the tool tells it. */
interface ExceptionFields {
  readonly class: string;
  readonly message: string;
  readonly code?: number | string | null;
  readonly file?: string | null;
  readonly line?: number | null;
  readonly column?: number | null;
  readonly stack_trace?: readonly string[];
  readonly excerpt?: string;
  readonly traceback?: string;
  readonly hint?: string;
  readonly previous?: readonly ExceptionFields[];
}

/** What was refused: what to allow, if it was meant. */
export interface NetworkDenied {
  /** The host. */
  readonly host: string;
  /** Its port. */
  readonly port: number;
  /** What was lacking: host, port, protocol, method, path, address, secret, or a budget. */
  readonly reason: string;
  /** The rule that came nearest, if one did. */
  readonly rule?: string;
}

interface NetworkFields {
  readonly requests: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly denied?: readonly NetworkDenied[];
  readonly secrets_masked: number;
}

/** What a run did with its network. */
export interface NetworkUse {
  /** Requests, refused ones too. */
  readonly requests: number;
  /** Bytes of bodies that came back. */
  readonly bytesIn: number;
  /** Bytes of bodies that were sent. */
  readonly bytesOut: number;
  /** What was refused, each once, at most 16. */
  readonly denied: readonly NetworkDenied[];
  /** How often the value of a secret was masked in an answer. */
  readonly secretsMasked: number;
}

/** What a snippet raised. Everything in it is text that the snippet chose. */
export class GuestException {
  /** Name of its class. */
  readonly className: string;
  /** Its message. */
  readonly message: string;
  /** A number or text, where the language has one. */
  readonly code: number | string | null;
  /** The file that raised it, as the language names it. */
  readonly file: string | null;
  /** The line, from 1. */
  readonly line: number | null;
  /** The column, from 1. */
  readonly column: number | null;
  /** `function (file:line)`, innermost first. */
  readonly stackTrace: readonly string[];
  /** The line of source that raised it. */
  readonly excerpt: string | null;
  /** The language's own rendering. */
  readonly traceback: string | null;
  /** What to do about it, where there is something to advise; never the snippet's own words. */
  readonly hint: string | null;
  /** Its causes, nearest first. */
  readonly previous: readonly GuestException[];

  /** @internal */
  constructor(fields: ExceptionFields) {
    this.className = fields.class;
    this.message = fields.message;
    this.code = fields.code ?? null;
    this.file = fields.file ?? null;
    this.line = fields.line ?? null;
    this.column = fields.column ?? null;
    this.stackTrace = fields.stack_trace ?? [];
    this.excerpt = fields.excerpt ?? null;
    this.traceback = fields.traceback ?? null;
    this.hint = fields.hint ?? null;
    this.previous = (fields.previous ?? []).map((one) => new GuestException(one));
  }

  /** Class and message. */
  toString(): string {
    return this.message ? `${this.className}: ${this.message}` : this.className;
  }
}

/** What a run came to: a value, an exception, an exit, or a limit that ended it. `T`: the type that you expect of the value. */
export class Outcome<T = unknown> {
  /** The whole as one object, as the tool `sandbox_eval` answers it. */
  readonly answer: Readonly<Record<string, unknown>>;

  /** Of an answer that was kept, for example as JSON. */
  constructor(answer: Readonly<Record<string, unknown>>) {
    this.answer = answer;
  }

  /** Whether the snippet ran to its end, or ended itself with status 0. */
  get ok(): boolean {
    return this.answer.ok === true;
  }

  /**
   * The value of the last expression; null where there is none.
   *
   * @throws {@link DormouseError} where a limit ended the run, and {@link SnippetError} where the snippet raised or ended itself
   * with another status than 0.
   */
  get value(): T {
    if (this.error !== null) throw this.error;
    if (!this.ok) throw new SnippetError(this.exception, this.exitCode);
    return (this.typed === null ? null : plain(this.typed)) as T;
  }

  /** The value in its typed form, as every door of Dormouse gives it; null where there is none. */
  get typed(): Typed | null {
    return this.answer.result as Typed | null;
  }

  /**
   * Whether something of the value was left out: it has more than 10 000 items, 16 levels, 1 MiB in a string or 8 MiB in all, or
   * keys longer than 256 bytes that are the same when they are shortened.
   */
  get isCut(): boolean {
    return this.typed !== null && isCut(this.typed);
  }

  /** Standard output, cut at `outputBytes`. What is no UTF-8 is shown as U+FFFD. */
  get stdout(): string {
    return this.answer.stdout as string;
  }

  /** Standard error, likewise. */
  get stderr(): string {
    return this.answer.stderr as string;
  }

  /** Exit status: 0, that of `exit(n)`, 1 after an exception, 124 after the time limit, 137 after another limit. */
  get exitCode(): number {
    return this.answer.exit_code as number;
  }

  /** Whether the time limit ended it. */
  get timedOut(): boolean {
    return this.answer.timed_out === true;
  }

  /** What the snippet raised, or null. */
  get exception(): GuestException | null {
    const fields = this.answer.exception as ExceptionFields | null;
    return fields === null ? null : new GuestException(fields);
  }

  /** The limit or the crash that ended it, or null. */
  get error(): DormouseError | null {
    return error(this.answer.error);
  }

  /** Milliseconds that it took. */
  get durationMs(): number {
    return this.answer.duration_ms as number;
  }

  /** Largest memory of the run in bytes, interpreter included. */
  get memoryPeakBytes(): number {
    return this.answer.memory_peak_bytes as number;
  }

  /** Executed operations, where they were counted; else null. */
  get fuelUsed(): number | null {
    return (this.answer.fuel_used as number | undefined) ?? null;
  }

  /** Who ran it: `wasm`, `docker` or `kubernetes`. */
  get provider(): string {
    return this.answer.provider as string;
  }

  /** The persistent sandbox that it ran in, or null. */
  get sandboxId(): string | null {
    return (this.answer.sandbox_id as string | undefined) ?? null;
  }

  /** What the variables of its sandbox are after a run that was stopped: `before_run`, `earlier` or `fresh`; else null. */
  get recovery(): string | null {
    return (this.answer.recovery as string | undefined) ?? null;
  }

  /** What it did with its network, or null if it had none. */
  get network(): NetworkUse | null {
    const used = this.answer.network as NetworkFields | undefined;
    if (used === undefined) return null;
    const { requests, bytes_in, bytes_out, denied = [], secrets_masked } = used;
    return { requests, bytesIn: bytes_in, bytesOut: bytes_out, denied, secretsMasked: secrets_masked };
  }

  /** Why what the run did could not be saved, or null. */
  get unsaved(): DormouseError | null {
    return error(this.answer.unsaved);
  }

  /** What is to be known besides, or null. */
  get warning(): DormouseError | null {
    return error(this.answer.warning);
  }

  /** The answer: what `JSON.stringify` writes, and the constructor takes. */
  toJSON(): Readonly<Record<string, unknown>> {
    return this.answer;
  }
}

function error(fields: unknown): DormouseError | null {
  return fields === null || fields === undefined ? null : DormouseError.of(fields as ErrorFields);
}
