// The module `assert`.
'use strict';
const AssertionError = require('internal/assertion_error');
const { received } = require('internal/received');
const isDeepEqual = require('internal/equal');
const { details } = native;
const { inspect } = shared;

const failure = (Kind, code, message) => Object.assign(new Kind(message), { code });
const wrongType = (name, expected, value) => failure(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be ${expected}. Received ${received(value)}`);
const isError = (value) => value instanceof Error || (typeof value === 'object' && value !== null && details(value)[0] === 'error');
const isRegExp = (value) => typeof value === 'object' && value !== null && details(value)[0] === 'regexp';

// Throws an AssertionError, or the error that was given in its place.
function fail(options) {
  if (isError(options.message)) throw options.message;
  const error = new AssertionError(options);
  if (options.isGenerated) error.generatedMessage = true;
  throw error;
}

function checkTruth(count, value, message, stackStartFn) {
  if (value) return;
  const isMissing = count === 0;
  fail({ actual: value, expected: true, message: isMissing ? 'No value argument passed to `assert.ok()`' : message, operator: '==', stackStartFn, isGenerated: isMissing });
}

const loosely = (a, b) => a == b || (a !== a && b !== b);
const comparisons = {
  equal: ['==', loosely],
  notEqual: ['!=', (a, b) => !loosely(a, b)],
  strictEqual: ['strictEqual', Object.is],
  notStrictEqual: ['notStrictEqual', (a, b) => !Object.is(a, b)],
  deepEqual: ['deepEqual', (a, b) => isDeepEqual(a, b, false)],
  notDeepEqual: ['notDeepEqual', (a, b) => !isDeepEqual(a, b, false)],
  deepStrictEqual: ['deepStrictEqual', (a, b) => isDeepEqual(a, b, true)],
  notDeepStrictEqual: ['notDeepStrictEqual', (a, b) => !isDeepEqual(a, b, true)],
};

function comparison(name) {
  const [operator, holds] = comparisons[name];
  const compare = {
    [name](actual, expected, message) {
      if (arguments.length < 2) throw failure(TypeError, 'ERR_MISSING_ARGS', 'The "actual" and "expected" arguments must be specified');
      if (!holds(actual, expected)) fail({ actual, expected, message, operator, stackStartFn: compare });
    },
  }[name];
  return compare;
}

// What is compared of an error and of what was expected of it.
class Comparison {
  constructor(value, keys, other) {
    for (const key of keys) {
      if (!(key in value)) continue;
      const isMatch = other !== undefined && typeof other[key] === 'string' && isRegExp(value[key]) && RegExp.prototype.exec.call(value[key], other[key]);
      this[key] = isMatch ? other[key] : value[key];
    }
  }
}

function failToExpect(actual, expected, message, operator, stackStartFn, generated) {
  const isGenerated = message === undefined || message === null;
  fail({ actual, expected, message: isGenerated ? generated : message, operator, stackStartFn, isGenerated });
}

function compareKeys(actual, expected, message, method) {
  const keys = Object.keys(expected);
  if (isError(expected)) keys.push('name', 'message');
  else if (!keys.length) throw failure(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'error' may not be an empty object. Received ${inspect(expected)}`);
  const isSame = (key) => key in actual && (isDeepEqual(actual[key], expected[key], true) || (typeof actual[key] === 'string' && isRegExp(expected[key]) && expected[key].test(actual[key])));
  if (keys.every(isSame)) return;
  if (message !== undefined && message !== null) failToExpect(actual, expected, message, method.name, method);
  const error = difference(new Comparison(actual, keys), new Comparison(expected, keys, actual), method);
  failToExpect(actual, expected, undefined, method.name, method, error.message);
}

// The error that comparing two values ends with.
const difference = (actual, expected, stackStartFn, message) => new AssertionError({ actual, expected, message, operator: 'deepStrictEqual', stackStartFn });

function checkClass(actual, expected, message, method) {
  if (Object.prototype.isPrototypeOf.call(Error, expected) || expected === Error) {
    let text = `The error is expected to be an instance of "${expected.name}". Received `;
    if (isError(actual)) {
      const name = actual.constructor?.name || actual.name;
      text += expected.name === name ? 'an error with identical name but a different prototype.' : `"${name}"`;
      text += `\n\nError message:\n\n${actual.message}`;
    } else {
      text += `"${inspect(actual, { depth: -1 })}"`;
    }
    failToExpect(actual, expected, message, method.name, method, text);
  }
  const answer = Reflect.apply(expected, {}, [actual]);
  if (answer === true) return;
  const name = expected.name ? `"${expected.name}" ` : '';
  let text = `The ${name}validation function is expected to return "true". Received ${inspect(answer)}`;
  if (isError(actual)) text += `\n\nCaught error:\n\n${actual}`;
  failToExpect(actual, expected, message, method.name, method, text);
}

// Whether what was thrown is what was expected.
function checkError(actual, expected, message, method) {
  if (typeof expected === 'function') {
    if (expected.prototype !== undefined && actual instanceof expected) return;
    checkClass(actual, expected, message, method);
    return;
  }
  if (isRegExp(expected)) {
    const text = String(actual);
    if (RegExp.prototype.exec.call(expected, text)) return;
    failToExpect(actual, expected, message, method.name, method, `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(text)}\n`);
  }
  if (typeof actual !== 'object' || actual === null) {
    const error = difference(actual, expected, method, message);
    error.operator = method.name;
    throw error;
  }
  compareKeys(actual, expected, message, method);
}

const nothing = {};
function callSafely(work) {
  if (typeof work !== 'function') throw wrongType('fn', 'of type function', work);
  try {
    work();
  } catch (error) {
    return error;
  }
  return nothing;
}

const isThenable = (value) => value instanceof Promise || (typeof value === 'object' && value !== null && typeof value.then === 'function' && typeof value.catch === 'function');
async function awaitSafely(work) {
  let promise = work;
  if (typeof work === 'function') {
    promise = work();
    if (!isThenable(promise)) {
      const kind = promise?.constructor?.name ? `an instance of ${promise.constructor.name}` : typeof promise === 'object' ? inspect(promise, { depth: -1 }) : promise === undefined ? 'undefined' : `type ${typeof promise}`;
      throw failure(TypeError, 'ERR_INVALID_RETURN_VALUE', `Expected instance of Promise to be returned from the "promiseFn" function but got ${kind}.`);
    }
  } else if (!isThenable(work)) {
    throw wrongType('promiseFn', 'of type function or an instance of Promise', work);
  }
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return nothing;
}

function checkThrown(method, count, actual, expected, message) {
  if (typeof expected === 'string') {
    if (count > 3) throw wrongType('error', 'of type function or an instance of Error, RegExp, or Object', expected);
    const isSame = isError(actual) ? actual.message === expected : actual === expected;
    if (isSame) throw failure(TypeError, 'ERR_AMBIGUOUS_ARGUMENT', `The "error/message" argument is ambiguous. The error ${isError(actual) ? 'message ' : ''}"${expected}" is identical to the message.`);
    [expected, message] = [undefined, expected];
  } else if (expected !== undefined && expected !== null && typeof expected !== 'object' && typeof expected !== 'function') {
    throw wrongType('error', 'of type function or an instance of Error, RegExp, or Object', expected);
  }
  if (actual === nothing) {
    const name = expected?.name ? ` (${expected.name})` : '';
    const kind = method.name === 'rejects' ? 'rejection' : 'exception';
    fail({ actual: undefined, expected, message: `Missing expected ${kind}${name}${message ? `: ${message}` : '.'}`, operator: method.name, stackStartFn: method });
  }
  if (expected !== undefined && expected !== null) checkError(actual, expected, message, method);
}

function matches(actual, expected) {
  if (isRegExp(expected)) return RegExp.prototype.exec.call(expected, String(actual)) !== null;
  if (typeof expected !== 'function') throw wrongType('expected', 'of type function or an instance of RegExp', expected);
  if (expected.prototype !== undefined && actual instanceof expected) return true;
  if (Object.prototype.isPrototypeOf.call(Error, expected)) return false;
  return Reflect.apply(expected, {}, [actual]) === true;
}

function checkNotThrown(method, actual, expected, message) {
  if (actual === nothing) return;
  if (typeof expected === 'string') [expected, message] = [undefined, expected];
  if (expected && !matches(actual, expected)) throw actual;
  const kind = method.name === 'doesNotReject' ? 'rejection' : 'exception';
  fail({ actual, expected, message: `Got unwanted ${kind}${message ? `: ${message}` : '.'}\nActual message: "${actual?.message ?? actual}"`, operator: method.name, stackStartFn: method });
}

function checkMatch(method, text, pattern, message, wanted) {
  if (!isRegExp(pattern)) throw wrongType('regexp', 'an instance of RegExp', pattern);
  const isText = typeof text === 'string';
  if (isText && (RegExp.prototype.exec.call(pattern, text) !== null) === wanted) return;
  const generated = isText
    ? `${wanted ? 'The input did not match the' : 'The input was expected to not match the'} regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`
    : `The "string" argument must be of type string. Received type ${typeof text} (${inspect(text)})`;
  failToExpect(text, pattern, message, method.name, method, generated);
}

function stackWithout(error, thrown) {
  const origin = thrown.stack;
  if (typeof origin !== 'string' || !origin.includes('\n    at ')) return;
  const own = error.stack.split('\n');
  const frames = origin.slice(origin.indexOf('\n    at') + 1).split('\n');
  const at = own.findIndex((line) => frames.includes(line));
  error.stack = [...(at < 0 ? own : own.slice(0, at)), ...frames].join('\n');
}

let isFailTold = false;
function warnOfFail() {
  if (!isFailTold) process.emitWarning('assert.fail() with more than one argument is deprecated. Please use assert.strictEqual() instead or only pass a message.', 'DeprecationWarning', 'DEP0094');
  isFailTold = true;
}

const functions = {
  fail(actual, expected, message, operator, stackStartFn) {
    const count = arguments.length;
    const isGenerated = count <= 1 && (actual === undefined || actual === null);
    if (isGenerated) message = 'Failed';
    else if (count === 1) [message, actual] = [actual, undefined];
    else {
      warnOfFail();
      if (count === 2) operator = '!=';
    }
    fail({ actual, expected, message, operator: operator ?? 'fail', stackStartFn: stackStartFn ?? functions.fail, isGenerated });
  },
  AssertionError,
  ok(...values) {
    checkTruth(values.length, ...values.concat([undefined, undefined]).slice(0, 2), functions.ok);
  },
  ...Object.fromEntries(Object.keys(comparisons).map((name) => [name, comparison(name)])),
  throws(work, ...values) {
    checkThrown(functions.throws, values.length + 2, callSafely(work), ...values);
  },
  async rejects(work, ...values) {
    checkThrown(functions.rejects, values.length + 2, await awaitSafely(work), ...values);
  },
  doesNotThrow(work, ...values) {
    checkNotThrown(functions.doesNotThrow, callSafely(work), ...values);
  },
  async doesNotReject(work, ...values) {
    checkNotThrown(functions.doesNotReject, await awaitSafely(work), ...values);
  },
  ifError(value) {
    if (value === null || value === undefined) return;
    const isNamed = typeof value === 'object' && typeof value.message === 'string';
    const text = !isNamed ? inspect(value) : value.message.length === 0 && value.constructor ? value.constructor.name : value.message;
    const error = new AssertionError({ actual: value, expected: null, operator: 'ifError', message: `ifError got unwanted exception: ${text}`, stackStartFn: functions.ifError });
    error.generatedMessage = true;
    stackWithout(error, value);
    throw error;
  },
  match(text, pattern, message) {
    checkMatch(functions.match, text, pattern, message, true);
  },
  doesNotMatch(text, pattern, message) {
    checkMatch(functions.doesNotMatch, text, pattern, message, false);
  },
  get CallTracker() {
    return require('internal/call_tracker');
  },
};

function assert(...values) {
  checkTruth(values.length, values[0], values[1], assert);
}
function strict(...values) {
  checkTruth(values.length, values[0], values[1], strict);
}
Object.defineProperties(assert, Object.getOwnPropertyDescriptors(functions));
Object.defineProperties(strict, Object.getOwnPropertyDescriptors(functions));
const { deepStrictEqual, notDeepStrictEqual, notStrictEqual, strictEqual } = functions;
Object.assign(strict, { equal: strictEqual, notEqual: notStrictEqual, deepEqual: deepStrictEqual, notDeepEqual: notDeepStrictEqual });
assert.strict = strict;
strict.strict = strict;
module.exports = assert;
