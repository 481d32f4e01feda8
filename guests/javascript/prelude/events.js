// Events, abort signals, and the other small globals of the web that need no code of their own elsewhere.
(function (native, shared) {
  'use strict';
  const { callTool, fillRandom, monotonic } = native;

  class Event {
    #stopped = false;
    #canceled = false;
    constructor(type, options) {
      this.type = `${type}`;
      this.bubbles = Boolean(options?.bubbles);
      this.cancelable = Boolean(options?.cancelable);
      this.target = null;
      this.currentTarget = null;
      this.timeStamp = performance.now();
    }
    get defaultPrevented() {
      return this.#canceled;
    }
    preventDefault() {
      if (this.cancelable) this.#canceled = true;
    }
    stopPropagation() {}
    stopImmediatePropagation() {
      this.#stopped = true;
    }
    static stopped(event) {
      return event.#stopped;
    }
  }
  const { stopped } = Event;
  delete Event.stopped;

  class CustomEvent extends Event {
    constructor(type, options) {
      super(type, options);
      this.detail = options?.detail ?? null;
    }
  }

  class EventTarget {
    #listeners = new Map();
    addEventListener(type, listener, options) {
      if (typeof listener !== 'function' && typeof listener?.handleEvent !== 'function') return;
      const list = this.#listeners.get(type) ?? [];
      if (list.some((entry) => entry.listener === listener)) return;
      const signal = options?.signal;
      if (signal?.aborted) return;
      list.push({ listener, once: Boolean(options?.once) });
      this.#listeners.set(type, list);
      signal?.addEventListener('abort', () => this.removeEventListener(type, listener));
    }
    removeEventListener(type, listener) {
      const list = this.#listeners.get(type) ?? [];
      this.#listeners.set(type, list.filter((entry) => entry.listener !== listener));
    }
    dispatchEvent(event) {
      event.target = event.currentTarget = this;
      for (const { listener, once } of this.#listeners.get(event.type) ?? []) {
        if (once) this.removeEventListener(event.type, listener);
        if (typeof listener === 'function') listener.call(this, event);
        else listener.handleEvent(event);
        if (stopped(event)) break;
      }
      return !event.defaultPrevented;
    }
  }

  let making = false;
  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason = undefined;
    onabort = null;
    constructor() {
      if (!making) throw new TypeError('Illegal constructor');
      super();
    }
    get aborted() {
      return this.#aborted;
    }
    get reason() {
      return this.#reason;
    }
    throwIfAborted() {
      if (this.#aborted) throw this.#reason;
    }
    static abort(reason) {
      const controller = new AbortController();
      controller.abort(reason);
      return controller.signal;
    }
    static timeout(milliseconds) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), milliseconds);
      return controller.signal;
    }
    static any(signals) {
      const controller = new AbortController();
      for (const signal of signals) {
        if (signal.aborted) return AbortSignal.abort(signal.reason);
        signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
      }
      return controller.signal;
    }
    static start(signal, reason) {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
      const event = new Event('abort');
      if (typeof signal.onabort === 'function') signal.onabort(event);
      signal.dispatchEvent(event);
    }
  }
  const { start } = AbortSignal;
  delete AbortSignal.start;

  class AbortController {
    constructor() {
      making = true;
      this.signal = new AbortSignal();
      making = false;
    }
    abort(reason) {
      start(this.signal, reason);
    }
  }

  // The clock's zero is the first use in an instance. A restored copy may see the clock start anew; time goes on from
  // where it was.
  let offset;
  let last = 0;
  let timeOrigin;
  const performance = {
    now() {
      const time = monotonic();
      if (offset === undefined) {
        offset = -time;
        timeOrigin = Date.now();
      } else if (time + offset < last) {
        offset = last - time;
      }
      last = time + offset;
      return last;
    },
    get timeOrigin() {
      performance.now();
      return timeOrigin;
    },
    mark() {},
    measure() {},
    toJSON() {
      return { timeOrigin: performance.timeOrigin };
    },
  };

  const crypto = {
    getRandomValues(array) {
      if (!ArrayBuffer.isView(array)) throw new TypeError('a typed array is needed');
      if (array.byteLength > 65536) {
        throw new DOMException('more than 65536 bytes of entropy were asked for', 'QuotaExceededError');
      }
      return fillRandom(array);
    },
    randomUUID() {
      const bytes = fillRandom(new Uint8Array(16));
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
    },
  };

  const { define } = shared;
  define('performance', performance);
  define('crypto', crypto);
  define('Event', Event);
  define('CustomEvent', CustomEvent);
  define('EventTarget', EventTarget);
  define('AbortSignal', AbortSignal);
  define('AbortController', AbortController);
  define('callTool', callTool);
  define('fetch', async function fetch() {
    throw new Error('no network in this sandbox');
  });
})
