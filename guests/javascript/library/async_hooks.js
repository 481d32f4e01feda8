// The module `async_hooks`: values that follow asynchronous work. The engine keeps one value with each reaction of a promise and each
// timer (`native.context`, `native.setContext`); it is a map from storages to their values, which is never changed.
'use strict';
const { context, setContext } = native;

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
    return AsyncResource.bind(work);
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

let last = 1;

class AsyncResource {
  #state = context();
  #id = ++last;
  constructor(type) {
    if (typeof type !== 'string') throw Object.assign(new TypeError('The "type" argument must be of type string'), { code: 'ERR_INVALID_ARG_TYPE' });
    this.type = type;
  }
  runInAsyncScope(work, self, ...values) {
    return within(this.#state, work, self, values);
  }
  bind(work, self) {
    const resource = this;
    return function (...values) {
      return resource.runInAsyncScope(work, self ?? this, ...values);
    };
  }
  static bind(work, type, self) {
    return new AsyncResource(type ?? (work.name || 'bound-anonymous-fn')).bind(work, self);
  }
  asyncId() {
    return this.#id;
  }
  triggerAsyncId() {
    return 1;
  }
  emitDestroy() {
    return this;
  }
}

module.exports = {
  AsyncLocalStorage,
  AsyncResource,
  // What is asynchronous has no numbers here: hooks are taken, and nothing calls them.
  createHook: () => ({
    enable() {
      return this;
    },
    disable() {
      return this;
    },
  }),
  executionAsyncId: () => 1,
  triggerAsyncId: () => 0,
  executionAsyncResource: () => ({}),
  asyncWrapProviders: Object.freeze({ NONE: 0 }),
};
