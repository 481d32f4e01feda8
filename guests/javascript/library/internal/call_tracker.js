// assert.CallTracker: whether functions were called as often as they should.
'use strict';
const AssertionError = require('internal/assertion_error');
const { received } = require('internal/received');
const { inspect } = shared;

const failure = (Kind, code, message) => Object.assign(new Kind(message), { code });
const ignore = () => {};

class CallTracker {
  #tracked = new Map();
  #of(tracked) {
    const found = this.#tracked.get(tracked);
    if (!found) throw failure(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'tracked' is not a tracked function. Received ${inspect(tracked)}`);
    return found;
  }
  calls(work, expected = 1) {
    if (process._exiting) throw failure(Error, 'ERR_UNAVAILABLE_DURING_EXIT', 'Cannot call function in process exit handler');
    if (typeof work === 'number') [work, expected] = [ignore, work];
    else if (work === undefined) work = ignore;
    if (typeof expected !== 'number') throw failure(TypeError, 'ERR_INVALID_ARG_TYPE', `The "expected" argument must be of type number. Received ${received(expected)}`);
    if (!Number.isInteger(expected) || expected < 1) throw failure(RangeError, 'ERR_OUT_OF_RANGE', `The value of "expected" is out of range. It must be ${Number.isInteger(expected) ? '>= 1' : 'an integer'}. Received ${inspect(expected)}`);
    const calls = [];
    const tracked = new Proxy(work, {
      apply(target, self, values) {
        calls.push(Object.freeze({ thisArg: self, arguments: Object.freeze(values.slice()) }));
        return Reflect.apply(target, self, values);
      },
    });
    this.#tracked.set(tracked, { calls, expected, name: work.name || 'calls', stack: new Error() });
    return tracked;
  }
  getCalls(tracked) {
    return Object.freeze(this.#of(tracked).calls.slice());
  }
  reset(tracked) {
    for (const each of tracked === undefined ? this.#tracked.values() : [this.#of(tracked)]) each.calls.length = 0;
  }
  report() {
    const wrong = [...this.#tracked.values()].filter(({ calls, expected }) => calls.length !== expected);
    return wrong.map(({ calls, expected, name, stack }) => ({
      message: `Expected the ${name} function to be executed ${expected} time(s) but was executed ${calls.length} time(s).`,
      actual: calls.length,
      expected,
      operator: name,
      stack,
    }));
  }
  verify() {
    const errors = this.report();
    if (!errors.length) return;
    throw new AssertionError({ message: errors.length === 1 ? errors[0].message : 'Functions were not called the expected number of times', details: errors });
  }
}

module.exports = CallTracker;
