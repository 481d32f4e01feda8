// Keys that are derived: PBKDF2, scrypt, HKDF.
'use strict';
const { error, need, needInteger, outOfRange } = require('internal/arguments');
const { Buffer } = require('buffer');
const { bytesOf } = require('internal/crypto_bytes');
const { isKeyed, lengths, nameOf } = require('internal/digests');
const { digestOf } = require('internal/hashing');
const { KeyObject, secretOf } = require('internal/keys');

const MOST = 2 ** 31 - 1;
const wrongDigest = (algorithm) => error(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${algorithm}`);

function pbkdf2(password, salt, iterations, length, algorithm) {
  const name = nameOf(need('string', 'digest', algorithm));
  const [secret, salted] = [bytesOf(password, 'utf8', 'password'), bytesOf(salt, 'utf8', 'salt')];
  needInteger('iterations', iterations, 1, MOST);
  needInteger('keylen', length, 0, MOST);
  if (!isKeyed(name)) throw wrongDigest(algorithm);
  return () => Buffer.from(native.pbkdf2(name, secret, salted, iterations, length));
}

function scrypt(password, salt, length, options) {
  const [secret, salted] = [bytesOf(password, 'utf8', 'password'), bytesOf(salt, 'utf8', 'salt')];
  needInteger('keylen', length, 0, MOST);
  const { log, block, parallel } = costOf(options ?? {});
  return () => {
    const bytes = native.scrypt(secret, salted, log, block, parallel, length);
    if (!bytes) throw wrongCost(': memory limit exceeded');
    return Buffer.from(bytes);
  };
}
const wrongCost = (more = '') => error(RangeError, 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS', `Invalid scrypt params${more}`);

function costOf(options) {
  const number = (short, long, usual) => {
    const [name, value] = options[short] !== undefined ? [short, options[short]] : [long, options[long]];
    return value === undefined ? usual : needInteger(name, value, 0, 2 ** 32 - 1) || usual;
  };
  for (const [short, long] of [['N', 'cost'], ['r', 'blockSize'], ['p', 'parallelization']]) {
    if (options[short] !== undefined && options[long] !== undefined) throw error(TypeError, 'ERR_INCOMPATIBLE_OPTION_PAIR', `Option "${short}" cannot be used in combination with option "${long}"`);
  }
  const [cost, block, parallel] = [number('N', 'cost', 16384), number('r', 'blockSize', 8), number('p', 'parallelization', 1)];
  const most = options.maxmem === undefined ? 32 << 20 : needInteger('maxmem', options.maxmem, 0) || 32 << 20;
  const log = Math.log2(cost);
  if (!Number.isInteger(log) || log < 1) throw wrongCost();
  if (128 * cost * block > most) throw wrongCost(': memory limit exceeded');
  return { log, block, parallel };
}

// RFC 5869.
function hkdf(algorithm, key, salt, info, length) {
  const name = nameOf(need('string', 'digest', algorithm));
  const wanted = 'of type string or an instance of ArrayBuffer, TypedArray, DataView, or Buffer';
  const given = key instanceof KeyObject ? secretOf(key) : bytesOf(key, 'utf8', 'ikm', 'of type string or an instance of SecretKeyObject, ArrayBuffer, TypedArray, DataView, or Buffer');
  const [salted, about] = [bytesOf(salt, 'utf8', 'salt', wanted), bytesOf(info, 'utf8', 'info', wanted)];
  needInteger('length', length, 0, MOST);
  if (about.length > 1024) throw outOfRange('info', 'must not contain more than 1024 bytes', about.length);
  if (!isKeyed(name)) throw wrongDigest(algorithm);
  if (length > 255 * lengths[name]) throw error(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
  return () => expand(name, digestOf(name, [given], salted), about, length);
}

function expand(name, secret, about, length) {
  const result = new Uint8Array(length);
  let last = Buffer.alloc(0);
  for (let at = 0, count = 1; at < length; at += last.length, count++) {
    last = digestOf(name, [last, about, Uint8Array.of(count)], secret);
    result.set(last.subarray(0, length - at), at);
  }
  return result.buffer;
}

module.exports = { hkdf, pbkdf2, scrypt };
