/** What every call may say besides its arguments. */
export interface CallOptions {
  /** Gives the call up: it is rejected with the signal's reason, and what it does is ended. */
  readonly signal?: AbortSignal | undefined;
}

/** A tool's arguments or its answer. */
export type Fields = Record<string, unknown>;

/** The fields of an answer that are objects, or lists of objects, with fields of their own. */
export interface Shape {
  readonly [field: string]: Shape;
}

/** An answer as JavaScript names its fields. Text and maps that the caller or a snippet chose stay as they are. */
export function renamed(value: unknown, shape: Shape | undefined): unknown {
  if (shape === undefined || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => renamed(one, shape));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [camel(name), renamed(one, shape[name])]));
}

/**
 * A call's options as the tool names its arguments, without what is not given. `known`: those that there are.
 *
 * @throws TypeError for another one.
 */
export function arguments_(options: object, known?: readonly string[]): Fields {
  if (typeof options !== "object" || options === null) throw new TypeError("`options` have to be an object");
  const given = Object.entries(options).filter(([name, value]) => name !== "signal" && value !== undefined && value !== null);
  for (const [name] of given) {
    if (known === undefined || known.includes(name)) continue;
    const advice = known.includes(camel(name)) ? `; it is called \`${camel(name)}\` here` : "";
    throw new TypeError(`there is no option \`${name}\`${advice}`);
  }
  return Object.fromEntries(given.map(([name, value]) => [snake(name), value]));
}

/** `timeout_ms` as `timeoutMs`. */
export function camel(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** `timeoutMs` as `timeout_ms`. */
export function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
