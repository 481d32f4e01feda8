// The objects of `Temporal`: each holds a kind and a word, its state in the form that native/temporal/words.rs tells. What is computed
// with it is asked of the Rust library.
'use strict';
const { intl } = native;

const inside = new WeakMap();
const prototypes = { __proto__: null };

const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

// The answer to a question. `words` are ours, `text` is the user's.
function ask(question, words = '', text = '') {
  const answer = intl('temporal', question, words, text);
  if (answer?.[0] === '=') return answer.slice(1);
  const about = text === '' ? '' : `: ${text.slice(0, 100)}`;
  const message = `${answer?.slice(1) || 'Invalid value'}${about}`;
  throw answer?.[0] === 'T' ? new TypeError(message) : new RangeError(message);
}

function make(kind, word) {
  const object = Object.create(prototypes[kind]);
  inside.set(object, { kind, word });
  return object;
}

const isOf = (value, kind) => inside.get(value)?.kind === kind;

function wordOf(value, kind) {
  const found = inside.get(value);
  if (found?.kind !== kind) throw new TypeError(`not a Temporal.${kind}`);
  return found.word;
}

// The kind and the word of an object of any kind, or undefined.
const found = (value) => inside.get(value);

// As other engines, `structuredClone` copies none of them.
function refuseCopy() {
  throw new DOMException('an object of Temporal could not be cloned.', 'DataCloneError');
}

// The class of a kind. `getters` read one property of a word.
function complete(kind, Class, names, read) {
  const { prototype } = Class;
  prototypes[kind] = prototype;
  names.forEach((name) => {
    const getter = { get [name]() { return read(wordOf(this, kind), name); } };
    Object.defineProperty(prototype, name, { ...Object.getOwnPropertyDescriptor(getter, name), enumerable: false });
  });
  const hidden = (name, value) => Object.defineProperty(prototype, name, { value, configurable: true });
  hidden(Symbol.toStringTag, `Temporal.${kind}`);
  const { toJSON } = prototype;
  hidden(Symbol.for('nodejs.util.inspect.custom'), function () {
    return isOf(this, kind) ? `Temporal.${kind} ${Reflect.apply(toJSON, this, [])}` : this;
  });
  shared.copyOf(Class, refuseCopy);
  return Class;
}

// For constructors: `this` becomes an object of the kind.
const begin = (object, kind, word) => inside.set(object, { kind, word });

function refuseValue(kind) {
  throw new TypeError(`Temporal.${kind} has no primitive value: compare with Temporal.${kind}.compare() or equals()`);
}

// Left and right as numbers, in the first parts of their words.
function order(left, right, from, to) {
  const one = left.split(',');
  const other = right.split(',');
  for (let at = from; at < to; at++) {
    const difference = one[at] - other[at];
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

module.exports = { ask, make, begin, isObject, wordOf, found, complete, refuseValue, order };
