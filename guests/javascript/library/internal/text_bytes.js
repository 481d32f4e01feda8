// The encodings of text that buffers know. Each has `encode`, which gives bytes of its own for a text, `decode`, `size`, which tells
// without making the bytes how many there would be, and `write`, which tells how many bytes of a text were put into a view.
'use strict';
const { error } = require('internal/arguments');
const { decodeUtf8, encodeUtf8 } = native;

const { fromBase64: parseBase64, fromHex: parseHex } = Uint8Array;
const { set, subarray, toBase64, toHex } = Uint8Array.prototype;
const { fromCharCode } = String;
// Arguments of one call.
const MANY = 8192;

function joined(units) {
  if (units.length <= MANY) return fromCharCode.apply(null, units);
  let text = '';
  for (let at = 0; at < units.length; at += MANY) text += fromCharCode.apply(null, units.subarray(at, at + MANY));
  return text;
}

function units(Kind, text) {
  const made = new Kind(text.length);
  for (let at = 0; at < text.length; at++) made[at] = text.charCodeAt(at);
  return made;
}

function bytesOfUtf16(text) {
  const { buffer } = units(Uint16Array, text);
  return new Uint8Array(buffer);
}

function textOfUtf16(bytes) {
  const even = bytes.byteLength & ~1;
  return joined(new Uint16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + even)));
}

function bytesOfHex(text) {
  try {
    if (text.length % 2 === 0) return parseHex.call(Uint8Array, text);
  } catch {}
  // What is no digit ends the text.
  return parseHex.call(Uint8Array, text.slice(0, text.search(/[^0-9a-f]|$/i) & ~1));
}

function bytesOfBase64(text) {
  try {
    return parseBase64.call(Uint8Array, text);
  } catch {}
  const end = text.indexOf('=');
  const plain = (end < 0 ? text : text.slice(0, end)).replace(/[^A-Za-z0-9+/_-]/g, '').replaceAll('-', '+').replaceAll('_', '/');
  // One digit alone says nothing.
  return parseBase64.call(Uint8Array, plain.length % 4 === 1 ? plain.slice(0, -1) : plain);
}

function sizeOfBase64(text) {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return ((text.length - padding) * 3) >>> 2;
}

// `least`: how many characters are enough for one byte. `cut`: where bytes may end.
function encoding({ name, encode, decode, size, least, cut = (_bytes, most) => most }) {
  function write(view, text, offset, length) {
    const bytes = encode(least === undefined ? text : text.slice(0, Math.ceil(length * least)));
    const count = bytes.length <= length ? bytes.length : cut(bytes, length);
    set.call(view, count === bytes.length ? bytes : bytes.subarray(0, count), offset);
    return count;
  }
  return { name, encode, decode, size, write };
}

const utf8 = encoding({
  name: 'utf8',
  encode: (text) => new Uint8Array(encodeUtf8(text)),
  decode: (bytes) => decodeUtf8(bytes, false, false),
  size: (text) => encodeUtf8(text).byteLength,
  // What stands for a surrogate that is cut from its other half does not fit any more.
  least: 1,
  cut(bytes, most) {
    while (most > 0 && (bytes[most] & 0xc0) === 0x80) most--;
    return most;
  },
});
const utf16le = encoding({ name: 'utf16le', encode: bytesOfUtf16, decode: textOfUtf16, size: (text) => text.length * 2, least: 0.5, cut: (_bytes, most) => most & ~1 });
const latin1 = encoding({ name: 'latin1', encode: (text) => units(Uint8Array, text), decode: joined, size: (text) => text.length, least: 1 });
const ascii = { ...latin1, name: 'ascii', decode: (bytes) => joined(bytes.map((byte) => byte & 127)) };
const hex = encoding({ name: 'hex', encode: bytesOfHex, decode: (bytes) => toHex.call(bytes), size: (text) => text.length >>> 1, least: 2 });
const base64 = encoding({ name: 'base64', encode: bytesOfBase64, decode: (bytes) => toBase64.call(bytes), size: sizeOfBase64 });
const base64url = { ...base64, name: 'base64url', decode: (bytes) => toBase64.call(bytes, { alphabet: 'base64url', omitPadding: true }) };

const known = new Map(
  Object.entries({ utf8, 'utf-8': utf8, utf16le, 'utf-16le': utf16le, ucs2: utf16le, 'ucs-2': utf16le, latin1, binary: latin1, ascii, hex, base64, base64url }),
);

const find = (name) => known.get(name) ?? known.get(name.toLowerCase());

// The encoding of a name, or an error.
function encodingOf(name) {
  const found = find(`${name}`);
  if (!found) throw error(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${name}`);
  return found;
}

// A part of a view, as bytes of the plain kind.
const bytesOf = (view, from, to) => (from === 0 && to === view.length ? view : subarray.call(view, from, to));

module.exports = { bytesOf, encodingOf, find, known: { ascii, base64, base64url, hex, latin1, ucs2: utf16le, utf8 }, utf16le, utf8 };
