// Methods of buffers that compare, search, fill and copy.
'use strict';
const { error, need, needInteger, outOfRange, wrongType, wrongValue } = require('internal/arguments');
const { bytesOf, encodingOf, utf16le, utf8 } = require('internal/text_bytes');

const { copyWithin, fill, indexOf, lastIndexOf, set, subarray } = Uint8Array.prototype;
const isBytes = (value) => value instanceof Uint8Array;

function needBytes(name, value) {
  if (!isBytes(value)) throw wrongType(name, 'an instance of Buffer or Uint8Array', value);
  return value;
}

function order(left, right) {
  const common = Math.min(left.length, right.length);
  for (let at = 0; at < common; at++) if (left[at] !== right[at]) return left[at] < right[at] ? -1 : 1;
  return left.length === right.length ? 0 : left.length < right.length ? -1 : 1;
}

function compare(target, targetStart = 0, targetEnd, sourceStart = 0, sourceEnd) {
  needBytes('target', target);
  if (arguments.length === 1) return order(this, target);
  needInteger('targetStart', targetStart, 0);
  const end = targetEnd === undefined ? target.length : needInteger('targetEnd', targetEnd, 0, target.length);
  needInteger('sourceStart', sourceStart, 0);
  const ownEnd = sourceEnd === undefined ? this.length : needInteger('sourceEnd', sourceEnd, 0, this.length);
  if (sourceStart >= ownEnd) return targetStart >= end ? 0 : -1;
  if (targetStart >= end) return 1;
  return order(bytesOf(this, sourceStart, ownEnd), bytesOf(target, targetStart, end));
}

function equals(otherBuffer) {
  needBytes('otherBuffer', otherBuffer);
  return this === otherBuffer || (this.length === otherBuffer.length && order(this, otherBuffer) === 0);
}

// Where a search begins: undefined if nothing can be found.
function begin(length, offset, needed, forward) {
  if (offset < 0) {
    if (offset + length >= 0) return offset + length;
    return forward || needed === 0 ? 0 : undefined;
  }
  if (offset + needed <= length) return offset;
  if (needed === 0) return length;
  return forward ? undefined : length - 1;
}

function isAt(bytes, needle, at) {
  for (let index = 1; index < needle.length; index++) if (bytes[at + index] !== needle[index]) return false;
  return true;
}

// `step`: 2 for units of UTF-16, which begin at even places.
function search(bytes, needle, from, forward, step) {
  const last = bytes.length - needle.length;
  const next = forward ? indexOf : lastIndexOf;
  let at = forward ? from : Math.min(from, last);
  while (at >= 0 && at <= last) {
    at = next.call(bytes, needle[0], at);
    if (at < 0 || at > last) return -1;
    if (at % step === 0 && isAt(bytes, needle, at)) return at;
    at += forward ? 1 : -1;
  }
  return -1;
}

function locate(bytes, value, offset, encoding, forward) {
  if (!ArrayBuffer.isView(bytes)) throw wrongType('buffer', 'an instance of Buffer, TypedArray, or DataView', bytes);
  if (typeof offset === 'string') [offset, encoding] = [undefined, offset];
  let from = Math.trunc(+offset);
  if (Number.isNaN(from)) from = forward ? 0 : bytes.length;
  if (typeof value === 'number') {
    const at = begin(bytes.length, from, 1, forward);
    return at === undefined || !bytes.length ? -1 : (forward ? indexOf : lastIndexOf).call(bytes, value & 255, at);
  }
  const kind = typeof value === 'string' ? encodingOf(encoding ?? 'utf8') : encoding === undefined ? utf8 : encodingOf(encoding);
  const needle = typeof value === 'string' ? kind.encode(value) : value;
  if (!isBytes(needle)) throw wrongType('value', 'one of type number or string or an instance of Buffer or Uint8Array', value);
  const at = begin(bytes.length, from, needle.length, forward);
  if (at === undefined) return -1;
  if (!needle.length) return at;
  const step = kind === utf16le ? 2 : 1;
  if (needle.length < step || bytes.length < step) return -1;
  return search(bytes, needle, at, forward, step);
}

function pattern(value, encoding) {
  if (typeof value === 'string') {
    if (!value) return 0;
    const bytes = encodingOf(encoding ?? 'utf8').encode(value);
    if (!bytes.length) throw wrongValue('value', value);
    return bytes;
  }
  if (!ArrayBuffer.isView(value)) return value & 255;
  if (!value.byteLength) throw wrongValue('value', value);
  return isBytes(value) ? value : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

// Each round copies twice as much as the one before.
function repeat(bytes, piece, from, to) {
  const first = Math.min(piece.length, to - from);
  set.call(bytes, subarray.call(piece, 0, first), from);
  for (let done = first; done < to - from; done *= 2) copyWithin.call(bytes, from + done, from, from + Math.min(done, to - from - done));
}

function fillWith(value, offset, end, encoding) {
  if (typeof value === 'string') {
    if (offset === undefined || typeof offset === 'string') [offset, end, encoding] = [undefined, undefined, offset ?? encoding];
    else if (typeof end === 'string') [end, encoding] = [undefined, end];
    if (encoding !== undefined && encoding !== null && encoding !== '') encodingOf(need('string', 'encoding', encoding));
    else encoding = undefined;
  }
  const from = offset === undefined ? 0 : needInteger('offset', offset, 0);
  const to = end === undefined || offset === undefined ? this.length : needInteger('end', end, 0, this.length);
  if (from >= to) return this;
  const piece = pattern(value, encoding);
  if (typeof piece === 'number') fill.call(this, piece, from, to);
  else repeat(this, piece, from, to);
  return this;
}

// An integer of what can be made one, as places of a copy are given.
function place(value, preset) {
  const number = value === undefined ? preset : +value;
  return Math.abs(number) <= Number.MAX_SAFE_INTEGER ? Math.floor(number) : preset;
}

function copy(target, targetStart, sourceStart, sourceEnd) {
  needBytes('target', target);
  const to = place(targetStart, 0);
  if (to < 0) throw outOfRange('targetStart', '>= 0', to);
  const from = place(sourceStart, 0);
  if (from < 0 || from > this.length) throw outOfRange('sourceStart', `>= 0 && <= ${this.length}`, from);
  const end = place(sourceEnd, this.length);
  if (end < 0) throw outOfRange('sourceEnd', '>= 0', end);
  const count = Math.min(end, this.length) - from;
  const room = target.length - to;
  if (count <= 0 || room <= 0) return 0;
  const copied = Math.min(count, room);
  set.call(target, subarray.call(this, from, from + copied), to);
  return copied;
}

const swapping = (bytes) =>
  function () {
    if (this.length % bytes) throw error(RangeError, 'ERR_INVALID_BUFFER_SIZE', `Buffer size must be a multiple of ${bytes * 8}-bits`);
    for (let at = 0; at < this.length; at += bytes) subarray.call(this, at, at + bytes).reverse();
    return this;
  };

module.exports = {
  isBytes,
  needBytes,
  order,
  methods: {
    compare,
    copy,
    equals,
    fill: fillWith,
    indexOf: function indexOf(value, byteOffset, encoding) {
      return locate(this, value, byteOffset, encoding, true);
    },
    lastIndexOf: function lastIndexOf(value, byteOffset, encoding) {
      return locate(this, value, byteOffset, encoding, false);
    },
    includes: function includes(value, byteOffset, encoding) {
      return locate(this, value, byteOffset, encoding, true) !== -1;
    },
    swap16: swapping(2),
    swap32: swapping(4),
    swap64: swapping(8),
  },
};
