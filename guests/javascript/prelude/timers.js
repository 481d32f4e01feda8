// setTimeout and the others, whose timers are objects as in Node.js.
(function (native, shared) {
  'use strict';
  const { clearTimer, setImmediate, setTimeout, setWaitedFor } = native;
  const { apply } = Reflect;
  const LONGEST = 2 ** 31 - 1;
  const byNumber = new Map();
  // What a call returned that was made for what it does: it is no value of a snippet that ends with the call.
  shared.asides = { value: undefined };
  // The timer whose callback runs.
  let firing;

  function needFunction(callback) {
    if (typeof callback === 'function') return;
    throw Object.assign(new TypeError(`The "callback" argument must be of type function. Received ${shared.library('internal/received').received(callback)}`), { code: 'ERR_INVALID_ARG_TYPE' });
  }

  function milliseconds(delay) {
    delay *= 1;
    if (delay > LONGEST) globalThis.process.emitWarning(`${delay} does not fit into a 32-bit signed integer.\nTimeout duration was set to 1.`, 'TimeoutOverflowWarning');
    return delay >= 1 && delay <= LONGEST ? delay : 1;
  }

  function call(timer, callback, values) {
    if (shared.hooks) shared.hooks.run(timer, callback, values);
    else apply(callback, timer, values);
  }

  class Timeout {
    #id;
    #waitedFor;
    #arguments;
    #number;
    constructor(callback, delay, values, repeats, isWaitedFor = true) {
      this._idleTimeout = milliseconds(delay);
      this._onTimeout = callback;
      this._repeat = repeats ? this._idleTimeout : null;
      this._destroyed = false;
      this.#arguments = values;
      this.#waitedFor = isWaitedFor;
      Timeout.#start(this);
      shared.hooks?.begun('Timeout', this);
    }
    static #start(timer) {
      timer.#id = setTimeout(Timeout.#fire, Math.trunc(timer._idleTimeout), timer);
      if (!timer.#waitedFor) setWaitedFor(timer.#id, false);
    }
    static #fire(timer) {
      const { _onTimeout } = timer;
      const id = timer.#id;
      if (typeof _onTimeout !== 'function') return void stop(timer);
      firing = timer;
      try {
        call(timer, _onTimeout, timer.#arguments);
      } finally {
        firing = undefined;
        // The callback may have stopped it or started it anew.
        if (!timer._destroyed && timer.#id === id) {
          if (timer._repeat && timer._idleTimeout !== -1 && typeof timer._onTimeout === 'function') {
            timer._idleTimeout = milliseconds(timer._repeat);
            Timeout.#start(timer);
          } else {
            stop(timer);
          }
        }
      }
    }
    static stop(timer) {
      if (!(#id in timer)) return false;
      clearTimer(timer.#id);
      timer._destroyed = true;
      shared.hooks?.ended(timer);
      if (timer.#number !== undefined) byNumber.delete(timer.#number);
      return true;
    }
    static wait(timer, isWaitedFor) {
      if (!(#id in timer)) return;
      timer.#waitedFor = isWaitedFor;
      setWaitedFor(timer.#id, isWaitedFor);
    }
    ref() {
      waitForTimeout(this, true);
      return this;
    }
    unref() {
      waitForTimeout(this, false);
      return this;
    }
    hasRef() {
      return this.#waitedFor;
    }
    refresh() {
      if (#id in this) {
        clearTimer(this.#id);
        this._destroyed = false;
        Timeout.#start(this);
      }
      return this;
    }
    close() {
      stop(this);
      return this;
    }
    [Symbol.toPrimitive]() {
      this.#number ??= this.#id;
      if (!this._destroyed) byNumber.set(this.#number, this);
      return this.#number;
    }
    [Symbol.dispose]() {
      stop(this);
    }
  }

  class Immediate {
    #id;
    #waitedFor = true;
    #arguments;
    constructor(callback, values) {
      this._onImmediate = callback;
      this._destroyed = false;
      this.#arguments = values;
      this.#id = setImmediate(Immediate.#fire, this);
      shared.hooks?.begun('Immediate', this);
    }
    static #fire(immediate) {
      const callback = immediate._onImmediate;
      immediate._destroyed = true;
      if (typeof callback === 'function') call(immediate, callback, immediate.#arguments);
      shared.hooks?.ended(immediate);
    }
    static stop(immediate) {
      if (!(#id in immediate)) return;
      clearTimer(immediate.#id);
      immediate._destroyed = true;
      shared.hooks?.ended(immediate);
    }
    ref() {
      this.#waitedFor = true;
      setWaitedFor(this.#id, true);
      return this;
    }
    unref() {
      this.#waitedFor = false;
      setWaitedFor(this.#id, false);
      return this;
    }
    hasRef() {
      return this.#waitedFor;
    }
    [Symbol.dispose]() {
      stopImmediate(this);
    }
  }

  const { stop, wait: waitForTimeout } = Timeout;
  const { stop: stopImmediate } = Immediate;
  for (const name of ['stop', 'wait']) delete Timeout[name];
  delete Immediate.stop;

  function clear(timer) {
    if (typeof timer === 'number' || typeof timer === 'string') timer = byNumber.get(Number(timer));
    if (typeof timer === 'object' && timer !== null && !stop(timer)) stopImmediate(timer);
  }

  const functions = {
    setTimeout(callback, delay, ...values) {
      needFunction(callback);
      return (shared.asides.value = new Timeout(callback, delay, values, false));
    },
    clearTimeout(timer) {
      clear(timer);
    },
    setInterval(callback, delay, ...values) {
      needFunction(callback);
      return (shared.asides.value = new Timeout(callback, delay, values, true));
    },
    clearInterval(timer) {
      clear(timer);
    },
    setImmediate(callback, ...values) {
      needFunction(callback);
      return (shared.asides.value = new Immediate(callback, values));
    },
    clearImmediate(timer) {
      clear(timer);
    },
  };
  const promisified = Symbol.for('nodejs.util.promisify.custom');
  for (const name of ['setTimeout', 'setImmediate']) {
    Object.defineProperty(functions[name], promisified, { get: () => shared.modules['timers/promises'][name], enumerable: true, configurable: true });
  }
  for (const [name, value] of Object.entries(functions)) shared.define(name, value);
  shared.timers = { Timeout, functions, isFiring: () => firing !== undefined && !firing._destroyed && firing.hasRef() };
})
