// Headers of requests and answers (the Fetch standard).
'use strict';
const custom = Symbol.for('nodejs.util.inspect.custom');

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

function nameOf(name) {
  if (!token.test(name)) throw new TypeError(`Header name must be a valid HTTP token ["${name}"]`);
  return `${name}`.toLowerCase();
}

function valueOf(value) {
  const text = `${value}`.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  if (/[\0\n\r]|[^\0-\xff]/.test(text)) throw new TypeError(`Invalid header value ${JSON.stringify(text)}`);
  return text;
}

let fix;

class Headers {
  [custom](_depth, options) {
    return `Headers ${shared.inspect(Object.fromEntries(this), options)}`;
  }
  // By the name in small letters; those of cookies stay apart.
  #values = new Map();
  // Those of an answer cannot be changed.
  #isFixed = false;
  static {
    fix = (headers) => {
      headers.#isFixed = true;
      return headers;
    };
  }
  #change() {
    if (this.#isFixed) throw new TypeError('immutable');
    return this.#values;
  }
  constructor(given = undefined) {
    if (given === undefined || given === null) return;
    if (typeof given !== 'object') throw new TypeError('Headers are an object, or pairs of a name and a value');
    if (typeof given[Symbol.iterator] === 'function') {
      for (const pair of given) {
        const [name, value, ...more] = pair;
        if (value === undefined || more.length) throw new TypeError('Each header pair must be a name and a value');
        this.append(name, value);
      }
    } else for (const name of Object.keys(given)) this.append(name, given[name]);
  }
  append(name, value) {
    const key = nameOf(name);
    this.#change().set(key, [...(this.#values.get(key) ?? []), valueOf(value)]);
  }
  set(name, value) {
    this.#change().set(nameOf(name), [valueOf(value)]);
  }
  get(name) {
    return this.#values.get(nameOf(name))?.join(', ') ?? null;
  }
  has(name) {
    return this.#values.has(nameOf(name));
  }
  delete(name) {
    this.#change().delete(nameOf(name));
  }
  getSetCookie() {
    return [...(this.#values.get('set-cookie') ?? [])];
  }
  forEach(callback, self) {
    for (const [name, value] of this) callback.call(self, value, name, this);
  }
  *entries() {
    for (const name of [...this.#values.keys()].sort()) {
      if (name === 'set-cookie') for (const value of this.#values.get(name)) yield [name, value];
      else yield [name, this.#values.get(name).join(', ')];
    }
  }
  *keys() {
    for (const [name] of this) yield name;
  }
  *values() {
    for (const [, value] of this) yield value;
  }
  get [Symbol.toStringTag]() {
    return 'Headers';
  }
}
Headers.prototype[Symbol.iterator] = Headers.prototype.entries;

module.exports = { Headers, fix: (headers) => fix(headers), token };
