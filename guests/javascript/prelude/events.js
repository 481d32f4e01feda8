// Events, abort signals, and the other small globals of the web that need no code of their own elsewhere.
(function (native, shared) {
  'use strict';
  const { callTool, fillRandom, monotonic } = native;

  const { custom } = shared.inspect;
  const wrong = () => shared.library('internal/arguments');

  function tag(kind, name) {
    Object.defineProperty(kind.prototype, Symbol.toStringTag, { value: name, configurable: true });
    for (const each of Object.getOwnPropertyNames(kind.prototype)) {
      if (each !== 'constructor') Object.defineProperty(kind.prototype, each, { enumerable: true });
    }
  }

  // An object in the words of `inspect`, with what it tells of itself.
  function shown(object, about, depth, options, inspect) {
    const { name } = object.constructor;
    return typeof depth === 'number' && depth < 0 ? name : `${name} ${inspect(about, { ...options, depth })}`;
  }

  let begin, end, isStopped, keepFrom;
  class Event {
    #type;
    #bubbles;
    #cancelable;
    #composed;
    #stopped = false;
    #quiet = false;
    #canceled = false;
    #passive = false;
    #target = null;
    #current = null;
    #time = performance.now();
    constructor(type, options = undefined) {
      if (arguments.length === 0) throw wrong().missing('type');
      if (options !== undefined && options !== null && typeof options !== 'object' && typeof options !== 'function') throw wrong().wrongType('options', 'of type object', options);
      this.#type = `${type}`;
      this.#bubbles = Boolean(options?.bubbles);
      this.#cancelable = Boolean(options?.cancelable);
      this.#composed = Boolean(options?.composed);
    }
    static {
      begin = (event, target) => {
        if (event.#current) throw wrong().error(Error, 'ERR_EVENT_RECURSION', `The event "${event.#type}" is already being dispatched`);
        event.#target = event.#current = target;
      };
      end = (event) => {
        event.#current = null;
        event.#stopped = event.#quiet = event.#passive = false;
      };
      isStopped = (event) => event.#stopped;
      keepFrom = (event, isPassive) => {
        event.#passive = isPassive;
      };
      for (const [name, value] of Object.entries({ NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 })) {
        for (const place of [this, this.prototype]) Object.defineProperty(place, name, { value, enumerable: true });
      }
    }
    static #of(self) {
      if (typeof self !== 'object' || self === null || !(#type in self)) throw wrong().wrongThis('Event');
      return self;
    }
    get type() {
      return Event.#of(this).#type;
    }
    get bubbles() {
      return Event.#of(this).#bubbles;
    }
    get cancelable() {
      return Event.#of(this).#cancelable;
    }
    get composed() {
      return Event.#of(this).#composed;
    }
    get target() {
      return Event.#of(this).#target;
    }
    get srcElement() {
      return Event.#of(this).#target;
    }
    get currentTarget() {
      return Event.#of(this).#current;
    }
    get timeStamp() {
      return Event.#of(this).#time;
    }
    get eventPhase() {
      return Event.#of(this).#current ? 2 : 0;
    }
    get isTrusted() {
      return Event.#of(this) && false;
    }
    get defaultPrevented() {
      return Event.#of(this).#canceled;
    }
    get returnValue() {
      return !Event.#of(this).#canceled;
    }
    set returnValue(value) {
      if (!value) this.preventDefault();
    }
    get cancelBubble() {
      return Event.#of(this).#quiet;
    }
    set cancelBubble(value) {
      if (value) Event.#of(this).#quiet = true;
    }
    initEvent(type, bubbles = false, cancelable = false) {
      if (arguments.length === 0) throw wrong().missing('type');
      if (Event.#of(this).#current) return;
      this.#type = `${type}`;
      this.#bubbles = Boolean(bubbles);
      this.#cancelable = Boolean(cancelable);
    }
    composedPath() {
      return Event.#of(this).#current ? [this.#current] : [];
    }
    preventDefault() {
      if (Event.#of(this).#cancelable && !this.#passive) this.#canceled = true;
    }
    stopPropagation() {
      Event.#of(this).#quiet = true;
    }
    stopImmediatePropagation() {
      Event.#of(this).#stopped = this.#quiet = true;
    }
    [custom](depth, options, inspect) {
      const { type, defaultPrevented, cancelable, timeStamp } = this;
      return shown(this, { type, defaultPrevented, cancelable, timeStamp }, depth, options, inspect);
    }
  }
  tag(Event, 'Event');

  class CustomEvent extends Event {
    #detail;
    constructor(type, options = undefined) {
      if (arguments.length === 0) throw wrong().missing('type');
      super(type, options);
      this.#detail = options?.detail ?? null;
    }
    get detail() {
      return this.#detail;
    }
  }
  tag(CustomEvent, 'CustomEvent');

  // What a listener throws is not the business of who dispatches the event.
  function call(listener, target, event) {
    try {
      if (typeof listener === 'function') listener.call(target, event);
      else listener.handleEvent(event);
    } catch (error) {
      shared.modules.process.nextTick(() => {
        throw error;
      });
    }
  }

  // An option of the library's own listeners: another that stops an event does not keep it from them.
  const resists = (shared.resists = Symbol('resists'));

  const optionsOf = (given) => {
    if (typeof given === 'boolean') return { capture: given };
    const { once, capture, passive, signal } = given ?? {};
    if (signal !== undefined && (typeof signal !== 'object' || signal === null || !('aborted' in signal))) throw wrong().wrongType('options.signal', 'an instance of AbortSignal', signal);
    return { once: Boolean(once), capture: Boolean(capture), passive: Boolean(passive), signal, stays: Boolean(given?.[resists]) };
  };

  let listenersOf;
  class EventTarget {
    #listeners = new Map();
    static {
      listenersOf = (target, type) => (target.#listeners.get(`${type}`) ?? []).map(({ listener }) => listener);
    }
    static #of(self) {
      if (typeof self !== 'object' || self === null || !(#listeners in self)) throw wrong().wrongThis('EventTarget');
      return self;
    }
    addEventListener(type, listener, options = undefined) {
      EventTarget.#of(this);
      if (arguments.length < 2) throw wrong().missing('type', 'listener');
      const { once = false, capture = false, passive = false, stays = false, signal } = optionsOf(options);
      if (listener === null || listener === undefined) return;
      if (typeof listener !== 'function' && typeof listener !== 'object') throw wrong().wrongType('listener', 'an instance of EventListener', listener);
      if (signal?.aborted) return;
      const name = `${type}`;
      const list = this.#listeners.get(name) ?? [];
      if (list.some((entry) => entry.listener === listener && entry.capture === capture)) return;
      this.#listeners.set(name, [...list, { listener, once, capture, passive, stays, isGone: false }]);
      signal?.addEventListener('abort', () => this.removeEventListener(name, listener, { capture }), { once: true });
    }
    removeEventListener(type, listener, options = undefined) {
      EventTarget.#of(this);
      if (arguments.length < 2) throw wrong().missing('type', 'listener');
      const capture = Boolean(typeof options === 'object' && options !== null ? options.capture : options);
      const name = `${type}`;
      const list = this.#listeners.get(name) ?? [];
      const at = list.findIndex((entry) => entry.listener === listener && entry.capture === capture);
      if (at < 0) return;
      list[at].isGone = true;
      if (list.length === 1) this.#listeners.delete(name);
      else this.#listeners.set(name, list.toSpliced(at, 1));
    }
    dispatchEvent(event) {
      EventTarget.#of(this);
      if (arguments.length === 0) throw wrong().missing('event');
      if (!(event instanceof Event)) throw wrong().wrongType('event', 'an instance of Event', event);
      begin(event, this);
      for (const entry of this.#listeners.get(event.type) ?? []) {
        if (entry.isGone || (isStopped(event) && !entry.stays)) continue;
        if (entry.once) this.removeEventListener(event.type, entry.listener, { capture: entry.capture });
        keepFrom(event, entry.passive);
        call(entry.listener, this, event);
      }
      end(event);
      return !event.defaultPrevented;
    }
    [custom](depth, options, inspect) {
      return shown(this, {}, depth, options, inspect);
    }
  }
  tag(EventTarget, 'EventTarget');
  shared.listenersOf = listenersOf;

  const illegal = () => wrong().error(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
  let making = false;
  let start;
  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason = undefined;
    #handler = null;
    // Of a signal that follows others: which ones; of one that others follow: those.
    #sources = [];
    #followers = [];
    constructor() {
      if (!making) throw illegal();
      making = false;
      super();
    }
    static {
      start = (signal, reason) => {
        if (signal.#aborted) return;
        const known = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
        const all = [signal, ...signal.#followers.filter((each) => !each.#aborted)];
        for (const each of all) [each.#aborted, each.#reason, each.#followers] = [true, known, []];
        for (const each of all) each.dispatchEvent(new Event('abort'));
      };
    }
    static #of(self) {
      if (typeof self !== 'object' || self === null || !(#aborted in self)) throw wrong().wrongThis('AbortSignal');
      return self;
    }
    get aborted() {
      return AbortSignal.#of(this).#aborted;
    }
    get reason() {
      return AbortSignal.#of(this).#reason;
    }
    get onabort() {
      return AbortSignal.#of(this).#handler;
    }
    set onabort(value) {
      const before = AbortSignal.#of(this).#handler;
      this.#handler = typeof value === 'function' ? value : null;
      if (!before && this.#handler) this.addEventListener('abort', (event) => this.#handler?.call(this, event));
    }
    throwIfAborted() {
      if (AbortSignal.#of(this).#aborted) throw this.#reason;
    }
    static abort(reason) {
      const controller = new AbortController();
      controller.abort(reason);
      return controller.signal;
    }
    static timeout(delay) {
      wrong().needInteger('delay', delay, 0, 2 ** 32 - 1);
      const controller = new AbortController();
      setTimeout(() => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')), delay);
      return controller.signal;
    }
    static any(signals) {
      if (typeof signals?.[Symbol.iterator] !== 'function') throw wrong().wrongType('signals', 'an instance of Array', signals);
      const list = [...signals];
      list.forEach((signal, at) => {
        if (!(signal instanceof AbortSignal)) throw wrong().wrongType(`signals[${at}]`, 'an instance of AbortSignal', signal);
      });
      const aborted = list.find((signal) => signal.aborted);
      if (aborted) return AbortSignal.abort(aborted.reason);
      const { signal: made } = new AbortController();
      made.#sources = [...new Set(list.flatMap((signal) => (signal.#sources.length ? signal.#sources : [signal])))];
      for (const source of made.#sources) source.#followers.push(made);
      return made;
    }
    [custom](depth, options, inspect) {
      return shown(this, { aborted: this.aborted }, depth, options, inspect);
    }
  }
  tag(AbortSignal, 'AbortSignal');

  class AbortController {
    #signal;
    constructor() {
      making = true;
      this.#signal = new AbortSignal();
    }
    get signal() {
      return this.#signal;
    }
    abort(reason = undefined) {
      start(this.#signal, reason);
    }
    [custom](depth, options, inspect) {
      return shown(this, { signal: this.signal }, depth, options, inspect);
    }
  }
  tag(AbortController, 'AbortController');

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

  // There is one object of this class.
  class Crypto {
    constructor() {
      throw Object.assign(new TypeError('Illegal constructor'), { code: 'ERR_ILLEGAL_CONSTRUCTOR' });
    }
    get subtle() {
      checkCrypto(this);
      return shared.library('internal/webcrypto').subtle;
    }
    getRandomValues(array) {
      checkCrypto(this);
      if (!ArrayBuffer.isView(array) || /^(Float|DataView)/.test(kindOfArray(array))) throw new DOMException('The data argument must be an integer-type TypedArray', 'TypeMismatchError');
      if (array.byteLength > 65536) {
        throw new DOMException('more than 65536 bytes of entropy were asked for', 'QuotaExceededError');
      }
      return fillRandom(array);
    }
    randomUUID() {
      checkCrypto(this);
      const bytes = fillRandom(new Uint8Array(16));
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
    }
    get [Symbol.toStringTag]() {
      return 'Crypto';
    }
  }
  const crypto = Object.create(Crypto.prototype);
  const kindOfArray = (array) => Reflect.get(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag, array) ?? 'DataView';
  function checkCrypto(self) {
    if (self !== crypto) throw Object.assign(new TypeError('Value of "this" must be of type Crypto'), { code: 'ERR_INVALID_THIS' });
  }

  const { define } = shared;
  define('performance', performance);
  define('Crypto', Crypto);
  define('crypto', crypto);
  define('Event', Event);
  define('CustomEvent', CustomEvent);
  define('EventTarget', EventTarget);
  define('AbortSignal', AbortSignal);
  define('AbortController', AbortController);
  define('callTool', callTool);
  define('fetch', async function fetch(resource, options = undefined) {
    return shared.library('internal/fetching')(resource, options);
  });
})
