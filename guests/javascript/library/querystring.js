// The module `querystring`.
'use strict';
const { Buffer } = require('buffer');
const { error } = require('internal/arguments');

// Of the numbers of two units, the first of which says that a pair begins, whatever the second is: old programs know these answers.
function escapePairs(text) {
  return text.replace(/[\ud800-\udfff][^]?/g, (pair) => {
    if (pair.length < 2) throw error(URIError, 'ERR_INVALID_URI', 'URI malformed');
    return String.fromCodePoint(0x10000 + (((pair.charCodeAt(0) & 0x3ff) << 10) | (pair.charCodeAt(1) & 0x3ff)));
  });
}

function escape(value) {
  const text = typeof value === 'object' && value !== null ? String(value) : `${value}`;
  return encodeURIComponent(text.isWellFormed() ? text : escapePairs(text));
}

function unescape(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    // What is no escape stays as it is.
    return new TextDecoder().decode(unescapeBuffer(text));
  }
}

function unescapeBuffer(text, decodesSpaces = false) {
  const plain = decodesSpaces ? `${text}`.replaceAll('+', ' ') : `${text}`;
  return Buffer.from(plain.replace(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(parseInt(digits, 16))), 'latin1');
}

const plain = (value) => (typeof value === 'string' || typeof value === 'bigint' || typeof value === 'boolean' || Number.isFinite(value) ? `${value}` : '');

function stringify(object, separator = '&', assign = '=', options = undefined) {
  if (typeof object !== 'object' || object === null) return '';
  const encode = options?.encodeURIComponent ?? module.exports.escape;
  const pairs = [];
  for (const [name, value] of Object.entries(object)) {
    for (const each of Array.isArray(value) ? value : [value]) pairs.push(encode(name) + (assign ?? '=') + encode(plain(each)));
  }
  return pairs.join(separator ?? '&');
}

// A part of a query. What has no escape in it is as it is, unless the decoder is the program's own; one that throws is passed over.
function decoded(text, decode) {
  if (decode === unescape && !/%[0-9a-f]{2}/i.test(text)) return text;
  try {
    return decode(text);
  } catch {
    return unescape(text);
  }
}

function parse(text, separator = '&', assign = '=', options = undefined) {
  const result = Object.create(null);
  if (typeof text !== 'string' || text === '') return result;
  const decode = options?.decodeURIComponent ?? module.exports.unescape;
  const most = typeof options?.maxKeys === 'number' ? options.maxKeys : 1000;
  const between = separator ? `${separator}` : '&';
  const equals = assign ? `${assign}` : '=';
  const parts = between === '' ? [text] : text.split(between);
  for (const part of most > 0 ? parts.slice(0, most) : parts) {
    if (part === '') continue;
    const at = part.indexOf(equals);
    const [name, value] = at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + equals.length)];
    const [key, known] = [decoded(name.replaceAll('+', ' '), decode), decoded(value.replaceAll('+', ' '), decode)];
    if (!(key in result)) result[key] = known;
    else if (Array.isArray(result[key])) result[key].push(known);
    else result[key] = [result[key], known];
  }
  return result;
}

module.exports = { stringify, encode: stringify, parse, decode: parse, escape, unescape, unescapeBuffer };
