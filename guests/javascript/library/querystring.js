// The module `querystring`.
'use strict';
const { Buffer } = require('buffer');

function escape(value) {
  return encodeURIComponent(`${value}`.toWellFormed());
}

function unescape(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    // What is no escape stays as it is.
    return new TextDecoder().decode(unescapeBuffer(text));
  }
}

function unescapeBuffer(text) {
  return Buffer.from(`${text}`.replace(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(parseInt(digits, 16))), 'latin1');
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

function parse(text, separator = '&', assign = '=', options = undefined) {
  const result = Object.create(null);
  if (typeof text !== 'string' || text === '') return result;
  const decode = options?.decodeURIComponent ?? module.exports.unescape;
  const most = options?.maxKeys ?? 1000;
  const parts = text.split(separator || '&').filter((part) => part !== '');
  for (const part of most > 0 ? parts.slice(0, most) : parts) {
    const at = part.indexOf(assign || '=');
    const [name, value] = at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + (assign || '=').length)];
    const [key, known] = [decode(name.replaceAll('+', ' ')), decode(value.replaceAll('+', ' '))];
    if (!(key in result)) result[key] = known;
    else if (Array.isArray(result[key])) result[key].push(known);
    else result[key] = [result[key], known];
  }
  return result;
}

module.exports = { stringify, encode: stringify, parse, decode: parse, escape, unescape, unescapeBuffer };
