// The functions for prime numbers.
'use strict';
const { error, need, needInteger, needObject, outOfRange, wrongType } = require('internal/arguments');
const { Buffer } = require('buffer');
const { viewOf } = require('internal/crypto_bytes');
const { LONGEST, bytesOf, isPrime, numberOf } = require('internal/numbers');
const { openssl } = require('internal/openssl_error');
const { searchPrime } = require('internal/prime_search');
const { fillRandom } = native;

const INT = 2 ** 31 - 1;
// From here on a sieve pays.
const LONG = 256;

// A number that is given as one, or as bytes.
function given(value, name) {
  if (typeof value === 'bigint') {
    if (value < 0n) throw outOfRange(name, '>= 0', value);
    return value;
  }
  const view = typeof value === 'string' ? undefined : viewOf(value);
  if (!view) throw wrongType(name, 'of type bigint or an instance of ArrayBuffer, TypedArray, Buffer, or DataView', value);
  return numberOf(view);
}

function flag(options, name) {
  return options[name] === undefined ? false : need('boolean', `options.${name}`, options[name]);
}

function conditionOf(size, options) {
  const safe = flag(options, 'safe');
  const bigint = flag(options, 'bigint');
  const [step, rest] = ['add', 'rem'].map((name) => (options[name] === undefined ? undefined : given(options[name], `options.${name}`)));
  const limit = 1n << BigInt(size);
  if (step !== undefined && (step === 0n || step >= limit)) throw error(RangeError, 'ERR_OUT_OF_RANGE', 'invalid options.add');
  // The number would be known beforehand.
  if (rest !== undefined && step !== undefined && rest >= step) throw error(RangeError, 'ERR_OUT_OF_RANGE', 'invalid options.rem');
  return { size, safe, bigint, step, rest: rest ?? (safe ? 3n : 1n) };
}

// A random number of so many bits, the two highest of which are set, or, with a step, the highest.
function candidate({ size, step, rest }) {
  const length = Math.ceil(size / 8);
  const limit = 1n << BigInt(size);
  const drawn = numberOf(fillRandom(Buffer.alloc(length))) % limit;
  if (step === undefined) return drawn | (limit >> 1n) | (limit >> 2n) | 1n;
  const high = drawn | (limit >> 1n);
  return high - (high % step) + rest;
}

function search(condition) {
  const { size, safe } = condition;
  if (size < 2 || (safe && size < 3) || size > LONGEST) throw openssl('01800076:bignum routines::bits too small');
  if (safe && condition.step === undefined && size >= LONG) return searchPrime(size, 12n, 11n, true);
  const limit = 1n << BigInt(size);
  const isSafe = (number) => !safe || isPrime((number - 1n) / 2n);
  // There may be none: about one in `size` numbers is a prime, and of these one in `size` is safe.
  for (let tries = 400 * size * (safe ? size : 1) + 4000; tries > 0; tries--) {
    const number = candidate(condition);
    if (number < limit && number >= limit >> 1n && isPrime(number, 1) && isSafe(number) && isPrime(number)) return number;
  }
  throw error(RangeError, 'ERR_OUT_OF_RANGE', 'no such prime was found');
}

function generatePrime(size, options = {}) {
  needInteger('size', size, 1, INT);
  needObject('options', options);
  const condition = conditionOf(size, options);
  return () => {
    const number = search(condition);
    if (condition.bigint) return number;
    const bytes = bytesOf(number, Math.ceil(size / 8));
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  };
}

function checkPrime(number, options = {}) {
  const candidate = given(number, 'candidate');
  needObject('options', options);
  const checks = options.checks === undefined ? 0 : needInteger('options.checks', options.checks, 0, INT);
  return () => isPrime(candidate, checks || undefined);
}

module.exports = { checkPrime, generatePrime };
