// The module `assert`.
'use strict';
const { inspect } = shared;
const isDeepEqual = require('internal/equal');

class AssertionError extends Error {
  constructor({ message, actual, expected, operator }) {
    super(message);
    this.name = 'AssertionError';
    this.code = 'ERR_ASSERTION';
    this.generatedMessage = false;
    Object.assign(this, { actual, expected, operator });
  }
}

function check(holds, message, fallback, actual, expected, operator) {
  if (holds) return;
  if (message instanceof Error) throw message;
  const error = new AssertionError({ message: message ?? fallback(), actual, expected, operator });
  error.generatedMessage = message === undefined;
  throw error;
}

const compare = (operator, words, holds) => (actual, expected, message) =>
  check(holds(actual, expected), message, () => `${words}\n\n${inspect(actual)} ${operator} ${inspect(expected)}`, actual, expected, operator);

// Whether what was thrown is what was expected; false leaves it to the caller to say so.
function isExpected(thrown, expected) {
  if (expected === undefined) return true;
  if (expected instanceof RegExp) return expected.test(String(thrown));
  if (typeof expected === 'function') {
    if (expected.prototype !== undefined && thrown instanceof expected) return true;
    return Object.prototype.isPrototypeOf.call(Error, expected) || expected === Error ? false : expected(thrown) === true;
  }
  return Object.keys(expected).every((key) =>
    expected[key] instanceof RegExp && typeof thrown?.[key] === 'string'
      ? expected[key].test(thrown[key])
      : isDeepEqual(thrown?.[key], expected[key], true),
  );
}

function checkThrown(thrown, expected, message, operator) {
  if (typeof expected === 'string') [expected, message] = [undefined, expected];
  check(thrown, message, () => (operator === 'throws' ? 'Missing expected exception.' : 'Missing expected rejection.'), undefined, expected, operator);
  if (isExpected(thrown.value, expected)) return;
  if (typeof expected === 'function' && thrown.value instanceof Error) throw thrown.value;
  check(false, message, () => `${inspect(thrown.value)} is not what was expected`, thrown.value, expected, operator);
}

const ok = (value, message) => check(value, message, () => `${inspect(value)} is not truthy`, value, true, '==');
const assert = (value, message) => ok(value, message);
Object.assign(assert, {
  ok,
  AssertionError,
  equal: compare('==', 'Expected values to be loosely equal:', (a, b) => a == b || (a !== a && b !== b)),
  notEqual: compare('!=', 'Expected values not to be loosely equal:', (a, b) => !(a == b || (a !== a && b !== b))),
  strictEqual: compare('===', 'Expected values to be strictly equal:', Object.is),
  notStrictEqual: compare('!==', 'Expected values not to be strictly equal:', (a, b) => !Object.is(a, b)),
  deepEqual: compare('deepEqual', 'Expected values to be loosely deep-equal:', (a, b) => isDeepEqual(a, b, false)),
  notDeepEqual: compare('notDeepEqual', 'Expected values not to be loosely deep-equal:', (a, b) => !isDeepEqual(a, b, false)),
  deepStrictEqual: compare('deepStrictEqual', 'Expected values to be strictly deep-equal:', (a, b) => isDeepEqual(a, b, true)),
  notDeepStrictEqual: compare('notDeepStrictEqual', 'Expected values not to be strictly deep-equal:', (a, b) => !isDeepEqual(a, b, true)),
  match: compare('match', 'Expected the text to match:', (text, pattern) => pattern.test(text)),
  doesNotMatch: compare('doesNotMatch', 'Expected the text not to match:', (text, pattern) => !pattern.test(text)),
  fail(message) {
    check(false, message, () => 'Failed', undefined, undefined, 'fail');
  },
  ifError(value) {
    if (value !== null && value !== undefined) throw value;
  },
  throws(work, expected, message) {
    let thrown;
    try {
      work();
    } catch (value) {
      thrown = { value };
    }
    checkThrown(thrown, expected, message, 'throws');
  },
  doesNotThrow(work) {
    work();
  },
  async rejects(work, expected, message) {
    let thrown;
    try {
      await (typeof work === 'function' ? work() : work);
    } catch (value) {
      thrown = { value };
    }
    checkThrown(thrown, expected, message, 'rejects');
  },
  async doesNotReject(work) {
    await (typeof work === 'function' ? work() : work);
  },
});
assert.strict = Object.assign((value, message) => ok(value, message), assert, {
  equal: assert.strictEqual,
  notEqual: assert.notStrictEqual,
  deepEqual: assert.deepStrictEqual,
  notDeepEqual: assert.notDeepStrictEqual,
});
assert.strict.strict = assert.strict;
module.exports = assert;