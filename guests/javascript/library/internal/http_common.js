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

module.exports = { hasInvalid, isToken, validateHeaderName, validateHeaderValue };
