// Errors of arguments that are wrong or missing, with the codes and in the words of Node.js.
'use strict';
const { received } = require('internal/received');

function error(Kind, code, message) {
  const made = Object.assign(new Kind(message), { code });
  return Object.defineProperty(made, 'toString', { value: textOf, writable: true, configurable: true });
}

function textOf() {
  return `${this.name} [${this.code}]: ${this.message}`;
}

// "a", "b", or "c".
function listed(names, word) {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')}${names.length > 2 ? ',' : ''} ${word} ${names.at(-1)}`;
}

// Of `options.x` the messages say that it is a property.
const called = (name) => (name.endsWith('argument') ? `The ${name}` : `The "${name}" ${name.includes('.') ? 'property' : 'argument'}`);

function wrongType(name, expected, value) {
  return error(TypeError, 'ERR_INVALID_ARG_TYPE', `${called(name)} must be ${expected}. Received ${received(value)}`);
}

function wrongValue(name, value, reason = 'is invalid') {
  const kind = name.includes('.') ? 'property' : 'argument';
  return error(TypeError, 'ERR_INVALID_ARG_VALUE', `The ${kind} '${name}' ${reason}. Received ${shared.inspect(value)}`);
}

function outOfRange(name, range, value) {
  const isLong = typeof value === 'bigint' ? value > 2n ** 32n || value < -(2n ** 32n) : Number.isInteger(value) && Math.abs(value) > 2 ** 32;
  const number = isLong ? shared.inspect(value).replace(/\B(?=(\d{3})+n?$)/g, '_') : shared.inspect(value);
  return error(RangeError, 'ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be ${range}. Received ${number}`);
}

function missing(...names) {
  const quoted = names.map((name) => `"${name}"`);
  return error(TypeError, 'ERR_MISSING_ARGS', `The ${listed(quoted, 'and')} argument${names.length > 1 ? 's' : ''} must be specified`);
}

const wrongThis = (kind) => error(TypeError, 'ERR_INVALID_THIS', `Value of "this" must be of type ${kind}`);

function need(kind, name, value) {
  if (typeof value !== kind) throw wrongType(name, `of type ${kind}`, value);
  return value;
}

function needFunction(name, value) {
  return need('function', name, value);
}

function needObject(name, value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongType(name, 'of type object', value);
  return value;
}

// An integer of a range, by default of those that numbers are exact for.
function needInteger(name, value, least = Number.MIN_SAFE_INTEGER, most = Number.MAX_SAFE_INTEGER) {
  need('number', name, value);
  if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
  if (value < least || value > most) throw outOfRange(name, `>= ${least} && <= ${most}`, value);
  return value;
}

// A number of a range, which may have a fraction.
function needNumber(name, value, least, most = Infinity) {
  need('number', name, value);
  if (value >= least && value <= most) return value;
  throw outOfRange(name, most === Infinity ? `>= ${least}` : `>= ${least} && <= ${most}`, value);
}

module.exports = { error, missing, need, needFunction, needInteger, needNumber, needObject, outOfRange, wrongThis, wrongType, wrongValue };
