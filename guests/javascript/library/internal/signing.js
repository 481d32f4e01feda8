// Signatures with keys in pairs.
'use strict';
const { Buffer } = require('buffer');
const { Writable } = require('stream');
const { error, need, needFunction, wrongValue } = require('internal/arguments');
const { attempt, bytesOf, callable, encoded, invalidState, pieceOf } = require('internal/crypto_bytes');
const der = require('internal/der');
const dsa = require('internal/dsa');
const { isKeyed, lengths, nameOf } = require('internal/digests');
const { pairOf } = require('internal/keys');
const { openssl, unsupportedOperation } = require('internal/openssl_error');
const pairs = require('internal/pairs');
const pss = require('internal/pss');

const constants = {
  RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_PKCS1_PSS_PADDING: 6,
  RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_MAX_SIGN: -2, RSA_PSS_SALTLEN_AUTO: -2,
  POINT_CONVERSION_COMPRESSED: 2, POINT_CONVERSION_UNCOMPRESSED: 4, POINT_CONVERSION_HYBRID: 6,
};

function digestOf(given) {
  // The old name of SHA-1 for DSA is one of signatures alone.
  const name = nameOf(given === 'DSS1' || given === 'dss1' ? 'sha1' : given ?? 'sha256');
  if (!isKeyed(name)) throw error(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${given}`);
  return name;
}

// Signatures of curves: both numbers in full length, and in DER as OpenSSL writes them.
function toDer(signature) {
  const half = signature.length / 2;
  return der.structure(der.integer(signature.subarray(0, half)), der.integer(signature.subarray(half)));
}
function ofDer(signature, size) {
  const numbers = der.sequence(signature).map(der.ofInteger);
  if (numbers.length !== 2 || numbers.some((number) => number.length > size)) throw new Error('no signature');
  return Buffer.concat(numbers.flatMap((number) => [Buffer.alloc(size - number.length), number]));
}

// What is asked of the native library, but for what is to be done.
function wordsOf(pair, digest, options, bytes) {
  if (pair.kind === 'X25519' || pair.kind === 'DH') throw unsupportedOperation();
  if (pair.kind === 'Ed25519') {
    if (digest !== undefined && digest !== null) throw openssl('1C80007A:Provider routines::invalid digest');
    return 'Ed25519';
  }
  const name = digestOf(digest);
  if (pair.kind !== 'RSA') return `${pair.kind} ${name}`;
  const isPss = pairs.isPss(pair);
  const padding = options?.padding ?? (isPss ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING);
  if (padding === constants.RSA_PKCS1_PADDING && !isPss) return `RSA-PKCS1 ${name}`;
  if (padding !== constants.RSA_PKCS1_PSS_PADDING) {
    if (!Number.isInteger(padding)) throw wrongValue('options.padding', padding);
    throw openssl('1C8000A5:Provider routines::illegal or unsupported padding mode');
  }
  return `RSA-PSS ${name} ${saltOf(pair, name, options, bytes)}`;
}

function saltOf(pair, name, options, bytes) {
  const given = options?.saltLength ?? pair.pss?.salt;
  let length = given ?? constants.RSA_PSS_SALTLEN_AUTO;
  if (!Number.isInteger(length) || length < -2 || length > 2 ** 31 - 1) throw wrongValue('options.saltLength', length);
  if (length === constants.RSA_PSS_SALTLEN_DIGEST) length = lengths[name];
  pss.check(pair.pss, name, given === undefined ? undefined : length);
  if (length >= 0) return length;
  const found = bytes ? pairs.ask(`salt RSA ${name}`, pair.bytes, undefined, bytes) : Math.ceil((pairs.ofRsa(pair).bits - 1) / 8) - lengths[name] - 2;
  return Number(`${found ?? 0}`);
}

function asP1363(options) {
  const encoding = options?.dsaEncoding;
  if (encoding === undefined || encoding === 'der' || encoding === 'ieee-p1363') return encoding === 'ieee-p1363';
  throw wrongValue('options.dsaEncoding', encoding);
}

// The bytes of each of both numbers of a signature; undefined: it is one of another kind.
function sizeOf(pair) {
  if (pair.kind === 'DSA') return dsa.sizeOf(pair);
  return pairs.isCurve(pair.kind) ? pairs.curves[pair.kind].size : undefined;
}

function sign(digest, data, key) {
  const pair = pairOf(key, 'private');
  const signature = pair.kind === 'DSA' ? dsa.sign(pair, digestOf(digest), data) : pairs.ask(`sign ${wordsOf(pair, digest, key)}`, pair.bytes, data);
  if (!signature) throw openssl('02000070:rsa routines::digest too big for rsa key');
  return sizeOf(pair) && !asP1363(key) ? toDer(signature) : signature;
}

function verify(digest, data, key, signature) {
  const pair = pairOf(key, 'public');
  let given = signature;
  const size = sizeOf(pair);
  if (size && !asP1363(key)) {
    try {
      given = ofDer(signature, size);
    } catch {
      return false;
    }
    // A signature is written in one way.
    if (!native.sameBytes(toDer(given), signature)) return false;
  }
  if (pair.kind === 'DSA') return dsa.verify(pair, digestOf(digest), data, given);
  return pairs.ask(`verify ${wordsOf(pair, digest, key, given)}`, pair.bytes, data, given)?.[0] === 1;
}

// A function that may be given a callback at the end.
function maybeLater(callback, work) {
  if (callback === undefined) return work();
  needFunction('callback', callback);
  const [failure, result] = attempt(work);
  setImmediate(() => callback(failure, result));
  return undefined;
}

// The data of a signature, piece by piece.
class Pieces extends Writable {
  #digest;
  #pieces = [];
  constructor(digest, options) {
    super(options);
    digestOf(need('string', 'algorithm', digest));
    this.#digest = digest;
  }
  update(data, encoding) {
    if (!this.#pieces) throw invalidState('Not initialised');
    this.#pieces.push(Buffer.from(pieceOf(data, encoding)));
    return this;
  }
  _write(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }
  _take() {
    const pieces = this.#pieces;
    if (!pieces) throw invalidState('Not initialised');
    this.#pieces = undefined;
    return [this.#digest, Buffer.concat(pieces)];
  }
}

const Sign = callable(class Sign extends Pieces {
  sign(key, encoding) {
    if (!key) throw error(Error, 'ERR_CRYPTO_SIGN_KEY_REQUIRED', 'No key provided to sign');
    return encoded(sign(...this._take(), key), encoding);
  }
});

const Verify = callable(class Verify extends Pieces {
  verify(key, signature, encoding) {
    return verify(...this._take(), key, bytesOf(signature, encoding, 'signature'));
  }
});

function checked(digest, data, key) {
  if (digest !== undefined && digest !== null) need('string', 'algorithm', digest);
  const bytes = bytesOf(data, 'utf8', 'data');
  if (!key) throw error(Error, 'ERR_CRYPTO_SIGN_KEY_REQUIRED', 'No key provided to sign');
  return bytes;
}

function signing(digest, data, key) {
  const bytes = checked(digest, data, key);
  return () => sign(digest, bytes, key);
}

function verifying(digest, data, key, signature) {
  const [bytes, given] = [checked(digest, data, key), bytesOf(signature, 'utf8', 'signature')];
  return () => verify(digest, bytes, key, given);
}

module.exports = {
  Sign,
  Verify,
  constants,
  createSign: (digest, options) => new Sign(digest, options),
  createVerify: (digest, options) => new Verify(digest, options),
  digestOf,
  maybeLater,
  sign: (digest, data, key, callback) => maybeLater(callback, signing(digest, data, key)),
  verify: (digest, data, key, signature, callback) => maybeLater(callback, verifying(digest, data, key, signature)),
};
