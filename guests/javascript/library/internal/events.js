// Events of the web with something to tell.
'use strict';

// A class of events whose properties have these presets.
function kind(name, presets) {
  return {
    [name]: class extends Event {
      constructor(type, options = {}) {
        super(type, options);
        for (const [key, preset] of Object.entries(presets)) this[key] = options?.[key] ?? preset();
      }
      get [Symbol.toStringTag]() {
        return name;
      }
    },
  }[name];
}

// Gives a class of targets properties whose value, a function, is told of events: `onmessage` of `message`.
function handlers(Kind, ...names) {
  for (const name of names) {
    const set = new WeakMap();
    Object.defineProperty(Kind.prototype, `on${name}`, {
      get() {
        return set.get(this) ?? null;
      },
      set(value) {
        if (!set.has(this)) this.addEventListener(name, (event) => set.get(this)?.call(this, event));
        set.set(this, typeof value === 'function' ? value : null);
      },
      enumerable: true,
      configurable: true,
    });
  }
}

module.exports = {
  handlers,
  MessageEvent: kind('MessageEvent', { data: () => null, origin: () => '', lastEventId: () => '', source: () => null, ports: () => [] }),
  ErrorEvent: kind('ErrorEvent', { message: () => '', filename: () => '', lineno: () => 0, colno: () => 0, error: () => undefined }),
  PromiseRejectionEvent: kind('PromiseRejectionEvent', { promise: () => undefined, reason: () => undefined }),
  CloseEvent: kind('CloseEvent', { wasClean: () => false, code: () => 0, reason: () => '' }),
};
