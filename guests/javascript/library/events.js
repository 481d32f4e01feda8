// The module `events`.
'use strict';
const { inspect } = shared;
const { received } = require('internal/received');

function refuse(Kind, code, message) {
  throw Object.assign(new Kind(message), { code });
}

// An emitter's listeners are where Node.js has them, in `_events`: packages look there. Any object with the methods is an emitter.
function eventsOf(emitter) {
  if (emitter._events === undefined || emitter._events === Object.getPrototypeOf(emitter)?._events) {
    emitter._events = Object.create(null);
    emitter._eventsCount = 0;
  }
  return emitter._events;
}

// The listeners of an event. The list is never changed, so who goes through it sees no change.
function listOf(emitter, name) {
  const found = emitter._events?.[name];
  return found === undefined ? [] : typeof found === 'function' ? [found] : found;
}

function setList(emitter, name, list) {
  const events = eventsOf(emitter);
  if (events[name] === undefined && list.length) emitter._eventsCount++;
  if (list.length) events[name] = list.length === 1 ? list[0] : list;
  else if (delete events[name] && --emitter._eventsCount === 0) emitter._events = Object.create(null);
}

function check(listener) {
  if (typeof listener === 'function') return;
  refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "listener" argument must be of type function. Received ${received(listener)}`);
}

function add(emitter, name, listener, first) {
  check(listener);
  if (eventsOf(emitter).newListener !== undefined) emitter.emit('newListener', name, listener.listener ?? listener);
  const list = listOf(emitter, name);
  const longer = first ? [listener, ...list] : [...list, listener];
  setList(emitter, name, longer);
  warn(emitter, name, longer.length);
  return emitter;
}

const warned = new WeakMap();

// Once for each event of an emitter, when it has more listeners than it should.
function warn(emitter, name, count) {
  const most = emitter.getMaxListeners?.() ?? EventEmitter.defaultMaxListeners;
  if (!(most > 0) || count <= most || warned.get(emitter)?.has(name)) return;
  warned.set(emitter, (warned.get(emitter) ?? new Set()).add(name));
  const kind = emitter.constructor?.name ?? 'EventEmitter';
  const message = `Possible EventEmitter memory leak detected. ${count} ${String(name)} listeners added to [${kind}]. MaxListeners is ${most}. Use emitter.setMaxListeners() to increase limit`;
  const warning = Object.assign(new Error(message), { name: 'MaxListenersExceededWarning', emitter, type: name, count });
  process.emitWarning(warning);
}

// A listener that is called once. What it stands for is its `listener`.
function wrap(emitter, name, listener) {
  check(listener);
  let isDone = false;
  function call(...values) {
    if (isDone) return undefined;
    isDone = true;
    emitter.removeListener(name, call);
    return listener.apply(emitter, values);
  }
  return Object.assign(call, { listener });
}

const is = (entry, listener) => entry === listener || entry.listener === listener;

function addListener(name, listener) {
  return add(this, name, listener, false);
}

function removeListener(name, listener) {
  check(listener);
  const list = listOf(this, name);
  const at = list.findLastIndex((entry) => is(entry, listener));
  if (at < 0) return this;
  setList(this, name, list.toSpliced(at, 1));
  if (this._events.removeListener !== undefined) this.emit('removeListener', name, list[at].listener ?? listener);
  return this;
}

const methods = {
  on: addListener,
  addListener,
  once(name, listener) {
    return this.on(name, wrap(this, name, listener));
  },
  prependListener(name, listener) {
    return add(this, name, listener, true);
  },
  prependOnceListener(name, listener) {
    return this.prependListener(name, wrap(this, name, listener));
  },
  off: removeListener,
  removeListener,
  removeAllListeners(...names) {
    const events = eventsOf(this);
    if (events.removeListener === undefined) {
      if (names.length) setList(this, names[0], []);
      else [this._events, this._eventsCount] = [Object.create(null), 0];
      return this;
    }
    if (names.length) {
      for (const listener of listOf(this, names[0]).toReversed()) this.removeListener(names[0], listener);
      return this;
    }
    // Those who are told of it are the last to go.
    for (const name of Reflect.ownKeys(events)) if (name !== 'removeListener') this.removeAllListeners(name);
    return this.removeAllListeners('removeListener');
  },
  emit(name, ...values) {
    if (name === 'error' && this._events?.[errorMonitor] !== undefined) this.emit(errorMonitor, ...values);
    const list = listOf(this, name);
    if (!list.length) {
      if (name !== 'error') return false;
      if (values[0] instanceof Error) throw values[0];
      const error = new Error(`Unhandled error. (${typeof values[0] === 'string' ? `'${values[0]}'` : inspect(values[0])})`);
      error.code = 'ERR_UNHANDLED_ERROR';
      error.context = values[0];
      throw error;
    }
    const captures = this[captureRejections] ?? EventEmitter.captureRejections;
    for (const listener of list) {
      const result = listener.apply(this, values);
      if (captures && typeof result?.then === 'function') result.then(undefined, (error) => rejected(this, name, values, error));
    }
    return true;
  },
  listenerCount(name, listener) {
    const list = listOf(this, name);
    return listener ? list.filter((entry) => is(entry, listener)).length : list.length;
  },
  listeners(name) {
    return listOf(this, name).map((entry) => entry.listener ?? entry);
  },
  rawListeners(name) {
    return [...listOf(this, name)];
  },
  eventNames() {
    return Reflect.ownKeys(this._events ?? {});
  },
  setMaxListeners(count) {
    if (typeof count !== 'number' || !(count >= 0)) {
      refuse(RangeError, 'ERR_OUT_OF_RANGE', `The value of "n" is out of range. It must be a non-negative number. Received ${inspect(count)}`);
    }
    this._maxListeners = count;
    return this;
  },
  getMaxListeners() {
    return this._maxListeners ?? EventEmitter.defaultMaxListeners;
  },
};

const errorMonitor = Symbol('events.errorMonitor');
const captureRejections = Symbol('kCapture');
const rejection = Symbol.for('nodejs.rejection');

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
  eventsOf(this);
  this._maxListeners ??= undefined;
  if (options?.captureRejections) Object.defineProperty(this, captureRejections, { value: true });
};
Object.assign(EventEmitter.prototype, { _events: undefined, _eventsCount: 0, _maxListeners: undefined });
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
