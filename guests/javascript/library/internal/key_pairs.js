// Keys that are made: pairs, and secrets.
'use strict';
const { error, need, needFunction, needInteger, needObject, wrongType, wrongValue } = require('internal/arguments');
const { Buffer } = require('buffer');
const { attempt, viewOf } = require('internal/crypto_bytes');
const { lengths, nameOf } = require('internal/digests');
const groups = require('internal/groups');
const { writing } = require('internal/key_options');
const { keyOf, written } = require('internal/keys');
const { coded } = require('internal/openssl_error');
const pairs = require('internal/pairs');
const pss = require('internal/pss');

const UINT = 2 ** 32 - 1;
const INT = 2 ** 31 - 1;
const absent = ['ed448', 'x448'];

function ofRsa(options) {
  needObject('options', options);
  const bits = needInteger('options.modulusLength', options.modulusLength, 0, UINT);
  const exponent = options.publicExponent === undefined ? 0x10001 : needInteger('options.publicExponent', options.publicExponent, 0, UINT);
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(exponent);
  const bare = bytes.subarray(Math.min(bytes.findIndex((byte) => byte !== 0) >>> 0, 3));
  return () => pairs.generate('RSA', bits, bare);
}

// An option that had another name before.
function renamed(options, name, old) {
  const given = options[name];
  if (given !== undefined) need('string', `options.${name}`, given);
  const before = options[old];
  if (before === undefined) return given;
  process.emitWarning(`"options.${old}" is deprecated, use "options.${name}" instead.`, 'DeprecationWarning', 'DEP0154');
  need('string', `options.${old}`, before);
  if (given !== undefined && given !== before) throw wrongValue(`options.${old}`, before);
  return before;
}

function restrictionOf(options) {
  const { saltLength: salt } = options;
  if (salt !== undefined) needInteger('options.saltLength', salt, 0, INT);
  const [hash, mgf1] = [renamed(options, 'hashAlgorithm', 'hash'), renamed(options, 'mgf1HashAlgorithm', 'mgf1Hash')];
  const named = (given, what) => {
    const name = given === undefined ? undefined : nameOf(given);
    if (given !== undefined && !Object.hasOwn(pss.digests, name ?? '')) throw error(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid ${what}digest: ${given}`);
    return name;
  };
  const [main, mask] = [named(hash, ''), named(mgf1, 'MGF1 ')];
  if (salt === undefined && main === undefined && mask === undefined) return null;
  return { hash: main ?? 'sha1', mgf1: mask ?? main ?? 'sha1', salt: salt ?? (main ? lengths[main] : 20) };
}

function ofPss(options) {
  const make = ofRsa(options);
  const restriction = restrictionOf(options);
  return () => ({ ...make(), pss: restriction });
}

function ofCurve(options) {
  needObject('options', options);
  const kind = pairs.curveOf(need('string', 'options.namedCurve', options.namedCurve));
  if (![undefined, null, 'named', 'explicit'].includes(options.paramEncoding)) throw wrongValue('options.paramEncoding', options.paramEncoding);
  if (!kind) throw coded(TypeError, 'ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name');
  return () => pairs.generate(kind);
}

function ofDsa(options) {
  needObject('options', options);
  const bits = needInteger('options.modulusLength', options.modulusLength, 0, UINT);
  const order = options.divisorLength ?? undefined;
  if (order !== undefined) needInteger('options.divisorLength', order, 0, INT);
  return () => groups.generateDsa(bits, order ?? 224);
}

function incompatible(options, first, ...others) {
  const other = others.find((name) => (options[name] ?? undefined) !== undefined);
  if (other) throw error(TypeError, 'ERR_INCOMPATIBLE_OPTION_PAIR', `Option "${first}" cannot be used in combination with option "${other}"`);
}

function ofDh(options) {
  needObject('options', options);
  const { group: name, prime, primeLength: bits, generator } = options;
  if ((name ?? undefined) !== undefined) {
    incompatible(options, 'group', 'prime', 'primeLength', 'generator');
    const group = groups.namedGroup(need('string', 'options.group', name));
    return () => groups.generateDh(group);
  }
  if ((prime ?? undefined) !== undefined) {
    incompatible(options, 'prime', 'primeLength');
    if (!ArrayBuffer.isView(prime)) throw wrongType('options.prime', 'an instance of Buffer, TypedArray, or DataView', prime);
  } else if ((bits ?? undefined) === undefined) {
    throw error(TypeError, 'ERR_MISSING_OPTION', 'At least one of the group, prime, or primeLength options is required');
  } else needInteger('options.primeLength', bits, 0, INT);
  if ((generator ?? undefined) !== undefined) needInteger('options.generator', generator, 0, INT);
  if (bits === undefined || bits === null) {
    const group = groups.groupOfNumbers(viewOf(prime), generator ?? 2);
    return () => groups.generateDh(group);
  }
  return () => groups.generateDh(groups.newGroup(bits, generator ?? 2));
}

const makers = { dsa: ofDsa, dh: ofDh, rsa: ofRsa, 'rsa-pss': ofPss, ec: ofCurve, ed25519: () => () => pairs.generate('Ed25519'), x25519: () => () => pairs.generate('X25519') };

// How a key of the pair is given back.
function formOf(type, options, isPublic) {
  const name = `options.${isPublic ? 'public' : 'private'}KeyEncoding`;
  const encoding = options?.[name.slice(8)];
  if (encoding === undefined || encoding === null) return keyOf;
  if (typeof encoding !== 'object') throw wrongValue(name, encoding);
  const form = writing(encoding, type, isPublic, name);
  return (pair) => written(pair, form);
}

// What is to be done, once the arguments have been looked at.
function prepare(type, options) {
  need('string', 'type', type);
  if (options !== undefined) needObject('options', options);
  const [toPublic, toPrivate] = [formOf(type, options, true), formOf(type, options, false)];
  if (absent.includes(type)) throw error(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', `Keys of the type ${type} are not part of this sandbox`);
  if (!Object.hasOwn(makers, type)) throw wrongValue('type', type, 'must be a supported key type');
  const make = makers[type](options);
  return () => {
    const own = make();
    return { publicKey: toPublic(pairs.toPublic(own)), privateKey: toPrivate(own) };
  };
}

function generateKeyPair(type, options, callback) {
  if (typeof options === 'function') [options, callback] = [undefined, options];
  needFunction('callback', callback);
  const [failure, made] = attempt(prepare(type, options));
  setImmediate(() => callback(failure, made?.publicKey, made?.privateKey));
}
// What `util.promisify` gives is an object with both.
Object.defineProperty(generateKeyPair, Symbol.for('nodejs.util.promisify.custom'), {
  value: (type, options) => new Promise((done, failed) => {
    generateKeyPair(type, options, (failure, publicKey, privateKey) => (failure ? failed(failure) : done({ publicKey, privateKey })));
  }),
});

// --- Keys that both sides know.

function generateKey(type, options) {
  need('string', 'type', type);
  needObject('options', options);
  const { length } = options;
  if (type === 'hmac') needInteger('options.length', length, 8, INT);
  else if (type !== 'aes') throw wrongValue('type', type, 'must be a supported key type');
  else if (![128, 192, 256].includes(length)) throw wrongValue('options.length', length, 'must be one of: 128, 192, 256');
  return () => keyOf(native.fillRandom(Buffer.alloc(Math.floor(length / 8))));
}

module.exports = { generateKey, generateKeyPair, generateKeyPairSync: (type, options) => prepare(type, options)() };
