/** A value in the typed form that every door of Dormouse gives it: see `docs/values.md`. */
export interface Typed {
  readonly type: string;
  readonly value?: unknown;
  readonly class?: string;
  readonly is_list?: boolean;
  readonly count?: number;
  readonly length?: number;
  readonly truncated?: boolean;
  readonly undefined?: boolean;
  readonly big?: boolean;
  readonly entries?: readonly (readonly [Typed, Typed])[];
  readonly preview?: readonly Typed[];
  readonly exhausted?: boolean;
  readonly size_hint?: number;
  readonly id?: number;
  readonly properties?: Readonly<Record<string, Typed>>;
  readonly repr?: string;
  readonly reason?: string;
}

/** An object of a snippet: its class, its public properties (null: not shown), and its own rendering. */
export class ObjectValue {
  constructor(
    readonly className: string,
    readonly properties: Readonly<Record<string, unknown>> | null,
    readonly repr: string | null,
  ) {}
}

/** An object that stands further up in the same value. */
export class Reference {
  constructor(
    readonly className: string,
    readonly id: number,
  ) {}
}

/** A handle of the language that is no object, such as an open stream of PHP. */
export class Resource {
  constructor(
    readonly className: string,
    readonly id: number,
  ) {}
}

/** Something that could not be encoded, and why. */
export class Unknown {
  constructor(
    readonly className: string,
    readonly reason: string,
  ) {}
}

/**
 * The value itself: numbers, text, `Uint8Array`, arrays, `Map`, `Set` and plain objects; all else as {@link ObjectValue}. An
 * integer that a number cannot hold is a `bigint`, and so is every `bigint` of JavaScript.
 */
export function plain(typed: Typed): unknown {
  switch (typed.type) {
    case "null":
      return typed.undefined ? undefined : null;
    case "string":
    case "bool":
      return typed.value;
    case "int":
      return typed.big || typeof typed.value === "string" ? BigInt(typed.value as string | number) : typed.value;
    case "float":
      return Number(typed.value);
    case "bytes":
      return new Uint8Array(Buffer.from(String(typed.value), "base64"));
    case "array":
      return array(typed);
    case "iterable": {
      const shown = (typed.preview ?? []).map(plain);
      const isSet = ["set", "frozenset", "Set"].includes(typed.class ?? "") && typed.exhausted === true;
      // Members that are different in the sandbox may be equal here.
      const members = new Set(shown);
      return isSet && members.size === shown.length ? members : shown;
    }
    case "object":
      return new ObjectValue(
        typed.class ?? "",
        typed.properties === undefined ? null : record(typed.properties),
        typed.repr ?? null,
      );
    case "reference":
      return new Reference(typed.class ?? "", typed.id ?? 0);
    case "resource":
      return new Resource(typed.class ?? "", typed.id ?? 0);
    default:
      return new Unknown(typed.class ?? "", typed.reason ?? typed.type);
  }
}

function array(typed: Typed): unknown {
  if (typed.entries !== undefined) {
    const pairs = typed.entries.map(([key, value]) => [plain(key), plain(value)] as const);
    const entries = new Map(pairs);
    // Keys that are different in the sandbox may be equal here.
    return entries.size === pairs.length ? entries : pairs;
  }
  if (Array.isArray(typed.value)) return (typed.value as Typed[]).map(plain);
  if (typed.value === undefined) return typed.is_list ? [] : {};
  return record(typed.value as Record<string, Typed>);
}

/** Also a key such as `__proto__` is one of its own. */
function record(typed: Readonly<Record<string, Typed>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(typed).map(([key, value]) => [key, plain(value)]));
}

/** Whether something of a value was left out. */
export function isCut(typed: Typed): boolean {
  if (typed.truncated || typed.type === "unknown" || typed.exhausted === false) return true;
  const { value, count } = typed;
  const isContainer = typed.type === "array" && typeof value === "object" && value !== null;
  const items = isContainer ? (Object.values(value) as Typed[]) : [];
  // Long keys are shortened, and may be the same then.
  if (isContainer && count !== undefined && items.length !== count) return true;
  const parts = [...items, ...(typed.preview ?? []), ...Object.values(typed.properties ?? {})];
  return parts.some(isCut) || (typed.entries ?? []).some((pair) => pair.some(isCut));
}
