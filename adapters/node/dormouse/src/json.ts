import { randomUUID } from "node:crypto";

/** No text of a snippet begins with it: nobody else knows it. */
const MARK = `${randomUUID()}:`;
const LONG = /\d{16}/;
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d{16,}$/;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");

/** Reads JSON; an integer that a number cannot hold becomes a `bigint`. */
export function parse(text: string): unknown {
  if (!LONG.test(text)) return JSON.parse(text);
  const marked = text.replace(TOKEN, (token) => (INTEGER.test(token) ? `"${MARK}${token}"` : token));
  return JSON.parse(marked, (_, value: unknown) => {
    if (typeof value !== "string" || !value.startsWith(MARK)) return value;
    const whole = BigInt(value.slice(MARK.length));
    return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
  });
}

/**
 * Writes JSON; a `bigint` of 64 bits becomes an integer, and what JSON cannot say at all becomes null.
 *
 * @throws TypeError, RangeError for what would become something else: half a character, a longer `bigint`, a `Map`, a `Set`, bytes.
 */
export function stringify(value: unknown): string {
  let isMarked = false;
  const text = JSON.stringify(value, (key, part: unknown) => {
    if (!key.isWellFormed() || (typeof part === "string" && !part.isWellFormed())) {
      throw new TypeError("there is half a character in a text (a surrogate without the other one)");
    }
    if (part instanceof Map || part instanceof Set || ArrayBuffer.isView(part) || part instanceof ArrayBuffer) {
      throw new TypeError(`a ${part.constructor.name} cannot be passed: use what JSON has, such as an array or an object`);
    }
    if (typeof part !== "bigint") return part;
    if (part < -(1n << 63n) || part >= 1n << 64n) throw new RangeError("a bigint of more than 64 bits cannot be passed: pass its digits as text");
    isMarked = true;
    return `${MARK}${part}`;
  }) as string | undefined;
  if (text === undefined) return "null";
  return isMarked ? text.replace(MARKED, "$1") : text;
}
