// The streams of the web: those of the package `web-streams-polyfill`, with what the module `stream` asks them and how they are shown.
'use strict';
const { error, wrongThis } = require('internal/arguments');
const polyfill = require('web-streams-polyfill/dist/ponyfill.js');

const { ReadableStream, TransformStream, WritableStream } = polyfill;
const custom = Symbol.for('nodejs.util.inspect.custom');
const isClosedPromise = Symbol.for('nodejs.webstream.isClosedPromise');
const { queueMicrotask } = globalThis;

// A promise of the end of a stream. From then on its state is watched; streams that nobody waits for cost nothing.
function watch(stream) {
  let state = stream._state;
  const { promise, resolve, reject } = Promise.withResolvers();
  promise.catch(() => {});
  const settle = () => {
    if (state === 'closed') resolve();
    // The reason is set after the state.
    else if (state === 'errored') queueMicrotask(() => reject(stream._storedError));
  };
  Object.defineProperty(stream, '_state', {
    get: () => state,
    set(value) {
      state = value;
      settle();
    },
    enumerable: true,
    configurable: true,
  });
  const closed = { promise };
  Object.defineProperty(stream, isClosedPromise, { value: closed });
  settle();
  return closed;
}

function teach(Kind, controller) {
  const { prototype } = Kind;
  const define = (name, get) => Object.defineProperty(prototype, Symbol.for(name), { get, configurable: true });
  define('nodejs.webstream.isClosedPromise', function () {
    return watch(this);
  });
  define('nodejs.stream.disturbed', function () {
    return this._disturbed;
  });
  define('nodejs.stream.errored', function () {
    return this._state === 'errored';
  });
  Object.defineProperty(prototype, Symbol.for('nodejs.webstream.controllerErrorFunction'), {
    value(reason) {
      this[controller].error(reason);
    },
    configurable: true,
  });
}
teach(ReadableStream, '_readableStreamController');
teach(WritableStream, '_writableStreamController');

// How a stream is shown: by its name and some of what it can be asked.
function showAs(Kind, parts) {
  const show = function (depth, options) {
    if (!(this instanceof Kind)) throw wrongThis(Kind.name);
    if (depth < 0) return `[${Kind.name}]`;
    return `${Kind.name} ${shared.inspect(parts(this), { ...options, depth: depth ?? null })}`;
  };
  Object.defineProperty(Kind.prototype, custom, { value: show, configurable: true, writable: true });
}
showAs(ReadableStream, (stream) => ({ locked: stream.locked, state: stream._state, supportsBYOB: stream._readableStreamController instanceof polyfill.ReadableByteStreamController }));
showAs(WritableStream, (stream) => ({ locked: stream.locked, state: stream._state }));
showAs(TransformStream, (stream) => ({ readable: stream.readable, writable: stream.writable, backpressure: stream._backpressure }));

const { from } = ReadableStream;
Object.defineProperty(ReadableStream, 'from', {
  value: { from(iterable) {
    const isIterable = iterable !== null && iterable !== undefined && (iterable[Symbol.asyncIterator] ?? iterable[Symbol.iterator]);
    if (!isIterable) throw error(TypeError, 'ERR_ARG_NOT_ITERABLE', `${shared.inspect(iterable)} must be iterable`);
    return from.call(this, iterable);
  } }.from,
  writable: true,
  configurable: true,
});

module.exports = { ...polyfill, showAs };
