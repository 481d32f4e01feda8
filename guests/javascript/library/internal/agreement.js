// Secrets that two sides agree on.
'use strict';
const { error, need, needObject, wrongValue } = require('internal/arguments');
const { Buffer } = require('buffer');
const { bytesOf, callable, encoded } = require('internal/crypto_bytes');
const groups = require('internal/groups');
const { KeyObject, pairOf, typeOf } = require('internal/keys');
const { numberOf, powerOf } = require('internal/numbers');
const { coded, openssl } = require('internal/openssl_error');
const pairs = require('internal/pairs');
const { maybeLater } = require('internal/signing');

function agree(own, other) {
  const [left, right] = [own, other].map(typeOf);
  if (left !== right || left === 'dsa') throw error(Error, 'ERR_CRYPTO_INCOMPATIBLE_KEY', `Incompatible key types for Diffie-Hellman: ${left} and ${right}`);
  if (own.kind !== other.kind || (own.domain && !own.domain.equals(other.domain))) throw openssl('1C8000CB:Provider routines::mismatching domain parameters');
  const secret = own.domain ? agreeInGroup(own, other) : pairs.ask(`agree ${own.kind}`, own.bytes, other.bytes);
  if (!secret) throw openssl('1C8000A4:Provider routines::failed during derivation');
  return secret;
}

function agreeInGroup(own, other) {
  const { prime } = groups.groupOf(own);
  const number = numberOf(other.bytes);
  if (number <= 1n) throw openssl('0280007C:Diffie-Hellman routines::check pubkey too small');
  if (number >= numberOf(prime) - 1n) throw openssl('0280007B:Diffie-Hellman routines::check pubkey too large');
  return powerOf(other.bytes, own.bytes, prime);
}

function diffieHellman(options, callback) {
  needObject('options', options);
  const { privateKey, publicKey } = options;
  if (!(privateKey instanceof KeyObject)) throw wrongValue('options.privateKey', privateKey);
  if (!(publicKey instanceof KeyObject)) throw wrongValue('options.publicKey', publicKey);
  const [own, other] = [pairOf(privateKey, 'private'), pairOf(publicKey, 'public')];
  return maybeLater(callback, () => agree(own, other));
}

// --- ECDH, with the numbers of curves alone.

// How the first byte of a point begins; the last bit tells which of both numbers it is.
const forms = { compressed: 2, uncompressed: 4, hybrid: 6 };

function pointOf(point, format = 'uncompressed') {
  const wanted = format === null || format === '' ? 'uncompressed' : format;
  if (!Object.hasOwn(forms, wanted)) throw error(TypeError, 'ERR_CRYPTO_ECDH_INVALID_FORMAT', `Invalid ECDH format: ${format}`);
  if (wanted === 'uncompressed') return Buffer.from(point);
  const first = Uint8Array.of(forms[wanted] + (point.at(-1) & 1));
  return Buffer.concat([first, point.subarray(1, wanted === 'hybrid' ? undefined : 1 + (point.length - 1) / 2)]);
}

// A point in any of the forms; undefined: it is none.
function readPoint(kind, given) {
  const bytes = Buffer.from(given);
  const isHybrid = bytes[0] === 6 || bytes[0] === 7;
  if (isHybrid && (bytes[0] & 1) !== (bytes.at(-1) & 1)) return undefined;
  if (isHybrid) bytes[0] = 4;
  try {
    return pairs.publicKey(kind, bytes);
  } catch {
    return undefined;
  }
}

function curveOf(name) {
  const kind = pairs.curveOf(need('string', 'curve', name));
  if (!kind) throw coded(TypeError, 'ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name');
  return kind;
}

const failed = (what) => coded(Error, 'ERR_CRYPTO_OPERATION_FAILED', what);

const ECDH = callable(class ECDH {
  #kind;
  #own;
  // It may be set without the private key.
  #told;
  constructor(curve) {
    this.#kind = curveOf(curve);
  }
  static convertKey(key, curve, inputEncoding, outputEncoding, format) {
    const bytes = bytesOf(key, inputEncoding, 'key');
    const point = readPoint(curveOf(curve), bytes);
    if (!point) throw failed('Failed to convert Buffer to EC_POINT');
    return encoded(pointOf(point.bytes, format), outputEncoding);
  }
  generateKeys(encoding, format) {
    this.#own = pairs.generate(this.#kind);
    this.#told = pairs.toPublic(this.#own);
    return this.getPublicKey(encoding, format);
  }
  getPublicKey(encoding, format) {
    if (!this.#told) throw failed('Failed to get ECDH public key');
    return encoded(pointOf(this.#told.bytes, format), encoding);
  }
  getPrivateKey(encoding) {
    if (!this.#own) throw failed('Failed to get ECDH private key');
    return encoded(this.#own.bytes, encoding);
  }
  setPrivateKey(key, encoding) {
    const bytes = bytesOf(key, encoding, 'key');
    try {
      this.#own = pairs.privateKey(this.#kind, bytes);
    } catch {
      throw coded(RangeError, 'ERR_CRYPTO_INVALID_KEYTYPE', 'Private key is not valid for specified curve.');
    }
    this.#told = pairs.toPublic(this.#own);
    return this;
  }
  setPublicKey(key, encoding) {
    const point = readPoint(this.#kind, bytesOf(key, encoding, 'key'));
    if (!point) throw failed('Failed to convert Buffer to EC_POINT');
    this.#told = point;
    return this;
  }
  computeSecret(other, inputEncoding, outputEncoding) {
    const bytes = bytesOf(other, inputEncoding, 'otherPublicKey');
    const isFit = this.#own && this.#told.bytes.equals(pairs.toPublic(this.#own).bytes);
    if (!isFit) throw coded(RangeError, 'ERR_CRYPTO_INVALID_KEYPAIR', 'Invalid key pair');
    const point = readPoint(this.#kind, bytes);
    if (!point) throw coded(Error, 'ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY', 'Public key is not valid for specified curve');
    return encoded(agree(this.#own, point), outputEncoding);
  }
});

module.exports = { ECDH, createECDH: (curve) => new ECDH(curve), diffieHellman };
