// Random numbers of the module `crypto`.
'use strict';
const { error, need, needFunction, needInteger, needObject, outOfRange, wrongType } = require('internal/arguments');
const { Buffer } = require('buffer');
const { fillRandom } = native;
const webcrypto = globalThis.crypto;

const MOST = 2 ** 31 - 1;
const RANGE = 2 ** 48;

// Tells a callback of what is done already.
function tell(callback, result) {
  setImmediate(() => callback(null, result));
}

function randomBytes(size, callback) {
  needInteger('size', size, 0, MOST);
  if (callback !== undefined) needFunction('callback', callback);
  const bytes = fillRandom(Buffer.alloc(size));
  return callback ? tell(callback, bytes) : bytes;
}

// The part of a buffer or a view that is to be filled; numbers count its elements.
function partOf(target, offset = 0, size = undefined) {
  const isView = ArrayBuffer.isView(target);
  if (!isView && !(target instanceof ArrayBuffer) && !(target instanceof SharedArrayBuffer)) throw wrongType('buf', 'an instance of ArrayBuffer or ArrayBufferView', target);
  const view = isView ? new Uint8Array(target.buffer, target.byteOffset, target.byteLength) : new Uint8Array(target);
  const width = target.BYTES_PER_ELEMENT ?? 1;
  const begin = need('number', 'offset', offset) * width;
  if (!(begin >= 0 && begin <= Math.min(view.length, MOST))) throw outOfRange('offset', `>= 0 && <= ${Math.min(view.length, MOST)}`, begin);
  const length = size === undefined ? view.length - begin : need('number', 'size', size) * width;
  if (!(length >= 0 && length <= MOST)) throw outOfRange('size', `>= 0 && <= ${MOST}`, length);
  if (begin + length > view.length) throw outOfRange('size + offset', `<= ${view.length}`, begin + length);
  return view.subarray(begin, begin + length);
}

function randomFillSync(target, offset, size) {
  fillRandom(partOf(target, offset, size));
  return target;
}

function randomFill(target, offset, size, callback) {
  if (typeof offset === 'function') [offset, callback] = [undefined, offset];
  else if (typeof size === 'function') [size, callback] = [undefined, size];
  const part = partOf(target, offset, size);
  needFunction('callback', callback);
  fillRandom(part);
  tell(callback, target);
}

function randomInt(least, most, callback) {
  const isMostAlone = most === undefined || typeof most === 'function';
  if (isMostAlone) [least, most, callback] = [0, least, most];
  if (callback !== undefined) needFunction('callback', callback);
  if (!Number.isSafeInteger(least)) throw wrongType('min', 'a safe integer', least);
  if (!Number.isSafeInteger(most)) throw wrongType('max', 'a safe integer', most);
  if (most <= least) throw outOfRange('max', `greater than the value of "min" (${least})`, most);
  const range = most - least;
  if (!(range <= RANGE - 1)) throw isMostAlone ? outOfRange('max', `<= ${RANGE - 1}`, most) : outOfRange('max - min', `<= ${RANGE - 1}`, range);
  const number = least + below(range);
  return callback ? tell(callback, number) : number;
}

// What lies beyond the last whole multiple is drawn again, so that each number is as likely.
function below(range) {
  const limit = RANGE - (RANGE % range);
  let drawn;
  do drawn = fillRandom(Buffer.alloc(6)).readUIntBE(0, 6);
  while (drawn >= limit);
  return drawn % range;
}

function randomUUID(options) {
  if (options !== undefined) needObject('options', options);
  if (options?.disableEntropyCache !== undefined) need('boolean', 'options.disableEntropyCache', options.disableEntropyCache);
  return webcrypto.randomUUID();
}

function timingSafeEqual(left, right) {
  const [a, b] = [['buf1', left], ['buf2', right]].map(([name, given]) => {
    if (ArrayBuffer.isView(given)) return given;
    if (given instanceof ArrayBuffer) return new Uint8Array(given);
    throw error(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be an instance of ArrayBuffer, Buffer, TypedArray, or DataView.`);
  });
  if (a.byteLength !== b.byteLength) throw error(RangeError, 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH', 'Input buffers must have the same byte length');
  return native.sameBytes(a, b);
}

module.exports = { randomBytes, randomFill, randomFillSync, randomInt, randomUUID, timingSafeEqual };
