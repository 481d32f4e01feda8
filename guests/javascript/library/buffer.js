// The module `buffer`. Buffers are views of the engine's with methods of Node.js's; each has memory of its own, there is no pool.
'use strict';
const { error, need, needInteger, needNumber, wrongType } = require('internal/arguments');
const { bytesOf, encodingOf, find, known, utf8 } = require('internal/text_bytes');
const { methods: numbers, outside } = require('internal/buffer_numbers');
const { isBytes, methods: others, needBytes, order } = require('internal/buffer_methods');
const { isAnyArrayBuffer } = require('util/types');
const { Blob, File } = require('internal/blob');
const { decodeUtf8, encodeUtf8 } = native;

const custom = Symbol.for('nodejs.util.inspect.custom');
const { set } = Uint8Array.prototype;
const bytesShared = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'buffer').get;
// Of ArrayBuffer.
const MOST = 2 ** 31 - 1;
const LONGEST_TEXT = 2 ** 29 - 24;
// Own names of longer buffers are not looked for when they are shown: each byte is one.
const MOST_NAMES = 65536;
let shownBytes = 50;

class FastBuffer extends Uint8Array {}

function allocate(size) {
  try {
    return new FastBuffer(size);
  } catch (failure) {
    throw failure instanceof RangeError ? failure : new RangeError('Array buffer allocation failed');
  }
}

const sizeOf = (size) => needNumber('size', size, 0, MOST);
const viewOf = (bytes) => new FastBuffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);

// A function of the older kind: it is called with `new` and without.
function Buffer(value, encodingOrOffset, length) {
  if (typeof value !== 'number') return Buffer.from(value, encodingOrOffset, length);
  if (typeof encodingOrOffset === 'string') throw wrongType('string', 'of type string', value);
  return Buffer.alloc(value);
}
Buffer.prototype = FastBuffer.prototype;
Buffer.prototype.constructor = Buffer;
Object.setPrototypeOf(Buffer, Uint8Array);
Object.defineProperty(Buffer, Symbol.species, { get: () => FastBuffer, configurable: true });

function fromText(text, encoding) {
  const kind = typeof encoding === 'string' && encoding ? encodingOf(encoding) : utf8;
  return kind === utf8 ? new FastBuffer(encodeUtf8(text)) : viewOf(kind.encode(text));
}

function fromMemory(memory, offset, length) {
  const from = +offset || 0;
  const room = memory.byteLength - from;
  if (from < 0 || room < 0) throw outside('offset');
  const size = length === undefined ? room : +length || 0;
  if (size > room) throw outside('length');
  return new FastBuffer(memory, from, Math.max(size, 0));
}

function fromList(list) {
  if (Array.isArray(list) || ArrayBuffer.isView(list)) return new FastBuffer(list);
  const made = allocate(typeof list.length === 'number' && list.length > 0 ? sizeOf(list.length) : 0);
  for (let at = 0; at < made.length; at++) made[at] = list[at];
  return made;
}

const notData = (value) => wrongType('first argument', 'of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object', value);

function fromObject(value, encodingOrOffset, length) {
  if (isAnyArrayBuffer(value)) return fromMemory(value, encodingOrOffset, length);
  if (isBytes(value)) return new FastBuffer(value);
  const inner = typeof value.valueOf === 'function' ? value.valueOf() : undefined;
  if (inner !== value && (typeof inner === 'string' || (typeof inner === 'object' && inner !== null))) return Buffer.from(inner, encodingOrOffset, length);
  if (value.length !== undefined || isAnyArrayBuffer(value.buffer)) return fromList(value);
  if (value.type === 'Buffer' && Array.isArray(value.data)) return fromList(value.data);
  const text = typeof value[Symbol.toPrimitive] === 'function' ? value[Symbol.toPrimitive]('string') : undefined;
  if (typeof text === 'string') return fromText(text, encodingOrOffset);
  throw notData(value);
}

function needTypedArray(value) {
  if (!ArrayBuffer.isView(value) || value instanceof DataView) throw wrongType('view', 'an instance of TypedArray', value);
  return value;
}

Object.assign(Buffer, {
  poolSize: 8192,
  from(value, encodingOrOffset, length) {
    if (typeof value === 'string') return fromText(value, encodingOrOffset);
    if (typeof value !== 'object' || value === null) throw notData(value);
    return fromObject(value, encodingOrOffset, length);
  },
  copyBytesFrom(view, offset, length) {
    const count = needTypedArray(view).length;
    const from = Math.min(offset === undefined ? 0 : needInteger('offset', offset, 0), count);
    const to = length === undefined ? count : Math.min(from + needInteger('length', length, 0), count);
    const size = view.BYTES_PER_ELEMENT;
    return new FastBuffer(view.buffer.slice(view.byteOffset + from * size, view.byteOffset + to * size));
  },
  of: (...items) => new FastBuffer(items),
  isBuffer: (value) => value instanceof Buffer,
  compare(buf1, buf2) {
    return order(needBytes('buf1', buf1), needBytes('buf2', buf2));
  },
  isEncoding: (name) => typeof name === 'string' && find(name) !== undefined,
  concat(list, length) {
    if (!Array.isArray(list)) throw wrongType('list', 'an instance of Array', list);
    if (!list.length) return new FastBuffer();
    const whole = length === undefined ? list.reduce((sum, part, index) => sum + needBytes(`list[${index}]`, part).length, 0) : needInteger('length', length, 0);
    const made = allocate(sizeOf(whole));
    let at = 0;
    list.forEach((part, index) => {
      needBytes(`list[${index}]`, part);
      if (at < whole) set.call(made, bytesOf(part, 0, Math.min(part.length, whole - at)), at);
      at += part.length;
    });
    return made;
  },
  byteLength(value, encoding) {
    if (typeof value === 'string') return ((encoding && find(`${encoding}`)) || utf8).size(value);
    if (ArrayBuffer.isView(value) || isAnyArrayBuffer(value)) return value.byteLength;
    throw wrongType('string', 'of type string or an instance of Buffer or ArrayBuffer', value);
  },
});

function alloc(size, value, encoding) {
  const made = allocate(sizeOf(size));
  if (value === undefined || value === 0 || !made.length) return made;
  if (encoding !== undefined) need('string', 'encoding', encoding);
  return made.fill(value, encoding);
}
// They are called with `new`, too.
Buffer.alloc = alloc;
for (const name of ['allocUnsafe', 'allocUnsafeSlow']) {
  Buffer[name] = { [name]: function (size) {
    return allocate(sizeOf(size));
  } }[name];
}
function SlowBuffer(length) {
  return allocate(sizeOf(length));
}
SlowBuffer.prototype = Object.create(Buffer.prototype);

// As an index that counts from the end when it is negative.
function index(value, length) {
  const at = Math.trunc(+value) || 0;
  return at < 0 ? Math.max(length + at, 0) : Math.min(at, length);
}

function subarray(start, end) {
  const { length } = this;
  const from = index(start, length);
  const to = end === undefined ? length : index(end, length);
  return new FastBuffer(bytesShared.call(this), this.byteOffset + from, Math.max(to - from, 0));
}

function toString(encoding, start, end) {
  const { length } = this;
  const from = Math.max(Math.trunc(+start) || 0, 0);
  const to = end === undefined ? length : Math.min(Math.trunc(+end) || 0, length);
  if (to <= from) return '';
  const kind = encoding === undefined ? utf8 : encodingOf(encoding);
  const text = kind.decode(bytesOf(this, from, to));
  if (text.length > LONGEST_TEXT) throw error(Error, 'ERR_STRING_TOO_LONG', `Cannot create a string longer than 0x${LONGEST_TEXT.toString(16)} characters`);
  return text;
}

function write(text, offset, length, encoding) {
  const whole = this.length;
  if (typeof text !== 'string') throw error(TypeError, 'ERR_INVALID_ARG_TYPE', 'argument must be a string');
  if (typeof offset === 'string' && length === undefined) [offset, encoding] = [undefined, offset];
  const from = offset === undefined ? 0 : needInteger('offset', offset, 0, whole);
  if (typeof length === 'string') [length, encoding] = [undefined, length];
  const most = length === undefined ? whole - from : Math.min(needInteger('length', length, 0, whole), whole - from);
  return (encoding ? encodingOf(encoding) : utf8).write(this, text, from, most);
}

function show(depth, options) {
  const shown = Array.from(bytesOf(this, 0, Math.min(this.length, shownBytes)), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  const rest = this.length - shownBytes;
  const more = rest > 0 ? ` ... ${rest} more byte${rest > 1 ? 's' : ''}` : '';
  const names = this.length > MOST_NAMES ? [] : Object.keys(this).slice(this.length);
  const extra = names.length ? shared.inspect(Object.fromEntries(names.map((name) => [name, this[name]])), { ...options, depth }).slice(2, -2) : '';
  return `<Buffer ${shown}${more}${extra && shown ? ', ' : ''}${extra}>`;
}

Object.assign(Buffer.prototype, numbers, others, {
  toString,
  toLocaleString: toString,
  write,
  subarray,
  slice: subarray,
  inspect: show,
  toJSON() {
    return { type: 'Buffer', data: Array.from(this) };
  },
});
Object.defineProperty(Buffer.prototype, custom, { value: show, writable: true, configurable: true });
// Methods of each encoding, which packages look for.
for (const [name, kind] of Object.entries(known)) {
  Buffer.prototype[`${name}Slice`] = function (start = 0, end = this.length) {
    return kind.decode(bytesOf(this, index(start, this.length), index(end, this.length)));
  };
  Buffer.prototype[`${name}Write`] = function (text, offset = 0, length = this.length - offset) {
    return write.call(this, text, offset, Math.min(length, this.length - offset), name);
  };
}
for (const [name, own] of [['parent', 'buffer'], ['offset', 'byteOffset']]) {
  Object.defineProperty(Buffer.prototype, name, {
    get() {
      return this instanceof Buffer ? this[own] : undefined;
    },
    enumerable: true,
  });
}

const illegal = () => Object.assign(error(Error, 'U_ILLEGAL_ARGUMENT_ERROR', 'Unable to transcode Buffer [U_ILLEGAL_ARGUMENT_ERROR]'), { errno: 1 });

function transcode(source, fromEncoding, toEncoding) {
  if (!isBytes(source)) throw wrongType('source', 'an instance of Buffer or Uint8Array', source);
  const [from, to] = [fromEncoding, toEncoding].map((name) => find(`${name}`));
  const able = [utf8, known.ucs2, known.latin1, known.ascii];
  if (!able.includes(from) || !able.includes(to)) throw illegal();
  const text = from.decode(source);
  const most = to === known.ascii ? 0x7f : to === known.latin1 ? 0xff : Infinity;
  return viewOf(to.encode(most === Infinity ? text : Array.from(text, (each) => (each.codePointAt(0) > most ? '?' : each)).join('')));
}

// The bytes that a question about them is asked of.
function inputBytes(input) {
  if (!ArrayBuffer.isView(input) && !isAnyArrayBuffer(input)) throw wrongType('input', 'an instance of ArrayBuffer, Buffer, or TypedArray', input);
  const memory = input.buffer ?? input;
  if (memory.detached) throw error(Error, 'ERR_INVALID_STATE', 'Invalid state: Cannot validate on a detached buffer');
  return new Uint8Array(memory, input.byteOffset ?? 0, input.byteLength);
}

module.exports = {
  Buffer,
  SlowBuffer,
  transcode,
  isUtf8: (input) => decodeUtf8(inputBytes(input), true, false) !== null,
  isAscii: (input) => inputBytes(input).every((byte) => byte < 128),
  kMaxLength: MOST,
  kStringMaxLength: LONGEST_TEXT,
  btoa,
  atob,
  constants: Object.defineProperties({}, { MAX_LENGTH: { value: MOST, enumerable: true }, MAX_STRING_LENGTH: { value: LONGEST_TEXT, enumerable: true } }),
  get INSPECT_MAX_BYTES() {
    return shownBytes;
  },
  set INSPECT_MAX_BYTES(most) {
    shownBytes = needNumber('INSPECT_MAX_BYTES', most, 0);
  },
  Blob,
  File,
  resolveObjectURL: (url) => require('internal/object_urls').resolve(url),
};
