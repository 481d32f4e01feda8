// Modules of Node that are code of their own and none of the web's: events, util, assert.
(function (native, shared) {
  'use strict';
  const { details } = native;
  const { modules, inspect, format } = shared;

  // Not in the emitter itself, so that any object with the methods is one.
  const listeners = new WeakMap();
  const listenersOf = (emitter) => listeners.get(emitter) ?? listeners.set(emitter, new Map()).get(emitter);

  function add(emitter, name, listener, once, first) {
    if (typeof listener !== 'function') throw new TypeError('The "listener" argument must be of type function');
    const all = listenersOf(emitter);
    if (all.has('newListener')) emitter.emit('newListener', name, listener);
    const entry = { listener, once };
    const list = all.get(name) ?? [];
    all.set(name, first ? [entry, ...list] : [...list, entry]);
    return emitter;
  }

  function remove(emitter, name, entry) {
    const all = listenersOf(emitter);
    const rest = (all.get(name) ?? []).filter((other) => other !== entry);
    if (!entry || rest.length === all.get(name)?.length) return;
    if (rest.length) all.set(name, rest);
    else all.delete(name);
    if (all.has('removeListener')) emitter.emit('removeListener', name, entry.listener);
  }

  const methods = {
    on(name, listener) {
      return add(this, name, listener, false, false);
    },
    addListener(name, listener) {
      return add(this, name, listener, false, false);
    },
    once(name, listener) {
      return add(this, name, listener, true, false);
    },
    prependListener(name, listener) {
      return add(this, name, listener, false, true);
    },
    prependOnceListener(name, listener) {
      return add(this, name, listener, true, true);
    },
    off(name, listener) {
      remove(this, name, listenersOf(this).get(name)?.findLast((entry) => entry.listener === listener));
      return this;
    },
    removeListener(name, listener) {
      return this.off(name, listener);
    },
    removeAllListeners(name) {
      if (name === undefined) listenersOf(this).clear();
      else listenersOf(this).delete(name);
      return this;
    },
    emit(name, ...values) {
      const list = listenersOf(this).get(name);
      if (!list) {
        if (name !== 'error') return false;
        if (values[0] instanceof Error) throw values[0];
        const error = new Error(`Unhandled error. (${inspect(values[0])})`);
        error.code = 'ERR_UNHANDLED_ERROR';
        error.context = values[0];
        throw error;
      }
      for (const entry of list) {
        if (entry.once) remove(this, name, entry);
        entry.listener.apply(this, values);
      }
      return true;
    },
    listenerCount(name) {
      return listenersOf(this).get(name)?.length ?? 0;
    },
    listeners(name) {
      return (listenersOf(this).get(name) ?? []).map((entry) => entry.listener);
    },
    rawListeners(name) {
      return this.listeners(name);
    },
    eventNames() {
      return [...listenersOf(this).keys()];
    },
    setMaxListeners() {
      return this;
    },
    getMaxListeners() {
      return EventEmitter.defaultMaxListeners;
    },
  };

  // A function, because old code calls it on objects of its own classes.
  function EventEmitter() {}
  for (const name of Object.keys(methods)) {
    Object.defineProperty(EventEmitter.prototype, name, { value: methods[name], writable: true, configurable: true });
  }
  EventEmitter.defaultMaxListeners = 10;
  // A promise of the next event's values.
  EventEmitter.once = (emitter, name) =>
    new Promise((resolve, reject) => {
      const failed = (error) => {
        emitter.off(name, done);
        reject(error);
      };
      const done = (...values) => {
        emitter.off('error', failed);
        resolve(values);
      };
      emitter.once(name, done);
      if (name !== 'error') emitter.once('error', failed);
    });
  EventEmitter.EventEmitter = EventEmitter;
  modules.events = EventEmitter;

  const isObject = (value) => typeof value === 'object' && value !== null;
  const kindOf = (value) => details(value)[0];
  const bytesOf = (value) =>
    ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value);

  // Whether two values have the same structure. Pairs that are being compared count as equal, for the sake of cycles.
  function isDeepEqual(left, right, strict, open = []) {
    if (strict ? Object.is(left, right) : left == right || (left !== left && right !== right)) return true;
    if (!isObject(left) || !isObject(right)) return false;
    const kind = kindOf(left);
    if (kind !== kindOf(right)) return false;
    if (strict && Object.getPrototypeOf(left) !== Object.getPrototypeOf(right)) return false;
    if (open.some((pair) => pair[0] === left && pair[1] === right)) return true;
    open.push([left, right]);
    const same = isSame(kind, left, right, (a, b) => isDeepEqual(a, b, strict, open));
    open.pop();
    return same;
  }

  function isSame(kind, left, right, equal) {
    if (kind === 'date' || kind === 'boxed') return Object.is(left.valueOf(), right.valueOf());
    if (kind === 'regexp') return String(left) === String(right) && left.lastIndex === right.lastIndex;
    if (kind === 'bytes') {
      const [a, b] = [bytesOf(left), bytesOf(right)];
      return a.length === b.length && a.every((byte, i) => byte === b[i]);
    }
    if (kind === 'promise' || kind === 'iterator') return false;
    if (kind === 'error' && (left.name !== right.name || left.message !== right.message)) return false;
    if (kind === 'array' && left.length !== right.length) return false;
    if (kind === 'map' || kind === 'set') {
      if (left.size !== right.size) return false;
      const rest = [...right];
      for (const entry of left) {
        const at = rest.findIndex((other) => equal(entry, other));
        if (at < 0) return false;
        rest.splice(at, 1);
      }
    }
    const keys = Object.keys(left);
    if (keys.length !== Object.keys(right).length) return false;
    return keys.every((key) => Object.hasOwn(right, key) && equal(left[key], right[key]));
  }

  const promisified = Symbol.for('nodejs.util.promisify.custom');
  function promisify(callback) {
    if (typeof callback !== 'function') throw new TypeError('The "original" argument must be of type function');
    if (callback[promisified]) return callback[promisified];
    return function (...values) {
      return new Promise((resolve, reject) => {
        callback.call(this, ...values, (error, value) => (error ? reject(error) : resolve(value)));
      });
    };
  }
  promisify.custom = promisified;

  const is = (kind) => (value) => isObject(value) && kindOf(value) === kind;
  modules.util = {
    inspect,
    format: (...values) => format(values),
    promisify,
    callbackify:
      (work) =>
      (...values) => {
        const callback = values.pop();
        work(...values).then(
          (value) => queueMicrotask(() => callback(null, value)),
          (error) => queueMicrotask(() => callback(error)),
        );
      },
    inherits(constructor, parent) {
      Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
      Object.setPrototypeOf(constructor.prototype, parent.prototype);
    },
    deprecate: (work) => work,
    isDeepStrictEqual: (left, right) => isDeepEqual(left, right, true),
    stripVTControlCharacters: (text) => text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, ''),
    types: {
      isDate: is('date'),
      isMap: is('map'),
      isPromise: is('promise'),
      isProxy: is('proxy'),
      isRegExp: is('regexp'),
      isSet: is('set'),
      isNativeError: is('error'),
      isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
    },
    TextEncoder,
    TextDecoder,
  };

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
  modules.assert = assert;
  modules['assert/strict'] = assert.strict;
})
