// An inventory with orders, as long as what agents write.
type Id = string & { readonly brand: unique symbol };
interface Product {
  id: string;
  name: string;
  price: number;
  tags?: readonly string[];
}
interface Line<T extends Product = Product> {
  product: T;
  count: number;
}
enum Currency {
  Euro = "EUR",
  Dollar = "USD",
}
type Discount = { kind: "percent"; value: number } | { kind: "fixed"; value: number } | { kind: "none" };
abstract class Entity {
  private static next = 0;
  protected readonly created: Date = new Date(0);
  declare extra: unknown;
  readonly id: number;
  constructor() {
    this.id = Entity.next++;
  }
  abstract describe(): string;
}
class Order extends Entity {
  private lines: Line[] = [];
  #secret?: string;
  constructor(readonlyName: string, private readonly currency: Currency = Currency.Euro) {
    super();
    this.#secret = readonlyName + String(this.currency);
  }
  add(product: Product, count: number = 1): this {
    this.lines.push({ product, count });
    return this;
  }
  total(discount: Discount = { kind: "none" }): number {
    const sum: number = this.lines.reduce<number>((all, line) => all + line.product.price * line.count, 0);
    switch (discount.kind) {
      case "percent":
        return sum * (1 - discount.value / 100);
      case "fixed":
        return Math.max(0, sum - discount.value);
      default:
        return sum;
    }
  }
  override describe(): string {
    return `order ${this.id} of ${this.lines.length} lines: ${this.total().toFixed(2)}`;
  }
  get secret(): string | undefined {
    return this.#secret;
  }
}
function groupBy<K extends string | number, V>(items: Iterable<V>, key: (value: V) => K): Map<K, V[]> {
  const groups = new Map<K, V[]>();
  for (const item of items) {
    const name = key(item);
    const group = groups.get(name);
    if (group) group.push(item);
    else groups.set(name, [item]);
  }
  return groups;
}
const isDefined = <T,>(value: T | undefined | null): value is T => value !== undefined && value !== null;
function assertString(value: unknown): asserts value is string {
  if (typeof value !== "string") throw new TypeError(`no string: ${value}`);
}
const products: Product[] = [
  { id: "a", name: "Apple", price: 0.5, tags: ["fruit", "red"] },
  { id: "b", name: "Bread", price: 2.25, tags: ["bakery"] },
  { id: "c", name: "Cheese", price: 4.75 },
  { id: "d", name: "Dates", price: 3.1, tags: ["fruit"] },
];
const byTag: Map<string, Product[]> = groupBy(products, (product) => product.tags?.[0] ?? "none");
const names = [...byTag.entries()].map(([tag, list]: [string, Product[]]) => ({ tag, names: list.map((p) => p.name) }));
const order = new Order("x").add(products[0]!, 4).add(products[2] as Product, 2);
const discounts = [
  { kind: "percent", value: 10 },
  { kind: "fixed", value: 1 },
  { kind: "none" },
] satisfies Discount[];
const totals = discounts.map((discount) => order.total(discount as Discount));
async function later<T>(value: T, wait: number = 0): Promise<T> {
  await new Promise<void>((resolve) => setTimeout(resolve, wait));
  return value;
}
let counts: Record<string, number> = {};
for (const { names: list, tag } of names) {
  counts[tag] = (counts[tag] ?? 0) + list.length;
}
namespace Limits {
  export const most = 5;
}
const lookup = { a: 1, b: Limits.most } as const;
type Keys = keyof typeof lookup;
const pick = (key: Keys): number => lookup[key];
try {
  assertString(pick("a"));
} catch (error: unknown) {
  counts["error"] = (error as Error).message.length;
}
const tuple: [first: string, second?: number] = ["one"];
const optional = tuple[1]!;
export type { Product, Line };
const defined = [1, null, 2].filter(isDefined);
const report: string = [order.describe(), ...totals.map(String), defined.length, optional].join("; ");
report.length + Object.keys(counts).length
