// KeyObject, and what makes one: secrets, and keys in pairs.
'use strict';
const { error, needObject, wrongType, wrongValue } = require('internal/arguments');
const { Buffer } = require('buffer');
const { bytesOf, viewOf } = require('internal/crypto_bytes');
const groups = require('internal/groups');
const { isText, reading, writing } = require('internal/key_options');
const { bitsOf } = require('internal/numbers');
const pairs = require('internal/pairs');
const pss = require('internal/pss');

const types = { RSA: 'rsa', Ed25519: 'ed25519', X25519: 'x25519', DH: 'dh', DSA: 'dsa' };
const typeOf = (pair) => (pairs.isPss(pair) ? 'rsa-pss' : types[pair.kind] ?? 'ec');

const areSame = (left, right) => left === right || (left !== undefined && right !== undefined && left.equals(right));

let making = false;
let valueOf;

class KeyObject {
  // The bytes of a secret, or a key of internal/pairs.
  #value;
  constructor(type, value) {
    if (!['secret', 'public', 'private'].includes(type)) throw wrongValue('type', type);
    if (!making) throw wrongType('handle', 'of type object', value);
    this.#value = value;
  }
  static {
    valueOf = (key) => key.#value;
  }
  static from(key) {
    if (!(key instanceof globalThis.CryptoKey)) throw wrongType('key', 'an instance of CryptoKey', key);
    return keyOf(ofCryptoKey(key));
  }
  get type() {
    return this.#value.type ?? 'secret';
  }
  get symmetricKeySize() {
    return this.type === 'secret' ? this.#value.length : undefined;
  }
  get asymmetricKeyType() {
    return this.type === 'secret' ? undefined : typeOf(this.#value);
  }
  get asymmetricKeyDetails() {
    return this.type === 'secret' ? undefined : detailsOf(this.#value);
  }
  export(options) {
    return this.type === 'secret' ? exportedSecret(this.#value, options) : exported(this.#value, options);
  }
  equals(other) {
    if (!(other instanceof KeyObject)) throw wrongType('otherKeyObject', 'an instance of KeyObject', other);
    const [own, given] = [this.#value, other.#value];
    return this.type === other.type && own.kind === given.kind && pairs.isPss(own) === pairs.isPss(given) && areSame(own.domain, given.domain) && native.sameBytes(own.bytes ?? own, given.bytes ?? given);
  }
  toCryptoKey(algorithm, isExtractable, usages) {
    return require('internal/webcrypto').keyOf(this.#value, algorithm, isExtractable, usages);
  }
  get [Symbol.toStringTag]() {
    return 'KeyObject';
  }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options) {
    const text = shared.inspect({ [Symbol('kKeyType')]: this.type }, options);
    return depth < 0 ? this : `${this.constructor.name} [KeyObject] ${text}`;
  }
}
class SecretKeyObject extends KeyObject {}
class PublicKeyObject extends KeyObject {}
class PrivateKeyObject extends KeyObject {}

const ofCryptoKey = (key) => require('internal/webcrypto').valueOf(key);
const isKey = (given) => given instanceof KeyObject || given instanceof globalThis.CryptoKey;
const valueOfKey = (key) => (key instanceof KeyObject ? valueOf(key) : ofCryptoKey(key));

function keyOf(value) {
  const Kind = { public: PublicKeyObject, private: PrivateKeyObject }[value.type] ?? SecretKeyObject;
  making = true;
  try {
    return new Kind(value.type ?? 'secret', value);
  } finally {
    making = false;
  }
}

function detailsOf(pair) {
  const { kind } = pair;
  if (pairs.isCurve(kind)) return { namedCurve: pairs.curves[kind].name };
  if (kind === 'DSA') return detailsOfDsa(pair);
  if (kind !== 'RSA') return {};
  const { bits, exponent } = pairs.ofRsa(pair);
  return { modulusLength: bits, publicExponent: BigInt(`0x${exponent.toString('hex')}`), ...pss.details(pair.pss) };
}

function detailsOfDsa(pair) {
  const { prime, order } = groups.groupOf(pair);
  return { modulusLength: bitsOf(prime), divisorLength: bitsOf(order) };
}

function exportedSecret(bytes, options) {
  if (options !== undefined) needObject('options', options);
  const format = options?.format;
  if (format === 'jwk') return { kty: 'oct', k: bytes.toString('base64url') };
  if (format !== undefined && format !== 'buffer') throw wrongValue('options.format', format, "must be one of: undefined, 'buffer', 'jwk'");
  return Buffer.from(bytes);
}

const exported = (pair, options) => written(pair, writing(options, typeOf(pair), pair.type === 'public'));

function written(pair, { format, form, cipher, passphrase }) {
  if (format === 'jwk') return pairs.toJwk(pair);
  const lock = passphrase && { cipher, passphrase };
  return format === 'pem' ? pairs.toPem(pair, form, lock) : pairs.toDer(pair, form, lock);
}

// --- Keys that are given.

const wrongKind = (type, wanted) => error(TypeError, 'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE', `Invalid key object type ${type}, expected ${wanted}.`);
const bytesOnly = 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView';
const anyKey = 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, DataView, KeyObject, or CryptoKey';

// The bytes of a secret.
function secretOf(key, encoding, what = 'key') {
  if (!isKey(key)) return bytesOf(key, encoding, what, anyKey);
  const value = valueOfKey(key);
  if (pairs.isPair(value)) throw wrongKind(value.type, 'secret');
  return value;
}

function createSecretKey(key, encoding) {
  return keyOf(Buffer.from(bytesOf(key, encoding, 'key', 'an instance of ArrayBuffer, Buffer, TypedArray, or DataView')));
}

function toWanted(pair, wanted) {
  if (pair.type === wanted) return pair;
  if (wanted === 'public' && pair.type === 'private') return pairs.toPublic(pair);
  throw wrongKind(pair.type ?? 'secret', wanted === 'public' ? 'private or public' : wanted);
}

// The key of a pair that was given, in any of the forms that Node.js takes; the public one, of a private key too, where that is wanted. `creates`
// says that a KeyObject would be made of it, for which private ones are no source, and public ones none of public ones.
function pairOf(given, wanted, creates = false) {
  const isPrivateOnly = creates && wanted === 'private';
  const wrongKey = (what, value) => wrongType(what, isPrivateOnly ? bytesOnly : anyKey, value);
  if (isKey(given)) return ofKey(given, wanted, creates, wrongKey);
  if (isText(given)) return toWanted(pairs.ofPem(Buffer.from(viewOf(given)).toString('latin1')), wanted);
  if (given === null || typeof given !== 'object') throw wrongKey('key', given);
  const { key } = given;
  if (isKey(key)) return ofKey(key, wanted, creates, wrongKey);
  if (given.format === 'jwk') return toWanted(pairs.ofJwk(needObject('key.key', key)), wanted);
  if (!isText(key)) throw wrongKey('key' in given ? 'key.key' : 'key', key);
  const { format, form, passphrase } = reading(given, wanted === 'private' ? false : undefined);
  const bytes = Buffer.from(viewOf(key, given.encoding));
  const pair = format === 'pem' ? pairs.ofPem(bytes.toString('latin1'), passphrase) : pairs.ofGivenDer(bytes, form, wanted, passphrase);
  return toWanted(pair, wanted);
}

function ofKey(given, wanted, creates, wrongKey) {
  if (creates && wanted === 'private') throw wrongKey('key', given);
  const value = valueOfKey(given);
  if (creates && value.type !== 'private') throw wrongKind(value.type ?? 'secret', 'private');
  return toWanted(value, wanted);
}

// Nobody can change a key, so a copy is the key itself.
shared.copyOf(KeyObject, (key) => key);

module.exports = {
  KeyObject,
  createPrivateKey: (key) => keyOf(pairOf(key, 'private', true)),
  createPublicKey: (key) => keyOf(pairOf(key, 'public', true)),
  createSecretKey,
  keyOf,
  pairOf,
  secretOf,
  typeOf,
  valueOf: (key) => valueOf(key),
  written,
};
