// What messages of HTTP may have in their heads.
'use strict';
const { error } = require('internal/arguments');

const token = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;
const invalid = /[^\t\x20-\x7e\x80-\xff]/;

const isToken = (text) => token.test(text);
const hasInvalid = (value) => invalid.test(value);

function validateHeaderName(name, label = 'Header name') {
  if (typeof name !== 'string' || !isToken(name)) throw error(TypeError, 'ERR_INVALID_HTTP_TOKEN', `${label} must be a valid HTTP token ["${name}"]`);
}

function validateHeaderValue(name, value) {
  if (value === undefined) throw error(TypeError, 'ERR_HTTP_INVALID_HEADER_VALUE', `Invalid value "${value}" for header "${name}"`);
  if (hasInvalid(value)) throw error(TypeError, 'ERR_INVALID_CHAR', `Invalid character in header content ["${name}"]`);
}

// Pairs of names and values, from a list of both in turn, a list of pairs, or an object.
function pairsOf(headers) {
  if (!Array.isArray(headers)) return Object.entries(headers ?? {});
  if (Array.isArray(headers[0])) return headers;
  if (headers.length % 2) throw error(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'headers' is invalid. Received ${shared.inspect(headers)}`);
  return headers.flatMap((name, at) => (at % 2 ? [] : [[name, headers[at + 1]]]));
}

module.exports = { hasInvalid, isToken, pairsOf, validateHeaderName, validateHeaderValue };
