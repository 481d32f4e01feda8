// What is done with keys in pairs: signatures, RSA's encryption, and secrets that two sides agree on.
'use strict';
const { Buffer } = require('buffer');
const { Writable } = require('stream');
const der = require('internal/der');
const { lengths, nameOf } = require('internal/digests');
const { fail, pairOf, viewOf, wrong } = require('internal/keys');
const pairs = require('internal/pairs');

const constants = {
  RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_PKCS1_PSS_PADDING: 6,
  RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_MAX_SIGN: -2, RSA_PSS_SALTLEN_AUTO: -2,
  POINT_CONVERSION_COMPRESSED: 2, POINT_CONVERSION_UNCOMPRESSED: 4, POINT_CONVERSION_HYBRID: 6,
};

function digestOf(given) {
  const name = nameOf(given ?? 'sha256');
  if (!name || /^(blake|shake)/.test(name)) throw fail(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${given}`);
  return name;
}

function bytesOf(data, encoding, what) {
  const view = viewOf(data, encoding);
  if (!view) throw wrong(what, data, 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView');
  return view;
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
  if (pair.kind === 'X25519') throw fail(Error, 'ERR_OSSL_EVP_OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE', 'error:03000096:digital envelope routines::operation not supported for this keytype');
  if (pair.kind === 'Ed25519') {
    if (digest !== undefined && digest !== null) throw fail(Error, 'ERR_OSSL_INVALID_DIGEST', 'error:1C80007A:Provider routines::invalid digest');
    return 'Ed25519';
  }
  const name = digestOf(digest);
  if (pair.kind !== 'RSA') return `${pair.kind} ${name}`;
  const padding = options?.padding ?? constants.RSA_PKCS1_PADDING;
  if (padding === constants.RSA_PKCS1_PADDING) return `RSA-PKCS1 ${name}`;
  if (padding !== constants.RSA_PKCS1_PSS_PADDING) throw fail(TypeError, 'ERR_INVALID_ARG_VALUE', `The property 'options.padding' is invalid. Received ${shared.inspect(padding)}`);
  let length = options.saltLength ?? constants.RSA_PSS_SALTLEN_AUTO;
  if (!Number.isInteger(length) || length < -2 || length > 2 ** 31 - 1) throw fail(TypeError, 'ERR_INVALID_ARG_VALUE', `The property 'options.saltLength' is invalid. Received ${shared.inspect(length)}`);
  if (length === constants.RSA_PSS_SALTLEN_DIGEST) length = lengths[name];
  if (length < 0) {
    const found = bytes ? pairs.ask(`salt RSA ${name}`, pair.bytes, undefined, bytes) : Math.ceil((pairs.ofRsa(pair).bits - 1) / 8) - lengths[name] - 2;
    length = Number(`${found ?? 0}`);
  }
  return `RSA-PSS ${name} ${length}`;
}

function asP1363(options) {
  const encoding = options?.dsaEncoding;
  if (encoding === undefined || encoding === 'der' || encoding === 'ieee-p1363') return encoding === 'ieee-p1363';
  throw fail(TypeError, 'ERR_INVALID_ARG_VALUE', `The property 'options.dsaEncoding' is invalid. Received ${shared.inspect(encoding)}`);
}

function sign(digest, data, key) {
  const pair = pairOf(key, 'private');
  const signature = pairs.ask(`sign ${wordsOf(pair, digest, key)}`, pair.bytes, data);
  if (!signature) throw fail(Error, 'ERR_OSSL_RSA_DIGEST_TOO_BIG_FOR_RSA_KEY', 'error:02000070:rsa routines::digest too big for rsa key');
  return pairs.isCurve(pair.kind) && !asP1363(key) ? toDer(signature) : signature;
}

function verify(digest, data, key, signature) {
  const pair = pairOf(key, 'public');
  let given = signature;
  if (pairs.isCurve(pair.kind) && !asP1363(key)) {
    try {
      given = ofDer(signature, pairs.curves[pair.kind].size);
    } catch {
      return false;
    }
    // A signature is written in one way.
    if (!native.sameBytes(toDer(given), signature)) return false;
  }
  return pairs.ask(`verify ${wordsOf(pair, digest, key, given)}`, pair.bytes, data, given)?.[0] === 1;
}

// A function that may be given a callback at the end.
function maybeLater(callback, work) {
  if (callback === undefined) return work();
  if (typeof callback !== 'function') throw wrong('callback', callback, 'of type function');
  let result;
  let failure = null;
  try {
    result = work();
  } catch (error) {
    failure = error;
  }
  setImmediate(() => callback(failure, result));
  return undefined;
}

// The data of a signature, piece by piece.
class Pieces extends Writable {
  #digest;
  #pieces = [];
  constructor(digest, options) {
    super(options);
    if (!digest) throw wrong('algorithm', digest, 'of type string');
    digestOf(digest);
    this.#digest = digest;
  }
  update(data, encoding) {
    if (!this.#pieces) throw fail(Error, 'ERR_CRYPTO_INVALID_STATE', 'Not initialised');
    this.#pieces.push(Buffer.from(bytesOf(data, encoding, 'data')));
    return this;
  }
  _write(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }
  _take() {
    const pieces = this.#pieces;
    if (!pieces) throw fail(Error, 'ERR_CRYPTO_INVALID_STATE', 'Not initialised');
    this.#pieces = undefined;
    return [this.#digest, Buffer.concat(pieces)];
  }
}

class Sign extends Pieces {
  sign(key, encoding) {
    const signature = sign(...this._take(), key);
    return encoding && encoding !== 'buffer' ? signature.toString(encoding) : signature;
  }
}

class Verify extends Pieces {
  verify(key, signature, encoding) {
    return verify(...this._take(), key, bytesOf(signature, encoding, 'signature'));
  }
}

// --- RSA's encryption.

function paddingOf(options) {
  const padding = options?.padding ?? constants.RSA_PKCS1_OAEP_PADDING;
  if (padding === constants.RSA_PKCS1_PADDING) return 'RSA-PKCS1';
  if (padding === constants.RSA_PKCS1_OAEP_PADDING) return `RSA-OAEP ${digestOf(options?.oaepHash ?? 'sha1')}`;
  throw fail(TypeError, 'ERR_INVALID_ARG_VALUE', `The property 'options.padding' is invalid. Received ${shared.inspect(padding)}`);
}

function crypt(what, type, code, message) {
  return (key, data) => {
    const pair = pairOf(key, type);
    const given = bytesOf(data, key?.encoding, 'buffer');
    const label = key?.oaepLabel ? bytesOf(key.oaepLabel, key.encoding, 'key.oaepLabel') : undefined;
    const result = pair.kind === 'RSA' ? pairs.ask(`${what} ${paddingOf(key)}`, pair.bytes, given, label) : undefined;
    if (!result) throw fail(Error, code, message);
    return result;
  };
}
const publicEncrypt = crypt('encrypt', 'public', 'ERR_OSSL_RSA_DATA_TOO_LARGE_FOR_KEY_SIZE', 'error:0200006E:rsa routines::data too large for key size');
const privateDecrypt = crypt('decrypt', 'private', 'ERR_OSSL_RSA_OAEP_DECODING_ERROR', 'error:02000079:rsa routines::oaep decoding error');

// --- Secrets that two sides agree on.

function agree(own, other) {
  const secret = own.kind === other.kind ? pairs.ask(`agree ${own.kind}`, own.bytes, other.bytes) : undefined;
  if (!secret) throw fail(Error, 'ERR_CRYPTO_INCOMPATIBLE_KEY', 'Incompatible key types for Diffie-Hellman');
  return secret;
}

function diffieHellman(options, callback) {
  if (options === null || typeof options !== 'object') throw wrong('options', options, 'of type object');
  return maybeLater(callback, () => agree(pairOf(options.privateKey, 'private'), pairOf(options.publicKey, 'public')));
}

function pointOf(point, format = 'uncompressed') {
  if (format === 'uncompressed') return Buffer.from(point);
  if (format !== 'compressed') throw fail(TypeError, 'ERR_CRYPTO_ECDH_INVALID_FORMAT', `Invalid ECDH format: ${format}`);
  const half = (point.length - 1) / 2;
  return Buffer.concat([Uint8Array.of(2 + (point.at(-1) & 1)), point.subarray(1, 1 + half)]);
}
const told = (bytes, encoding) => (encoding && encoding !== 'buffer' ? bytes.toString(encoding) : bytes);

class ECDH {
  #kind;
  #own;
  constructor(name) {
    this.#kind = pairs.curveOf(name);
    if (!this.#kind) throw fail(TypeError, 'ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name');
  }
  static convertKey(key, curve, inputEncoding, outputEncoding, format) {
    const kind = pairs.curveOf(curve);
    if (!kind) throw fail(TypeError, 'ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name');
    return told(pointOf(pairs.publicKey(kind, bytesOf(key, inputEncoding, 'key')).bytes, format), outputEncoding);
  }
  #has() {
    if (!this.#own) throw fail(Error, 'ERR_CRYPTO_ECDH_NO_KEY', 'Failed to get ECDH private key');
    return this.#own;
  }
  generateKeys(encoding, format) {
    this.#own = pairs.generate(this.#kind);
    return this.getPublicKey(encoding, format);
  }
  getPublicKey(encoding, format) {
    return told(pointOf(pairs.toPublic(this.#has()).bytes, format), encoding);
  }
  getPrivateKey(encoding) {
    return told(Buffer.from(this.#has().bytes), encoding);
  }
  setPrivateKey(key, encoding) {
    try {
      this.#own = pairs.privateKey(this.#kind, bytesOf(key, encoding, 'key'));
    } catch (error) {
      throw error.code === 'ERR_INVALID_ARG_TYPE' ? error : fail(Error, 'ERR_CRYPTO_INVALID_KEYTYPE', 'Private key is not valid for specified curve.');
    }
  }
  computeSecret(other, inputEncoding, outputEncoding) {
    let point;
    try {
      point = pairs.publicKey(this.#kind, bytesOf(other, inputEncoding, 'otherPublicKey'));
    } catch (error) {
      throw error.code === 'ERR_INVALID_ARG_TYPE' ? error : fail(Error, 'ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY', 'Public key is not valid for specified curve');
    }
    return told(agree(this.#has(), point), outputEncoding);
  }
}

module.exports = {
  ECDH,
  Sign,
  Verify,
  constants,
  createECDH: (curve) => new ECDH(curve),
  createSign: (digest, options) => new Sign(digest, options),
  createVerify: (digest, options) => new Verify(digest, options),
  diffieHellman,
  privateDecrypt,
  publicEncrypt,
  sign: (digest, data, key, callback) => maybeLater(callback, () => sign(digest, bytesOf(data, 'utf8', 'data'), key)),
  verify: (digest, data, key, signature, callback) => maybeLater(callback, () => verify(digest, bytesOf(data, 'utf8', 'data'), key, bytesOf(signature, 'utf8', 'signature'))),
};
