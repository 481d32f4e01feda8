// The module `buffer`: that of the package `buffer`, over what the engine does quicker, with what newer versions of Node.js have.
'use strict';
const base = require('buffer/index.js');
const { decodeUtf8, encodeUtf8 } = native;
const { Blob, File } = require('internal/blob');

const { Buffer } = base;
const { alloc, from, byteLength: lengthOf } = Buffer;
const { write, toString } = Buffer.prototype;
// Of ArrayBuffer.
const MOST = 2 ** 31 - 1;

const isUtf8 = (encoding) => encoding === undefined || encoding === null || /^(utf-?8)?$/i.test(encoding);
const viewOf = (bytes) => Buffer.from(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength);

function fromText(text, encoding) {
  if (isUtf8(encoding)) return viewOf(encodeUtf8(text));
  const name = `${encoding}`.toLowerCase();
  // What is no digit ends the text, as in Node.js.
  if (name === 'hex') return viewOf(Uint8Array.fromHex(/^(?:[0-9a-f]{2})*/i.exec(text)[0]));
  if (name === 'base64' || name === 'base64url') return viewOf(fromBase64(text));
  return undefined;
}

function fromBase64(text) {
  const end = text.indexOf('=');
  const plain = (end < 0 ? text : text.slice(0, end)).replace(/[^A-Za-z0-9+/_-]/g, '').replaceAll('-', '+').replaceAll('_', '/');
  // One digit alone says nothing.
  return Uint8Array.fromBase64(plain.length % 4 === 1 ? plain.slice(0, -1) : plain);
}

Buffer.from = function (value, encoding, length) {
  if (typeof value === 'string') {
    const quick = fromText(value, encoding);
    if (quick) return quick;
  }
  try {
    return from.call(Buffer, value, encoding, length);
  } catch (error) {
    throw Object.assign(error, { code: error instanceof RangeError ? 'ERR_BUFFER_OUT_OF_BOUNDS' : 'ERR_INVALID_ARG_TYPE' });
  }
};

for (const name of ['alloc', 'allocUnsafe', 'allocUnsafeSlow']) {
  // A function of the older kind: it is called with `new`, too.
  Buffer[name] = function (size, ...fill) {
    if (typeof size === 'number' && size >= 0 && size <= MOST) return alloc.call(Buffer, size, ...(name === 'alloc' ? fill : []));
    const [Kind, code] = typeof size === 'number' ? [RangeError, 'ERR_OUT_OF_RANGE'] : [TypeError, 'ERR_INVALID_ARG_TYPE'];
    throw Object.assign(new Kind(`The value of "size" is out of range. It must be a number >= 0 && <= ${MOST}. Received ${shared.inspect(size)}`), { code });
  };
}

Buffer.byteLength = function (value, encoding) {
  if (typeof value !== 'string') return lengthOf(value, encoding);
  if (isUtf8(encoding)) return encodeUtf8(value).byteLength;
  if (/^base64/i.test(encoding)) return fromBase64(value).length;
  return lengthOf(value, encoding);
};

const encodings = new Set(['utf8', 'utf-8', 'hex', 'base64', 'base64url', 'ascii', 'latin1', 'binary', 'ucs2', 'ucs-2', 'utf16le', 'utf-16le']);
Buffer.isEncoding = (name) => typeof name === 'string' && encodings.has(name.toLowerCase());

Object.defineProperty(Buffer.prototype, 'toString', {
  value(encoding, start = 0, end = this.length) {
    const from = Math.max(0, start | 0);
    const to = Math.min(this.length, end);
    if (to <= from) return '';
    const part = from === 0 && to === this.length ? this : Uint8Array.prototype.subarray.call(this, from, to);
    if (isUtf8(encoding)) return decodeUtf8(part, false, false);
    switch (`${encoding}`.toLowerCase()) {
      case 'hex':
        return Uint8Array.prototype.toHex.call(part);
      case 'base64':
        return Uint8Array.prototype.toBase64.call(part);
      case 'base64url':
        return Uint8Array.prototype.toBase64.call(part, { alphabet: 'base64url', omitPadding: true });
      default:
        return toString.call(this, encoding, from, to);
    }
  },
  writable: true,
  configurable: true,
});
Buffer.prototype.toLocaleString = Buffer.prototype.toString;

Buffer.prototype.write = function (text, offset, length, encoding) {
  if (typeof offset === 'string') [offset, encoding] = [undefined, offset];
  if (typeof length === 'string') [length, encoding] = [undefined, length];
  if (isUtf8(encoding) || !/^base64url$/i.test(encoding)) return write.call(this, text, offset ?? 0, length ?? this.length - (offset ?? 0), encoding);
  const bytes = fromBase64(text).subarray(0, Math.min(length ?? Infinity, this.length - (offset ?? 0)));
  this.set(bytes, offset ?? 0);
  return bytes.length;
};

Buffer.copyBytesFrom = (view, offset = 0, length = view.length - offset) => {
  const part = view.subarray(offset, offset + length);
  return Buffer.from(new Uint8Array(part.buffer.slice(part.byteOffset, part.byteOffset + part.byteLength)).buffer);
};

// Old names, and those of unsigned numbers in both spellings.
for (const name of Object.getOwnPropertyNames(Buffer.prototype)) {
  if (/^(read|write)UInt/.test(name)) Buffer.prototype[name.replace('UInt', 'Uint')] ??= Buffer.prototype[name];
  if (/^(read|write)BigUInt/.test(name)) Buffer.prototype[name.replace('BigUInt', 'BigUint')] ??= Buffer.prototype[name];
}

Buffer.prototype[Symbol.for('nodejs.util.inspect.custom')] = function () {
  const shown = Array.from(Uint8Array.prototype.subarray.call(this, 0, 50), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  const more = this.length > 50 ? ` ... ${this.length - 50} more byte${this.length > 51 ? 's' : ''}` : '';
  return `<Buffer${shown ? ` ${shown}` : ''}${more}>`;
};
Buffer.prototype.inspect = Buffer.prototype[Symbol.for('nodejs.util.inspect.custom')];
Buffer.poolSize = 8192;
// By this packages know one that is not Node.js's own.
delete Buffer.TYPED_ARRAY_SUPPORT;

function transcode(source, fromEncoding, toEncoding) {
  return Buffer.from(viewOf(source).toString(fromEncoding), toEncoding);
}

module.exports = {
  Buffer,
  SlowBuffer: base.SlowBuffer,
  INSPECT_MAX_BYTES: 50,
  kMaxLength: MOST,
  kStringMaxLength: 2 ** 29 - 24,
  constants: { MAX_LENGTH: MOST, MAX_STRING_LENGTH: 2 ** 29 - 24 },
  Blob,
  File,
  atob,
  btoa,
  transcode,
  isUtf8: (bytes) => decodeUtf8(bytes, true, false) !== null,
  isAscii: (bytes) => viewOf(bytes).every((byte) => byte < 128),
};
