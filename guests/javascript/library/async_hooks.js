// The module `async_hooks`: values that follow asynchronous work. The engine keeps one value with each reaction of a promise and each
// timer (`native.context`, `native.setContext`); it is a map from storages to their values, which is never changed. Hooks are told of what the
// program itself announces (`AsyncResource`), and of promises, timers and ticks, which have numbers while there is a hook.
'use strict';
const { error, need, needFunction } = require('internal/arguments');
const { context, nextTick, setContext } = native;
const listenToPromises = require('internal/promise_hooks');

function within(state, work, self, values) {
  const before = context();
  setContext(state);
  try {
    return Reflect.apply(work, self, values);
  } finally {
    setContext(before);
  }
}

class AsyncLocalStorage {
  #default;
  #name;
  constructor(options) {
    this.#default = options?.defaultValue;
    this.#name = options?.name ?? '';
  }
  get name() {
    return this.#name;
  }
  static bind(work) {
    return AsyncResource.bind(needFunction('fn', work));
  }
  static snapshot() {
    const state = context();
    return (work, ...values) => within(state, work, undefined, values);
  }
  #with(value) {
    return new Map(context()).set(this, value);
  }
  run(value, work, ...values) {
    return within(this.#with(value), work, undefined, values);
  }
  exit(work, ...values) {
    const state = new Map(context());
    state.delete(this);
    return within(state, work, undefined, values);
  }
  enterWith(value) {
    setContext(this.#with(value));
  }
  disable() {
    const state = new Map(context());
    state.delete(this);
    setContext(state);
  }
  getStore() {
    const state = context();
    return state?.has(this) ? state.get(this) : this.#default;
  }
}

// What is being done, and which hooks are told of it.
const program = { id: 1, trigger: 0, resource: {} };
let current = program;
let last = 1;
const kinds = ['init', 'before', 'after', 'destroy', 'promiseResolve'];
let enabled = [];

function tell(kind, ...values) {
  for (const hook of enabled) hook[kind]?.(...values);
}

// Numbers of what announces nothing itself.
const known = new WeakMap();
const outer = [];
const collected = new FinalizationRegistry((id) => tell('destroy', id));

function numbered(resource, trigger = current.id) {
  const about = { id: ++last, trigger, resource };
  known.set(resource, about);
  return about;
}

function begun(type, resource, trigger) {
  const about = numbered(resource, trigger);
  tell('init', about.id, type, about.trigger, resource);
  return about;
}

function enter(about) {
  outer.push(current);
  current = about;
  tell('before', about.id);
}

function leave(about) {
  tell('after', about.id);
  if (current === about) current = outer.pop() ?? program;
}

// One that was there before has no beginning to be told of.
const ofPromise = (promise) => known.get(promise) ?? numbered(promise);
const ofPromises = {
  init(promise, parent) {
    const { id } = begun('PROMISE', promise, parent && ofPromise(parent).id);
    if (enabled.some(({ destroy }) => destroy)) collected.register(promise, id);
  },
  before: (promise) => enter(ofPromise(promise)),
  after: (promise) => leave(ofPromise(promise)),
  settled: (promise) => tell('promiseResolve', ofPromise(promise).id),
};

// For timers and ticks, where the prelude makes them.
const ofTimers = {
  begun: (type, resource) => void begun(type, resource),
  run(resource, work, values) {
    const about = known.get(resource);
    if (about) enter(about);
    try {
      return Reflect.apply(work, resource, values);
    } finally {
      if (about) leave(about);
    }
  },
  ended(resource) {
    const about = known.get(resource);
    if (!about || !known.delete(resource)) return;
    nextTick(tell, 'destroy', about.id);
  },
  // A tick, as a function of nothing.
  tick(callback, values) {
    const resource = { callback, args: values };
    begun('TickObject', resource);
    return () => {
      ofTimers.run(resource, () => Reflect.apply(callback, undefined, values), []);
      ofTimers.ended(resource);
    };
  },
};

let stopListening;
function change(list) {
  enabled = list;
  shared.hooks = list.length ? ofTimers : undefined;
  if (list.length) stopListening ??= listenToPromises(ofPromises);
  else stopListening = void stopListening?.();
}

class Hook {
  #told = {};
  constructor(callbacks) {
    for (const kind of kinds) {
      const callback = callbacks[kind];
      if (callback === undefined) continue;
      if (typeof callback !== 'function') throw error(TypeError, 'ERR_ASYNC_CALLBACK', `hook.${kind} must be a function`);
      this.#told[kind] = callback.bind(callbacks);
    }
  }
  enable() {
    if (!enabled.includes(this.#told)) change([...enabled, this.#told]);
    return this;
  }
  disable() {
    if (enabled.includes(this.#told)) change(enabled.filter((each) => each !== this.#told));
    return this;
  }
}

class AsyncResource {
  #state = context();
  #about;
  constructor(type, options = undefined) {
    need('string', 'type', type);
    if (type === '' && enabled.some(({ init }) => init)) throw error(TypeError, 'ERR_ASYNC_TYPE', `Invalid name for async "type": ${type}`);
    const trigger = (typeof options === 'number' ? options : options?.triggerAsyncId) ?? current.id;
    if (!Number.isSafeInteger(trigger) || trigger < -1) throw error(RangeError, 'ERR_INVALID_ASYNC_ID', `Invalid triggerAsyncId value: ${trigger}`);
    this.#about = { id: ++last, trigger, resource: this };
    tell('init', last, type, trigger, this);
  }
  runInAsyncScope(work, self, ...values) {
    const before = current;
    current = this.#about;
    tell('before', current.id);
    try {
      return within(this.#state, work, self, values);
    } finally {
      tell('after', this.#about.id);
      current = before;
    }
  }
  bind(work, self = undefined) {
    needFunction('fn', work);
    const resource = this;
    const bound = function (...values) {
      return resource.runInAsyncScope(work, self === undefined ? this : self, ...values);
    };
    return Object.defineProperties(bound, {
      length: { value: work.length, configurable: true },
      asyncResource: { value: this, writable: true, enumerable: true, configurable: true },
    });
  }
  static bind(work, type, self) {
    return new AsyncResource(type || work?.name || 'bound-anonymous-fn').bind(work, self);
  }
  asyncId() {
    return this.#about.id;
  }
  triggerAsyncId() {
    return this.#about.trigger;
  }
  emitDestroy() {
    if (enabled.length) setImmediate(tell, 'destroy', this.#about.id);
    return this;
  }
}

module.exports = {
  AsyncLocalStorage,
  AsyncResource,
  createHook: (callbacks) => new Hook(callbacks),
  executionAsyncId: () => current.id,
  triggerAsyncId: () => current.trigger,
  executionAsyncResource: () => current.resource,
  asyncWrapProviders: Object.freeze({ NONE: 0 }),
};
