// The module `events`.
'use strict';
const { inspect } = shared;

function refuse(Kind, code, message) {
  throw Object.assign(new Kind(message), { code });
}

// Not in the emitter itself, so that any object with the methods is one.
const listeners = new WeakMap();
const listenersOf = (emitter) => listeners.get(emitter) ?? listeners.set(emitter, new Map()).get(emitter);

function add(emitter, name, listener, once, first) {
  if (typeof listener !== 'function') {
    refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "listener" argument must be of type function. Received ${inspect(listener)}`);
  }
  const all = listenersOf(emitter);
  if (all.has('newListener')) emitter.emit('newListener', name, listener.listener ?? listener);
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

function removeListener(name, listener) {
  remove(this, name, listenersOf(this).get(name)?.findLast((entry) => entry.listener === listener));
  return this;
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
  // None of these calls another by its name: a class that replaces one would be called again and again.
  off: removeListener,
  removeListener,
  removeAllListeners(name) {
    if (name === undefined) listenersOf(this).clear();
    else listenersOf(this).delete(name);
    return this;
  },
  emit(name, ...values) {
    const all = listenersOf(this);
    if (name === 'error' && all.has(errorMonitor)) this.emit(errorMonitor, ...values);
    const list = all.get(name);
    if (!list) {
      if (name !== 'error') return false;
      if (values[0] instanceof Error) throw values[0];
      const error = new Error(`Unhandled error. (${inspect(values[0])})`);
      error.code = 'ERR_UNHANDLED_ERROR';
      error.context = values[0];
      throw error;
    }
    const captures = this[captureRejections] ?? EventEmitter.captureRejections;
    for (const entry of list) {
      if (entry.once) remove(this, name, entry);
      const result = entry.listener.apply(this, values);
      if (captures && typeof result?.then === 'function') result.then(undefined, (error) => rejected(this, name, values, error));
    }
    return true;
  },
  listenerCount(name, listener) {
    const list = listenersOf(this).get(name) ?? [];
    return listener ? list.filter((entry) => entry.listener === listener).length : list.length;
  },
  listeners(name) {
    return (listenersOf(this).get(name) ?? []).map((entry) => entry.listener);
  },
  rawListeners(name) {
    return (listenersOf(this).get(name) ?? []).map((entry) => {
      if (!entry.once) return entry.listener;
      const call = (...values) => {
        remove(this, name, entry);
        return entry.listener.apply(this, values);
      };
      return Object.assign(call, { listener: entry.listener });
    });
  },
  eventNames() {
    return [...listenersOf(this).keys()];
  },
  setMaxListeners(count) {
    if (typeof count !== 'number' || !(count >= 0)) {
      refuse(RangeError, 'ERR_OUT_OF_RANGE', `The value of "n" is out of range. It must be a non-negative number. Received ${inspect(count)}`);
    }
    most.set(this, count);
    return this;
  },
  getMaxListeners() {
    return most.get(this) ?? EventEmitter.defaultMaxListeners;
  },
};

const errorMonitor = Symbol('events.errorMonitor');
const captureRejections = Symbol('kCapture');
const rejection = Symbol.for('nodejs.rejection');
const most = new WeakMap();

function rejected(emitter, name, values, error) {
  if (typeof emitter[rejection] === 'function') emitter[rejection](error, name, ...values);
  else if (name !== 'error') emitter.emit('error', error);
  else throw error;
}

// A function, because old code calls it on objects of its own classes.
function EventEmitter(options) {
  EventEmitter.init.call(this, options);
}
EventEmitter.init = function (options) {
  if (options?.captureRejections) Object.defineProperty(this, captureRejections, { value: true });
};
for (const name of Object.keys(methods)) {
  Object.defineProperty(EventEmitter.prototype, name, { value: methods[name], writable: true, configurable: true, enumerable: true });
}
EventEmitter.defaultMaxListeners = 10;
EventEmitter.captureRejections = false;
EventEmitter.captureRejectionSymbol = rejection;
EventEmitter.errorMonitor = errorMonitor;
EventEmitter.usingDomains = false;

// Listens on an emitter or on an EventTarget; what it returns ends that.
function listen(emitter, name, listener) {
  if (typeof emitter.on === 'function') {
    emitter.on(name, listener);
    return () => emitter.removeListener(name, listener);
  }
  if (typeof emitter.addEventListener !== 'function') {
    refuse(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "emitter" argument must be an instance of EventEmitter or EventTarget');
  }
  emitter.addEventListener(name, listener);
  return () => emitter.removeEventListener(name, listener);
}

function aborted(signal) {
  return Object.assign(new Error('The operation was aborted', { cause: signal.reason }), { name: 'AbortError', code: 'ABORT_ERR' });
}

// A promise of the next event's values.
EventEmitter.once = (emitter, name, { signal } = {}) =>
  new Promise((resolve, reject) => {
    const ends = [];
    const end = () => ends.forEach((each) => each());
    if (signal?.aborted) return reject(aborted(signal));
    ends.push(
      listen(emitter, name, (...values) => {
        end();
        resolve(values);
      }),
    );
    const failed = (error) => {
      end();
      reject(error);
    };
    if (name !== 'error' && typeof emitter.on === 'function') ends.push(listen(emitter, 'error', failed));
    if (signal) ends.push(listen(signal, 'abort', () => failed(aborted(signal))));
  });

// An asynchronous iterator of an event's values.
EventEmitter.on = (emitter, name, { signal, close = [] } = {}) => {
  if (signal?.aborted) throw aborted(signal);
  const values = [];
  const waiting = [];
  let failure;
  let done = false;
  const settle = () => {
    while (waiting.length) {
      const { resolve, reject } = waiting[0];
      if (values.length) resolve({ value: values.shift(), done: false });
      else if (failure) {
        reject(failure.error);
        failure = undefined;
        done = true;
      } else if (done) resolve({ value: undefined, done: true });
      else return;
      waiting.shift();
    }
  };
  const ends = [listen(emitter, name, (...given) => (values.push(given), settle()))];
  const finish = (error) => {
    ends.forEach((each) => each());
    if (error) failure = { error };
    else done = true;
    settle();
  };
  if (name !== 'error' && typeof emitter.on === 'function') ends.push(listen(emitter, 'error', finish));
  for (const each of close) ends.push(listen(emitter, each, () => finish()));
  if (signal) ends.push(listen(signal, 'abort', () => finish(aborted(signal))));
  return {
    next: () =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        settle();
      }),
    async return() {
      finish();
      return { value: undefined, done: true };
    },
    async throw(error) {
      finish(error);
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
};

EventEmitter.listenerCount = (emitter, name) => emitter.listenerCount(name);
EventEmitter.getEventListeners = (emitter, name) => (typeof emitter.listeners === 'function' ? emitter.listeners(name) : []);
EventEmitter.getMaxListeners = (emitter) => emitter.getMaxListeners?.() ?? EventEmitter.defaultMaxListeners;
EventEmitter.setMaxListeners = (count = EventEmitter.defaultMaxListeners, ...emitters) => {
  if (!emitters.length) EventEmitter.defaultMaxListeners = count;
  for (const emitter of emitters) emitter.setMaxListeners?.(count);
};
EventEmitter.addAbortListener = (signal, listener) => {
  if (signal.aborted) queueMicrotask(() => listener());
  else signal.addEventListener('abort', listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener) };
};
EventEmitter.EventEmitter = EventEmitter;
EventEmitter.EventEmitterAsyncResource = class EventEmitterAsyncResource extends EventEmitter {
  constructor(options) {
    super(options);
    const { AsyncResource } = require('async_hooks');
    this.asyncResource = new AsyncResource(options?.name ?? 'EventEmitterAsyncResource');
  }
  emit(...values) {
    return this.asyncResource.runInAsyncScope(super.emit, this, ...values);
  }
  emitDestroy() {}
};
module.exports = EventEmitter;
