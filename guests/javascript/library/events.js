// The module `events`.
'use strict';
const { inspect } = shared;
const { error: failure, need, needFunction, needObject, outOfRange, wrongType } = require('internal/arguments');

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
  if (list.length > 1 && events[name]?.warned) list.warned = true;
  if (list.length) events[name] = list.length === 1 ? list[0] : list;
  else if (delete events[name] && --emitter._eventsCount === 0) emitter._events = Object.create(null);
}

const check = (listener) => needFunction('listener', listener);

function add(emitter, name, listener, first) {
  check(listener);
  if (eventsOf(emitter).newListener !== undefined) emitter.emit('newListener', name, listener.listener ?? listener);
  const list = listOf(emitter, name);
  const longer = first ? [listener, ...list] : [...list, listener];
  setList(emitter, name, longer);
  if (longer.length > 1) warn(emitter, name, longer);
  return (shared.asides.value = emitter);
}

// Once for each event of an emitter, when it has more listeners than it should.
function warn(emitter, name, list) {
  const most = emitter.getMaxListeners?.() ?? EventEmitter.defaultMaxListeners;
  const count = list.length;
  if (!(most > 0) || count <= most || list.warned) return;
  list.warned = true;
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
  shared.asides.value = this;
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
      throw Object.assign(failure(Error, 'ERR_UNHANDLED_ERROR', `Unhandled error. (${textOf(values[0])})`), { context: values[0] });
    }
    const captures = this[captureRejections] ?? EventEmitter.captureRejections;
    for (const listener of list) {
      const result = listener.apply(this, values);
      if (captures && result !== undefined && result !== null) follow(this, name, values, result);
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
    this._maxListeners = needCount('setMaxListeners', count);
    return this;
  },
  getMaxListeners() {
    return this._maxListeners ?? EventEmitter.defaultMaxListeners;
  },
};

const errorMonitor = Symbol('events.errorMonitor');
const captureRejections = Symbol('kCapture');
const rejection = Symbol.for('nodejs.rejection');

// What an asynchronous listener fails with is the emitter's error. While that is told nothing is followed, or it would go round.
function follow(emitter, name, values, result) {
  const failed = (error) => process.nextTick(rejected, emitter, name, values, error);
  try {
    const { then } = result;
    if (typeof then === 'function') Reflect.apply(then, result, [undefined, failed]);
  } catch (error) {
    emitter.emit('error', error);
  }
}

function rejected(emitter, name, values, error) {
  if (typeof emitter[rejection] === 'function') return emitter[rejection](error, name, ...values);
  const before = Object.getOwnPropertyDescriptor(emitter, captureRejections);
  Object.defineProperty(emitter, captureRejections, { value: false, configurable: true });
  try {
    emitter.emit('error', error);
  } finally {
    if (before) Object.defineProperty(emitter, captureRejections, before);
    else delete emitter[captureRejections];
  }
}

function needCount(name, count) {
  need('number', name, count);
  if (!(count >= 0)) throw outOfRange(name, '>= 0', count);
  return count;
}

function textOf(value) {
  try {
    return inspect(value);
  } catch {
    return String(value);
  }
}

// A function, because old code calls it on objects of its own classes.
function EventEmitter(options) {
  EventEmitter.init.call(this, options);
}
EventEmitter.init = function (options) {
  eventsOf(this);
  this._maxListeners ??= undefined;
  if (options?.captureRejections !== undefined) {
    Object.defineProperty(this, captureRejections, { value: need('boolean', 'options.captureRejections', options.captureRejections), configurable: true });
  }
};
Object.assign(EventEmitter.prototype, { _events: undefined, _eventsCount: 0, _maxListeners: undefined });
for (const name of Object.keys(methods)) {
  Object.defineProperty(EventEmitter.prototype, name, { value: methods[name], writable: true, configurable: true, enumerable: true });
}
// A static property that takes only what it may be.
function setting(name, value, check) {
  const set = (given) => (value = check(given));
  Object.defineProperty(EventEmitter, name, { get: () => value, set, enumerable: true });
}
setting('defaultMaxListeners', 10, (count) => needCount('defaultMaxListeners', count));
setting('captureRejections', false, (given) => need('boolean', 'EventEmitter.captureRejections', given));
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
    throw wrongType('emitter', 'an instance of EventEmitter', emitter);
  }
  emitter.addEventListener(name, listener);
  return () => emitter.removeEventListener(name, listener);
}

function aborted(signal) {
  return Object.assign(new Error('The operation was aborted', { cause: signal.reason }), { name: 'AbortError', code: 'ABORT_ERR' });
}

function signalOf(options) {
  const { signal } = needObject('options', options);
  if (signal !== undefined && (typeof signal !== 'object' || signal === null || !('aborted' in signal))) throw wrongType('options.signal', 'an instance of AbortSignal', signal);
  return signal;
}

// A promise of the next event's values.
EventEmitter.once = async (emitter, name, options = {}) => {
  const signal = signalOf(options);
  return new Promise((resolve, reject) => {
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
};

// An asynchronous iterator of an event's values.
EventEmitter.on = (emitter, name, options = {}) => {
  const signal = signalOf(options);
  const { close = [] } = options;
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

const isTarget = (value) => value instanceof EventTarget;
const isEmitter = (value) => typeof value?.on === 'function' && typeof value.getMaxListeners === 'function';
const noEmitter = (name, value) => wrongType(name, 'an instance of EventEmitter or EventTarget', value);
// How many listeners a target of the web should have at most, where that was said.
const limits = new WeakMap();

EventEmitter.getEventListeners = (emitter, name) => {
  if (typeof emitter?.listeners === 'function') return emitter.listeners(name);
  if (isTarget(emitter)) return shared.listenersOf(emitter, name);
  throw noEmitter('emitter', emitter);
};
EventEmitter.getMaxListeners = (emitter) => {
  if (isEmitter(emitter)) return emitter.getMaxListeners();
  if (isTarget(emitter)) return limits.get(emitter) ?? EventEmitter.defaultMaxListeners;
  throw noEmitter('emitter', emitter);
};
EventEmitter.setMaxListeners = (count = EventEmitter.defaultMaxListeners, ...emitters) => {
  needCount('setMaxListeners', count);
  if (!emitters.length) EventEmitter.defaultMaxListeners = count;
  for (const emitter of emitters) {
    if (isTarget(emitter)) limits.set(emitter, count);
    else if (typeof emitter?.setMaxListeners === 'function') emitter.setMaxListeners(count);
    else throw noEmitter('eventTargets', emitter);
  }
};
EventEmitter.addAbortListener = (signal, listener) => {
  if (typeof signal !== 'object' || signal === null || !('aborted' in signal)) throw wrongType('signal', 'an instance of AbortSignal', signal);
  check(listener);
  if (signal.aborted) queueMicrotask(() => listener());
  else signal.addEventListener('abort', listener, { once: true, [shared.resists]: true });
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
Object.setPrototypeOf(shared.processPrototype, EventEmitter.prototype);
module.exports = EventEmitter;
