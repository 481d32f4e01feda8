// Bytes that functions of `crypto` are given and give back.
'use strict';
const { error, needFunction, wrongType, wrongValue } = require('internal/arguments');
const { Buffer } = require('buffer');

// The bytes of a text, a buffer or a view, of which a Buffer is made where it is needed; undefined: it is another thing.
function viewOf(data, encoding) {
  if (typeof data === 'string') return Buffer.from(data, encoding === 'buffer' ? 'utf8' : encoding);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer || data instanceof SharedArrayBuffer) return new Uint8Array(data);
  return undefined;
}

function bytesOf(data, encoding, what, wanted = 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView') {
  const view = viewOf(data, encoding);
  if (!view) throw wrongType(what, wanted, data);
  return view;
}

// What a stream of bytes is given: no buffer without a view, and whole bytes of hexadecimal digits.
function pieceOf(data, encoding) {
  if (typeof data !== 'string' && !ArrayBuffer.isView(data)) throw wrongType('data', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
  if (encoding === 'hex' && typeof data === 'string' && data.length % 2) throw wrongValue('encoding', encoding, `is invalid for data of length ${data.length}`);
  return viewOf(data, typeof encoding === 'string' && !Buffer.isEncoding(encoding) ? 'utf8' : encoding);
}

// Encodings that are none are passed over, as in Node.js.
function encoded(bytes, encoding) {
  const buffer = Buffer.from(bytes);
  const wanted = encoding === undefined || encoding === null ? 'buffer' : `${encoding}`;
  return Buffer.isEncoding(wanted) ? buffer.toString(wanted) : buffer;
}

// A class that may be called without `new`, as those of Node.js.
function callable(Class) {
  const made = new Proxy(Class, { apply: (target, self, values) => new made(...values) });
  Object.defineProperty(Class.prototype, 'constructor', { value: made, writable: true, configurable: true });
  return made;
}

// A function with a callback, of one that looks at its arguments and gives what is to be done.
const later = (prepare) => (...values) => {
  const callback = typeof values.at(-1) === 'function' ? values.pop() : undefined;
  const work = prepare(...values);
  needFunction('callback', callback);
  const [failure, result] = attempt(work);
  setImmediate(() => (failure ? callback(failure) : callback(null, result)));
};
const atOnce = (prepare) => (...values) => prepare(...values)();

function attempt(work) {
  try {
    return [null, work()];
  } catch (failure) {
    return [failure];
  }
}

const invalidState = (message) => error(Error, 'ERR_CRYPTO_INVALID_STATE', message);

module.exports = { atOnce, attempt, bytesOf, callable, encoded, invalidState, later, pieceOf, viewOf };
