class Order {
  #secret = 1;
  constructor(name, lines) {
    this.name = name;
    this.lines = lines;
  }
}
({
  order: new Order("first", [["apple", 2]]),
  when: new Date(0),
  pattern: /a+/gi,
  error: new TypeError("kept"),
  function: Math.max,
  class: Order,
  symbol: Symbol("s"),
  boxed: new Number(1),
  promise: Promise.resolve(1),
  weak: new WeakMap(),
  many: { 1: { 2: { 3: { 4: 5 } } } },
})
