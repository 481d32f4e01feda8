// structuredClone: deep copies of data, cycles included.
(function (native, shared) {
  'use strict';
  const { details } = native;
  const errors = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

  // What makes a copy of objects of a class of the library, by the class.
  const copied = new Map();
  shared.copyOf = (Kind, copyOne) => copied.set(Kind, copyOne);
  const copierOf = (value) => [...copied].findLast(([Kind]) => value instanceof Kind)?.[1];

  function refuse(what) {
    throw new DOMException(`${what} could not be cloned.`, 'DataCloneError');
  }

  function copy(value, seen) {
    if (typeof value === 'symbol') refuse(value.toString());
    if (typeof value === 'function') refuse(`${value}`.slice(0, 100));
    if (value === null || typeof value !== 'object') return value;
    if (seen.has(value)) return seen.get(value);
    const [kind, name] = details(value);
    const keep = (clone) => {
      seen.set(value, clone);
      return clone;
    };
    switch (kind) {
      case 'array': {
        const clone = keep(new Array(value.length));
        for (const key of Object.keys(value)) clone[key] = copy(value[key], seen);
        return clone;
      }
      case 'map': {
        const clone = keep(new Map());
        for (const [key, item] of [...Map.prototype.entries.call(value)]) clone.set(copy(key, seen), copy(item, seen));
        return clone;
      }
      case 'set': {
        const clone = keep(new Set());
        for (const item of [...Set.prototype.values.call(value)]) clone.add(copy(item, seen));
        return clone;
      }
      case 'date':
        return keep(new Date(Date.prototype.getTime.call(value)));
      case 'regexp':
        return keep(new RegExp(value.source, value.flags));
      case 'boxed':
        if (typeof value.valueOf() === 'symbol') refuse('a Symbol object');
        return keep(Object(value.valueOf()));
      case 'bytes': {
        if (value instanceof ArrayBuffer) return keep(value.slice(0));
        const buffer = copy(value.buffer, seen);
        const length = value instanceof DataView ? value.byteLength : value.length;
        return keep(new globalThis[name](buffer, value.byteOffset, length));
      }
      case 'error': {
        const clone = keep(Object.create((errors[value.name] ?? Error).prototype));
        const fresh = new (errors[value.name] ?? Error)(value.message);
        Object.setPrototypeOf(fresh, Object.getPrototypeOf(clone));
        seen.set(value, fresh);
        Object.defineProperty(fresh, 'stack', { value: value.stack, writable: true, configurable: true });
        if (Object.hasOwn(value, 'cause')) {
          const cause = { value: copy(value.cause, seen), writable: true, configurable: true };
          Object.defineProperty(fresh, 'cause', cause);
        }
        return fresh;
      }
      case 'object': {
        if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) refuse(`#<${name}>`);
        const copyOne = copied.size ? copierOf(value) : undefined;
        if (copyOne) return keep(copyOne(value));
        const clone = keep({});
        for (const key of Object.keys(value)) {
          const item = { value: copy(value[key], seen), writable: true, enumerable: true, configurable: true };
          Object.defineProperty(clone, key, item);
        }
        return clone;
      }
      default:
        return refuse(`#<${name}>`);
    }
  }

  // What is transferred, as a list.
  function transferOf(options) {
    const wrongUse = (message) => Object.assign(new TypeError(message), { code: 'ERR_INVALID_ARG_TYPE' });
    if (options === undefined || options === null) return [];
    if (typeof options !== 'object' && typeof options !== 'function') throw wrongUse('The options argument must be either an object or undefined');
    const { transfer } = options;
    if (transfer === undefined || transfer === null) return [];
    if (typeof transfer !== 'object' || typeof transfer[Symbol.iterator] !== 'function') throw wrongUse('Optional transferList argument must be an iterable');
    return transfer;
  }

  shared.define('structuredClone', function structuredClone(value, options = undefined) {
    if (arguments.length === 0) throw Object.assign(new TypeError('The value argument must be specified'), { code: 'ERR_MISSING_ARGS' });
    const seen = new Map();
    for (const buffer of transferOf(options)) {
      if (!(buffer instanceof ArrayBuffer)) refuse('a value that cannot be transferred');
      seen.set(buffer, buffer.transfer());
    }
    return copy(value, seen);
  });
})
