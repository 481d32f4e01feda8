import type { GuestException } from "./outcome.js";

/** An error as every door of Dormouse tells it. */
export interface ErrorFields {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | null;
  readonly causes?: readonly string[];
}

/** A call that could not be done, or a run that a limit or a crash ended. */
export class DormouseError extends Error {
  override readonly name = "DormouseError";
  /** A stable name that never changes its meaning. */
  readonly code: string;
  /** What to do about it; empty where there is nothing to advise. */
  readonly hint: string;
  /** What it came of, nearest first; also its chain of `cause`. */
  readonly causes: readonly string[];

  constructor(code: string, message: string, hint = "", causes: readonly string[] = []) {
    super(`[${code}] ${message}${hint ? `\nhint: ${hint}` : ""}`, chain(causes));
    this.code = code;
    this.hint = hint;
    this.causes = causes;
  }

  /** The error of an answer. */
  static of(fields: ErrorFields): DormouseError {
    return new DormouseError(fields.code, fields.message, fields.hint ?? "", fields.causes ?? []);
  }

  /** What the native part threw: its message is an error as JSON. Anything else is passed on. */
  static thrown(fault: unknown): unknown {
    if (!(fault instanceof Error)) return fault;
    try {
      const fields = JSON.parse(fault.message) as Partial<ErrorFields>;
      return typeof fields.code === "string" ? DormouseError.of(fields as ErrorFields) : fault;
    } catch {
      return fault;
    }
  }
}

function chain(causes: readonly string[]): ErrorOptions | undefined {
  return causes.reduceRight<ErrorOptions | undefined>((below, text) => ({ cause: new Error(text, below) }), undefined);
}

/** A run was asked for its value and has none: the snippet raised, or ended itself with another status than 0. */
export class SnippetError extends Error {
  override readonly name = "SnippetError";
  /** What it raised, or null. */
  readonly exception: GuestException | null;
  /** Its exit status. */
  readonly exitCode: number;

  constructor(exception: GuestException | null, exitCode: number) {
    super(exception === null ? `the snippet ended itself with status ${exitCode}` : (exception.traceback ?? `${exception}`));
    this.exception = exception;
    this.exitCode = exitCode;
  }
}
