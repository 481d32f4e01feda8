// The module `string_decoder`: text of bytes that come in pieces. What is cut at the end of one piece waits for the next.
'use strict';
const { wrongThis, wrongType } = require('internal/arguments');
const { encodingOf, known, utf8, utf16le } = require('internal/text_bytes');
const { Buffer } = require('buffer');

const state = Symbol('state');

// How many bytes at the end are no whole character, and how many are missing.
function openUtf8(bytes) {
  for (let count = 1; count <= 3 && count <= bytes.length; count++) {
    const byte = bytes[bytes.length - count];
    if ((byte & 0xc0) === 0x80) continue;
    const size = (byte & 0xe0) === 0xc0 ? 2 : (byte & 0xf0) === 0xe0 ? 3 : (byte & 0xf8) === 0xf0 ? 4 : 1;
    return size > count ? [count, size - count] : [0, 0];
  }
  return [0, 0];
}

function openUtf16(bytes, before) {
  // The first half of a pair waits for all of the other one.
  if (before.length >= 2 && bytes.length < 4) return [bytes.length, 4 - bytes.length];
  if (bytes.length % 2) return [1, 1];
  return (bytes[bytes.length - 1] & 0xfc) === 0xd8 ? [2, 2] : [0, 0];
}

function openBase64(bytes) {
  const count = bytes.length % 3;
  return [count, count && 3 - count];
}

const opens = new Map([[utf8, openUtf8], [utf16le, openUtf16], [known.base64, openBase64], [known.base64url, openBase64]]);
const none = Buffer.alloc(0);

// A function of the older kind: classes are made of it by `call`.
function StringDecoder(encoding) {
  const kind = encodingOf(encoding === undefined || encoding === null || encoding === '' ? 'utf8' : encoding);
  this.encoding = kind.name;
  Object.defineProperty(this, state, { value: { kind, rest: none, missing: 0 } });
}

function stateOf(decoder) {
  if (!decoder?.[state]) throw wrongThis('StringDecoder');
  return decoder[state];
}

function textOf(kind, bytes) {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(kind.name);
}

Object.assign(StringDecoder.prototype, {
  write(buf) {
    if (typeof buf === 'string') return buf;
    if (!ArrayBuffer.isView(buf)) throw wrongType('buf', 'an instance of Buffer, TypedArray, or DataView', buf);
    const own = stateOf(this);
    const { kind, rest } = own;
    const given = Buffer.from(buf.buffer, buf.byteOffset, buf.byteLength);
    const open = opens.get(kind);
    if (!open || !given.length) return textOf(kind, given);
    const bytes = rest.length ? Buffer.concat([rest, given]) : given;
    const [count, missing] = open(bytes, rest);
    own.rest = count ? Buffer.from(bytes.subarray(bytes.length - count)) : none;
    own.missing = missing;
    return textOf(kind, bytes.subarray(0, bytes.length - count));
  },
  end(buf) {
    const text = buf === undefined ? '' : this.write(buf);
    const own = stateOf(this);
    const last = textOf(own.kind, own.rest);
    own.rest = none;
    own.missing = 0;
    return text + last;
  },
  text(buf, offset) {
    const own = stateOf(this);
    own.rest = none;
    own.missing = 0;
    return this.write(buf.slice(offset));
  },
});

const shown = {
  lastChar(own) {
    const four = Buffer.alloc(4);
    own.rest.copy(four);
    return four;
  },
  lastNeed: (own) => own.missing,
  lastTotal: (own) => own.rest.length + own.missing,
};
for (const [name, value] of Object.entries(shown)) {
  Object.defineProperty(StringDecoder.prototype, name, {
    get() {
      return value(stateOf(this));
    },
    configurable: true,
    enumerable: true,
  });
}

module.exports = { StringDecoder };
