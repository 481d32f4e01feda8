import type { Outcome } from "./outcome.js";
import type { OutputHandler, StreamName } from "./request.js";

/** A piece of what a snippet wrote. */
export interface Output {
  /** Where it was written. */
  readonly stream: StreamName;
  /** The text. A character is never cut in two. */
  readonly text: string;
}

/**
 * A run whose output is read while it goes on: `for await (const { stream, text } of running)`, then `await running.outcome`. To
 * leave the loop early gives the run up. What nobody has read yet is kept, within the limit of output.
 */
export class Running<T = unknown> implements AsyncIterable<Output> {
  /** What it comes to. */
  readonly outcome: Promise<Outcome<T>>;
  readonly #kept: Output[] = [];
  #isDone = false;
  #isRead = false;
  #wake: (() => void) | undefined;
  readonly #control = new AbortController();

  /** @internal */
  constructor(start: (signal: AbortSignal, onOutput: OutputHandler) => Promise<Outcome<T>>) {
    this.outcome = start(this.#control.signal, (stream, text) => {
      if (!this.#control.signal.aborted) this.#kept.push({ stream, text });
      this.#wake?.();
    });
    const done = () => {
      this.#isDone = true;
      this.#wake?.();
    };
    // Who waits for the outcome is told; who does not is not to be ended by it.
    this.outcome.then(done, done);
  }

  /**
   * The output, for one reader.
   *
   * @throws TypeError for a second one.
   */
  [Symbol.asyncIterator](): AsyncIterator<Output, void, void> {
    if (this.#isRead) throw new TypeError("the output of this run is being read already");
    this.#isRead = true;
    let isOver = false;
    const next = async (): Promise<IteratorResult<Output, void>> => {
      while (!isOver) {
        const kept = this.#kept.shift();
        if (kept !== undefined) return { done: false, value: kept };
        if (this.#isDone) break;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
      if (!isOver) {
        isOver = true;
        await this.outcome;
      }
      return { done: true, value: undefined };
    };
    let turn: Promise<unknown> = Promise.resolve();
    return {
      // Each waits for the one before it.
      next: () => {
        const answer = turn.then(next);
        turn = answer.catch(() => {});
        return answer;
      },
      return: async () => {
        isOver = true;
        this.#kept.length = 0;
        this.#control.abort();
        this.#wake?.();
        return { done: true, value: undefined };
      },
    };
  }
}
