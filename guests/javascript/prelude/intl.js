// `Intl`, `Temporal` and the functions of the language that depend on a locale: they load the library when they are first used.
(function (native, shared) {
  'use strict';
  const { library, lazily } = shared;
  const main = () => library('internal/intl/main');
  const { apply } = Reflect;
  const { getTime } = Date.prototype;
  const numberValue = Number.prototype.valueOf;
  const bigIntValue = BigInt.prototype.valueOf;

  const temporal = () => library('internal/temporal/main');
  lazily('Intl', () => main().makeIntl());
  lazily('Temporal', () => temporal().Temporal);

  // What is replaced, with the way to the prototype from a global object: contexts of `vm` have the same.
  const replaced = [];
  shared.localize = (global) => {
    for (const [prototypeOf, methods] of replaced) put(prototypeOf(global), methods);
    for (const name of ['Intl', 'Temporal']) {
      const set = (value) => Object.defineProperty(global, name, { value, writable: true, configurable: true });
      Object.defineProperty(global, name, { get: () => globalThis[name], set, configurable: true });
    }
  };

  function replace(prototypeOf, methods) {
    replaced.push([prototypeOf, methods]);
    put(prototypeOf(globalThis), methods);
  }

  function put(prototype, methods) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(methods))) {
      Object.defineProperty(prototype, name, { value, writable: true, enumerable: false, configurable: true });
    }
  }

  function textOf(value, name) {
    if (value === undefined || value === null) throw new TypeError(`String.prototype.${name} called on null or undefined`);
    if (typeof value === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
    return `${value}`;
  }

  replace((global) => global.Number.prototype, {
    toLocaleString(locales = undefined, options = undefined) {
      return main().formatNumber(apply(numberValue, this, []), locales, options);
    },
  });
  replace((global) => global.BigInt.prototype, {
    toLocaleString(locales = undefined, options = undefined) {
      return main().formatNumber(apply(bigIntValue, this, []), locales, options);
    },
  });
  replace((global) => global.Date.prototype, {
    toLocaleString(locales = undefined, options = undefined) {
      return main().formatDate(apply(getTime, this, []), locales, options, 'any', 'all');
    },
    toLocaleDateString(locales = undefined, options = undefined) {
      return main().formatDate(apply(getTime, this, []), locales, options, 'date', 'date');
    },
    toLocaleTimeString(locales = undefined, options = undefined) {
      return main().formatDate(apply(getTime, this, []), locales, options, 'time', 'time');
    },
    toTemporalInstant() {
      return temporal().instantOf(apply(getTime, this, []));
    },
  });
  replace((global) => global.String.prototype, {
    localeCompare(that, locales = undefined, options = undefined) {
      const text = textOf(this, 'localeCompare');
      if (typeof that === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
      return main().localeCompare(text, `${that}`, locales, options);
    },
    toLocaleLowerCase(locales = undefined) {
      const text = textOf(this, 'toLocaleLowerCase');
      return locales === undefined ? text.toLowerCase() : main().changeCase(text, locales, false);
    },
    toLocaleUpperCase(locales = undefined) {
      const text = textOf(this, 'toLocaleUpperCase');
      return locales === undefined ? text.toUpperCase() : main().changeCase(text, locales, true);
    },
  });

  function joined(list, length, locales, options) {
    let text = '';
    for (let at = 0; at < length; at++) {
      if (at > 0) text += ',';
      const item = list[at];
      if (item !== undefined && item !== null) text += `${item.toLocaleString(locales, options)}`;
    }
    return text;
  }

  replace((global) => global.Array.prototype, {
    toLocaleString(locales = undefined, options = undefined) {
      if (this === undefined || this === null) throw new TypeError('Array.prototype.toLocaleString called on null or undefined');
      const list = Object(this);
      const length = Math.min(Math.max(Math.trunc(Number(list.length)) || 0, 0), Number.MAX_SAFE_INTEGER);
      return joined(list, length, locales, options);
    },
  });
  const typedOf = (global) => Object.getPrototypeOf(global.Uint8Array.prototype);
  const typed = typedOf(globalThis);
  const lengthOf = Object.getOwnPropertyDescriptor(typed, 'length').get;
  const bytesOf = typed.values;
  replace(typedOf, {
    toLocaleString(locales = undefined, options = undefined) {
      // It throws where this is no such array, or one without its memory.
      apply(bytesOf, this, []);
      return joined(this, apply(lengthOf, this, []), locales, options);
    },
  });
})
