// setTimeout and the others, whose timers are objects as in Node.js.
(function (native, shared) {
  'use strict';
  const { clearTimer, setImmediate, setInterval, setTimeout, setWaitedFor } = native;
  const promisified = Symbol.for('nodejs.util.promisify.custom');

  function timerClass(name, set) {
    return {
      [name]: class {
        #arguments;
        #id;
        #waitedFor = true;
        constructor(...values) {
          this.#arguments = values;
          this.#id = set(...values);
        }
        static id = (timer) => (#id in timer ? timer.#id : undefined);
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
        refresh() {
          clearTimer(this.#id);
          this.#id = set(...this.#arguments);
          setWaitedFor(this.#id, this.#waitedFor);
          return this;
        }
        close() {
          clearTimer(this.#id);
          return this;
        }
        [Symbol.toPrimitive]() {
          return this.#id;
        }
        [Symbol.dispose]() {
          clearTimer(this.#id);
        }
      },
    }[name];
  }

  const Timeout = timerClass('Timeout', setTimeout);
  const Interval = timerClass('Timeout', setInterval);
  const Immediate = timerClass('Immediate', setImmediate);
  const ids = [Timeout, Interval, Immediate].map((each) => {
    const { id } = each;
    delete each.id;
    return id;
  });
  const idOf = (timer) => {
    if (typeof timer !== 'object' || timer === null) return Number(timer);
    return ids.map((each) => each(timer)).find((id) => id !== undefined);
  };

  const clear = (timer) => void clearTimer(idOf(timer) ?? 0);
  const later =
    (set) =>
    (delay, value, options = {}) =>
      new Promise((resolve, reject) => {
        const { ref = true, signal } = options ?? {};
        const aborted = () => Object.assign(new Error('The operation was aborted', { cause: signal.reason }), { name: 'AbortError', code: 'ABORT_ERR' });
        if (signal?.aborted) {
          reject(aborted());
          return;
        }
        const timer = set(() => {
          signal?.removeEventListener('abort', abort);
          resolve(value);
        }, delay);
        const abort = () => {
          clear(timer);
          reject(aborted());
        };
        if (!ref) timer.unref();
        signal?.addEventListener('abort', abort, { once: true });
      });

  const functions = {
    setTimeout: (...values) => new Timeout(...values),
    setInterval: (...values) => new Interval(...values),
    setImmediate: (...values) => new Immediate(...values),
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  };
  const promises = {
    setTimeout: later(functions.setTimeout),
    setImmediate: (value, options) => later((callback) => functions.setImmediate(callback))(0, value, options),
    async *setInterval(delay, value, options) {
      for (;;) yield await promises.setTimeout(delay, value, options);
    },
    scheduler: {
      wait: (delay, options) => promises.setTimeout(delay, undefined, options),
      yield: () => promises.setImmediate(),
    },
  };
  for (const name of ['setTimeout', 'setImmediate']) Object.defineProperty(functions[name], promisified, { value: promises[name] });
  for (const [name, value] of Object.entries(functions)) shared.define(name, value);
  shared.modules.timers = { ...functions, promises };
  shared.modules['timers/promises'] = promises;
})
