// The module `timers/promises`.
'use strict';
const { received } = require('internal/received');
const { functions } = shared.timers;

const refusal = (Kind, code, message) => Object.assign(new Kind(message), { code });
const aborted = (signal) => Object.assign(new Error('The operation was aborted', { cause: signal.reason }), { name: 'AbortError', code: 'ABORT_ERR' });

// What is wrong with the options, or undefined.
function faultOf(options) {
  const { signal, ref = true } = options ?? {};
  if (options === null || typeof options !== 'object') return refusal(TypeError, 'ERR_INVALID_ARG_TYPE', `The "options" argument must be of type object. Received ${received(options)}`);
  if (signal !== undefined && (signal === null || typeof signal !== 'object' || !('aborted' in signal))) return refusal(TypeError, 'ERR_INVALID_ARG_TYPE', `The "options.signal" property must be an instance of AbortSignal. Received ${received(signal)}`);
  if (typeof ref !== 'boolean') return refusal(TypeError, 'ERR_INVALID_ARG_TYPE', `The "options.ref" property must be of type boolean. Received ${received(ref)}`);
  return signal?.aborted ? aborted(signal) : undefined;
}

function later(set, value, options = {}) {
  const fault = faultOf(options);
  if (fault) return Promise.reject(fault);
  const { signal, ref = true } = options;
  return new Promise((resolve, reject) => {
    const timer = set(() => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    });
    const abort = () => {
      functions.clearTimeout(timer);
      reject(aborted(signal));
    };
    if (!ref) timer.unref();
    signal?.addEventListener('abort', abort, { once: true });
  });
}

function setTimeout(delay, value, options) {
  if (delay !== undefined && typeof delay !== 'number') return Promise.reject(refusal(TypeError, 'ERR_INVALID_ARG_TYPE', `The "delay" argument must be of type number. Received ${received(delay)}`));
  return later((callback) => functions.setTimeout(callback, delay), value, options);
}

function setImmediate(value, options) {
  return later((callback) => functions.setImmediate(callback), value, options);
}

// Ticks that nobody has asked for yet are counted.
async function* setInterval(delay, value, options = {}) {
  const fault = faultOf(options);
  if (fault) throw fault;
  const { signal, ref = true } = options;
  let due = 0;
  let wake;
  const timer = functions.setInterval(() => {
    due++;
    wake?.();
  }, delay);
  if (!ref) timer.unref();
  const abort = () => {
    functions.clearInterval(timer);
    wake?.();
  };
  signal?.addEventListener('abort', abort, { once: true });
  try {
    for (;;) {
      if (signal?.aborted) throw aborted(signal);
      if (!due) await new Promise((resolve) => void (wake = resolve));
      for (; due > 0; due--) yield value;
    }
  } finally {
    functions.clearInterval(timer);
    signal?.removeEventListener('abort', abort);
  }
}

class Scheduler {
  constructor() {
    throw refusal(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
  }
  wait(delay, options) {
    return setTimeout(delay, undefined, options);
  }
  yield() {
    return setImmediate();
  }
}

module.exports = { setTimeout, setImmediate, setInterval, scheduler: Object.create(Scheduler.prototype) };
