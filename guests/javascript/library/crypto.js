// The module `crypto`: digests, HMAC, derived keys, AES, random numbers, and keys in pairs, which are internal/keys.js and
// internal/signing.js.
'use strict';
const { received } = require('internal/received');
const { Buffer } = require('buffer');
const { Transform } = require('stream');
const { cipher: begin, cipherAdditional, cipherFinish, cipherTag, cipherUpdate, cipherWithoutPadding } = native;
const { digest, digestCopy, digestFinish, digestUpdate, fillRandom, mac, pbkdf2, sameBytes, scrypt } = native;
const { KeyObject, createPrivateKey, createPublicKey, fail, generateKeyPair, generateKeyPairSync, keyOf, viewOf } = require('internal/keys');
const { isExtendable, lengths, nameOf } = require('internal/digests');
const { refusing } = require('internal/refuse');
const keyWrap = require('internal/key_wrap');
const signing = require('internal/signing');

function bytesOf(data, encoding, what = 'data') {
  const view = viewOf(data, encoding);
  if (view) return view;
  if (data instanceof KeyObject) return data.export();
  if (data instanceof globalThis.CryptoKey) return KeyObject.from(data).export();
  throw fail(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${what}" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received ${received(data)}`);
}

const encoded = (bytes, encoding) => (encoding && encoding !== 'buffer' ? Buffer.from(bytes).toString(encoding) : Buffer.from(bytes));

class Hash extends Transform {
  #state;
  #length;
  #result;
  // It was asked for. The end of the stream alone leaves it to be had.
  #told = false;
  constructor(state, length, options) {
    super(options);
    this.#state = state;
    this.#length = length;
  }
  copy(options) {
    if (this.#result) throw fail(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    return new Hash(digestCopy(this.#state), options?.outputLength ?? this.#length, options);
  }
  update(data, encoding) {
    if (this.#result) throw fail(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    digestUpdate(this.#state, bytesOf(data, encoding));
    return this;
  }
  digest(encoding) {
    if (this.#told) throw fail(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    this.#told = true;
    this.#result ??= digestFinish(this.#state, this.#length);
    return encoded(this.#result, encoding);
  }
  _transform(chunk, encoding, callback) {
    digestUpdate(this.#state, bytesOf(chunk, encoding));
    callback();
  }
  _flush(callback) {
    this.#result ??= digestFinish(this.#state, this.#length);
    this.push(Buffer.from(this.#result));
    callback();
  }
}

class Hmac extends Hash {
  #ended = false;
  // In Node.js a second result of an HMAC is empty.
  digest(encoding) {
    if (this.#ended) return encoded(new Uint8Array(0), encoding);
    this.#ended = true;
    return super.digest(encoding);
  }
}

function createHash(algorithm, options) {
  const name = nameOf(algorithm);
  if (!name) throw fail(Error, 'ERR_OSSL_EVP_UNSUPPORTED', 'Digest method not supported');
  const length = options?.outputLength ?? lengths[name];
  if (length !== lengths[name] && !isExtendable(name)) throw fail(Error, 'ERR_OSSL_EVP_NOT_XOF_OR_INVALID_LENGTH', 'Unsupported state or unable to set the length of the digest');
  return new Hash(digest(name), length, options);
}

function createHmac(algorithm, key, options) {
  const name = nameOf(algorithm);
  const state = name && mac(name, bytesOf(key, options?.encoding, 'key'));
  if (!state) throw fail(Error, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${algorithm}`);
  return new Hmac(state, lengths[name], options);
}

function hash(algorithm, data, given) {
  return createHash(algorithm).update(data).digest((typeof given === 'object' ? given?.outputEncoding : given) ?? 'hex');
}

// --- Keys that are derived.

function whole(name, value, least, most = 2 ** 31 - 1) {
  if (typeof value !== 'number') throw fail(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be of type number. Received ${received(value)}`);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw fail(RangeError, 'ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be an integer >= ${least} && <= ${most}. Received ${value}`);
}

function pbkdf2Sync(password, salt, iterations, length, algorithm) {
  const name = nameOf(algorithm);
  const bytes = name && pbkdf2(name, bytesOf(password, 'utf8', 'password'), bytesOf(salt, 'utf8', 'salt'), whole('iterations', iterations, 1), whole('keylen', length, 0));
  if (!bytes) throw fail(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${algorithm}`);
  return Buffer.from(bytes);
}

function scryptSync(password, salt, length, options = {}) {
  const cost = options.N ?? options.cost ?? 16384;
  const block = options.r ?? options.blockSize ?? 8;
  const parallel = options.p ?? options.parallelization ?? 1;
  const most = options.maxmem ?? 32 << 20;
  whole('keylen', length, 0);
  const log = Math.log2(cost);
  if (!Number.isInteger(log) || log < 1) throw fail(RangeError, 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS', 'Invalid scrypt params');
  if (128 * cost * block > most) throw fail(RangeError, 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS', 'Invalid scrypt params: memory limit exceeded');
  const bytes = scrypt(bytesOf(password, 'utf8', 'password'), bytesOf(salt, 'utf8', 'salt'), log, block, parallel, length);
  if (!bytes) throw fail(RangeError, 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS', 'Invalid scrypt params');
  return Buffer.from(bytes);
}

// RFC 5869.
function hkdfSync(algorithm, key, salt, info, length) {
  const name = nameOf(algorithm);
  if (!name) throw fail(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${algorithm}`);
  if (whole('keylen', length, 0) > 255 * lengths[name]) throw fail(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
  const [given, salted, about] = [bytesOf(key, 'utf8', 'ikm'), bytesOf(salt, 'utf8', 'salt'), bytesOf(info, 'utf8', 'info')];
  const secret = createHmac(name, salted).update(given).digest();
  const result = new Uint8Array(length);
  let last = Buffer.alloc(0);
  for (let at = 0, count = 1; at < length; at += last.length, count++) {
    last = createHmac(name, secret).update(last).update(about).update(Uint8Array.of(count)).digest();
    result.set(last.subarray(0, length - at), at);
  }
  return result.buffer;
}

// A function with a callback, of one that answers at once.
const later = (work) => (...values) => {
  const callback = values.pop();
  if (typeof callback !== 'function') throw fail(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "callback" argument must be of type function.');
  // Wrong arguments are thrown; what they come to is for the callback.
  const result = work(...values);
  setImmediate(() => callback(null, result));
};

// --- Ciphers.

const sizes = { 128: 16, 192: 24, 256: 32 };

function about(given) {
  const [, bits, mode] = /^(?:id-)?aes-?(128|192|256)-?(cbc|ctr|ecb|gcm|wrap)$/i.exec(`${given}`) ?? [];
  return bits && { bits: Number(bits), mode: mode.toLowerCase(), name: /wrap/i.test(mode) ? `id-aes${bits}-wrap` : `aes-${bits}-${mode.toLowerCase()}` };
}

class CipherBase extends Transform {
  #state;
  #decrypts;
  #mode;
  #length;
  #given;
  #tag;
  // Where a wrapped key begins.
  #vector;
  #ended = false;
  constructor(algorithm, key, start, options, decrypts) {
    super(options);
    const known = about(algorithm);
    if (!known) throw fail(Error, 'ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
    const secret = bytesOf(key, 'utf8', 'key');
    if (secret.length !== sizes[known.bits]) throw fail(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
    const vector = start === null || start === undefined ? new Uint8Array(0) : bytesOf(start, 'utf8', 'iv');
    this.#state = known.mode === 'wrap' ? vector.length === 8 && begin('ecb', secret, new Uint8Array(0), decrypts) : begin(known.mode, secret, vector, decrypts);
    if (!this.#state) throw fail(TypeError, 'ERR_CRYPTO_INVALID_IV', 'Invalid initialization vector');
    if (known.mode === 'wrap') {
      cipherWithoutPadding(this.#state);
      this.#vector = vector.slice();
    }
    this.#mode = known.mode;
    this.#decrypts = decrypts;
    this.#length = options?.authTagLength ?? 16;
  }
  setAutoPadding(pads = true) {
    if (!pads) cipherWithoutPadding(this.#state);
    return this;
  }
  setAAD(data) {
    if (!cipherAdditional(this.#state, bytesOf(data, 'utf8', 'buffer'))) throw fail(Error, 'ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation setAAD');
    return this;
  }
  setAuthTag(tag, encoding) {
    const bytes = bytesOf(tag, encoding, 'tag');
    if (this.#mode !== 'gcm' || !this.#decrypts) throw fail(Error, 'ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation setAuthTag');
    if (bytes.length < 4 || bytes.length > 16) throw fail(TypeError, 'ERR_CRYPTO_INVALID_AUTH_TAG', `Invalid authentication tag length: ${bytes.length}`);
    this.#given = bytes.slice();
    return this;
  }
  getAuthTag() {
    if (!this.#tag || this.#decrypts) throw fail(Error, 'ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation getAuthTag');
    return Buffer.from(this.#tag).subarray(0, this.#length);
  }
  update(data, inputEncoding, outputEncoding) {
    if (this.#ended) throw fail(Error, 'ERR_CRYPTO_INVALID_STATE', 'Unsupported state');
    const bytes = bytesOf(data, inputEncoding);
    if (this.#mode !== 'wrap') return encoded(cipherUpdate(this.#state, bytes), outputEncoding);
    const done = keyWrap[this.#decrypts ? 'unwrap' : 'wrap']((block) => cipherUpdate(this.#state, block), bytes, this.#vector);
    if (!done) throw fail(Error, 'ERR_CRYPTO_INVALID_STATE', 'Unsupported state or unable to authenticate data');
    return encoded(done, outputEncoding);
  }
  final(outputEncoding) {
    if (this.#ended) throw fail(Error, 'ERR_CRYPTO_INVALID_STATE', 'Unsupported state');
    this.#ended = true;
    const rest = cipherFinish(this.#state);
    if (!rest) throw fail(Error, 'ERR_OSSL_BAD_DECRYPT', this.#decrypts ? 'error:1C800064:Provider routines::bad decrypt' : 'error:1C80006B:Provider routines::wrong final block length');
    if (this.#mode === 'gcm') {
      this.#tag = cipherTag(this.#state);
      const given = this.#given;
      if (this.#decrypts && !(given && sameBytes(given, new Uint8Array(this.#tag, 0, given.length)))) throw fail(Error, 'ERR_CRYPTO_INVALID_STATE', 'Unsupported state or unable to authenticate data');
    }
    return encoded(rest, outputEncoding);
  }
  _transform(chunk, encoding, callback) {
    callback(null, this.update(chunk, encoding));
  }
  _flush(callback) {
    try {
      callback(null, this.final());
    } catch (error) {
      callback(error);
    }
  }
}

class Cipheriv extends CipherBase {
  constructor(algorithm, key, iv, options) {
    super(algorithm, key, iv, options, false);
  }
}
class Decipheriv extends CipherBase {
  constructor(algorithm, key, iv, options) {
    super(algorithm, key, iv, options, true);
  }
}

function getCipherInfo(given) {
  const known = about(given);
  if (!known) return undefined;
  const { bits, mode, name } = known;
  return { mode, name, keyLength: sizes[bits], ...(mode === 'ecb' ? {} : { ivLength: { gcm: 12, wrap: 8 }[mode] ?? 16 }), blockSize: { ctr: 1, gcm: 1, wrap: 8 }[mode] ?? 16 };
}

// --- Random numbers.

function randomBytes(size, callback) {
  const bytes = fillRandom(Buffer.alloc(whole('size', size, 0)));
  if (!callback) return bytes;
  setImmediate(() => callback(null, bytes));
  return undefined;
}

function randomFillSync(target, offset = 0, size = undefined) {
  const view = target instanceof ArrayBuffer ? new Uint8Array(target) : new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
  fillRandom(view.subarray(offset, size === undefined ? undefined : offset + size));
  return target;
}

function randomFill(target, ...rest) {
  const callback = rest.pop();
  randomFillSync(target, ...rest);
  setImmediate(() => callback(null, target));
}

function randomInt(least, most, callback) {
  if (most === undefined || typeof most === 'function') [least, most, callback] = [0, least, most];
  if (!Number.isSafeInteger(least) || !Number.isSafeInteger(most)) throw fail(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "min" and "max" arguments must be safe integers');
  const range = most - least;
  if (!(range > 0 && range <= 2 ** 48 - 1)) throw fail(RangeError, 'ERR_OUT_OF_RANGE', `The value of "max" is out of range. It must be greater than the value of "min" (${least}). Received ${most}`);
  // What lies beyond the last whole multiple is drawn again, so that each number is as likely.
  const limit = 2 ** 48 - (2 ** 48 % range);
  let drawn;
  do drawn = fillRandom(Buffer.alloc(6)).readUIntBE(0, 6);
  while (drawn >= limit);
  const number = least + (drawn % range);
  if (!callback) return number;
  setImmediate(() => callback(null, number));
  return undefined;
}

// --- Keys that both sides know.

function generateKeySync(type, { length }) {
  if (type === 'aes' && !sizes[length]) throw fail(TypeError, 'ERR_INVALID_ARG_VALUE', `The property 'options.length' must be one of: 128, 192, 256. Received ${length}`);
  return keyOf(randomBytes(Math.floor(length / 8)));
}

const notHere = (name) => refusing(name, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', `crypto.${name} is not part of this sandbox: there are digests, HMAC, derived keys, AES, random numbers, and keys of RSA, curves, Ed25519 and X25519`);

module.exports = {
  constants: signing.constants,
  ECDH: signing.ECDH,
  Hash,
  Hmac,
  Cipheriv,
  Decipheriv,
  KeyObject,
  Sign: signing.Sign,
  Verify: signing.Verify,
  createHash,
  createHmac,
  hash,
  getHashes: () => Object.keys(lengths).flatMap((name) => (/^(md5|sha\d+)$/.test(name) ? [`RSA-${name.toUpperCase()}`, name] : [name])).sort(),
  pbkdf2: later(pbkdf2Sync),
  pbkdf2Sync,
  scrypt: later(scryptSync),
  scryptSync,
  hkdf: later(hkdfSync),
  hkdfSync,
  createCipheriv: (...values) => new Cipheriv(...values),
  createDecipheriv: (...values) => new Decipheriv(...values),
  getCiphers: () => Object.keys(sizes).flatMap((bits) => ['cbc', 'ctr', 'ecb', 'gcm', 'wrap'].map((mode) => (mode === 'wrap' ? `aes${bits}-wrap` : `aes-${bits}-${mode}`))),
  getCipherInfo,
  getCurves: () => ['prime256v1', 'secp256k1', 'secp384r1', 'secp521r1'],
  getFips: () => 0,
  setFips() {},
  randomBytes,
  pseudoRandomBytes: randomBytes,
  randomFillSync,
  randomFill,
  randomInt,
  randomUUID: () => crypto.randomUUID(),
  getRandomValues: (array) => crypto.getRandomValues(array),
  timingSafeEqual(left, right) {
    const [a, b] = [bytesOf(left, 'utf8', 'buf1'), bytesOf(right, 'utf8', 'buf2')];
    if (a.length !== b.length) throw fail(RangeError, 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH', 'Input buffers must have the same byte length');
    return sameBytes(a, b);
  },
  createECDH: signing.createECDH,
  createPrivateKey,
  createPublicKey,
  createSecretKey: (key, encoding) => keyOf(Buffer.from(bytesOf(key, encoding, 'key'))),
  createSign: signing.createSign,
  createVerify: signing.createVerify,
  diffieHellman: signing.diffieHellman,
  generateKeySync,
  generateKey: later(generateKeySync),
  generateKeyPair,
  generateKeyPairSync,
  privateDecrypt: signing.privateDecrypt,
  publicEncrypt: signing.publicEncrypt,
  sign: signing.sign,
  verify: signing.verify,
  get webcrypto() {
    return crypto;
  },
  get subtle() {
    return crypto.subtle;
  },
};
for (const name of ['createDiffieHellman', 'createDiffieHellmanGroup', 'getDiffieHellman', 'privateEncrypt', 'publicDecrypt', 'generatePrime', 'generatePrimeSync', 'checkPrime', 'checkPrimeSync']) {
  module.exports[name] = notHere(name);
}
