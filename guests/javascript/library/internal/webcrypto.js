// crypto.subtle (W3C Web Cryptography): digests, HMAC, AES, PBKDF2, HKDF, and keys in pairs.
'use strict';
const { Buffer } = require('buffer');
const pairs = require('internal/pairs');

// Asked for late: `crypto` itself asks for this module.
const node = () => require('crypto');

const failure = (name, message) => new DOMException(message, name);
const unsupported = (what) => failure('NotSupportedError', `${what} is not supported in this sandbox: there are SHA, HMAC, AES-CBC, AES-CTR, AES-GCM, AES-KW, PBKDF2, HKDF, RSA, ECDSA, ECDH, Ed25519 and X25519`);

let making = false;
let valueOf;

class CryptoKey {
  // The bytes of a secret, or a key of internal/pairs.
  #value;
  #algorithm;
  #extractable;
  #usages;
  constructor(value, algorithm, isExtractable, usages) {
    if (!making) throw new TypeError('Illegal constructor');
    this.#value = value;
    this.#algorithm = Object.freeze(algorithm);
    this.#extractable = Boolean(isExtractable);
    this.#usages = Object.freeze([...usages]);
  }
  static {
    valueOf = (key) => key.#value;
  }
  get type() {
    return this.#value.type ?? 'secret';
  }
  get algorithm() {
    return this.#algorithm;
  }
  get extractable() {
    return this.#extractable;
  }
  get usages() {
    return this.#usages;
  }
  get [Symbol.toStringTag]() {
    return 'CryptoKey';
  }
}

function newKey(...values) {
  making = true;
  try {
    return new CryptoKey(...values);
  } finally {
    making = false;
  }
}

function dataOf(data) {
  if (data instanceof ArrayBuffer) return Buffer.from(data.slice(0));
  if (ArrayBuffer.isView(data)) return Buffer.from(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  throw new TypeError('The data must be an ArrayBuffer or a view of one');
}

const exact = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);

const hashes = { 'SHA-1': 'sha1', 'SHA-256': 'sha256', 'SHA-384': 'sha384', 'SHA-512': 'sha512', 'SHA3-256': 'sha3-256', 'SHA3-384': 'sha3-384', 'SHA3-512': 'sha3-512' };
const blocks = { 'SHA-1': 64, 'SHA-256': 64, 'SHA-384': 128, 'SHA-512': 128 };
const modes = { 'AES-CBC': 'cbc', 'AES-CTR': 'ctr', 'AES-GCM': 'gcm', 'AES-KW': 'wrap' };

// What keys may be used for: `secret` by all, or by the private and the public one.
const wraps = ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'];
const derives = ['deriveBits', 'deriveKey'];
const signs = { private: ['sign'], public: ['verify'] };
const agrees = { private: derives, public: [] };
const usages = {
  HMAC: { secret: ['sign', 'verify'] },
  'AES-CBC': { secret: wraps },
  'AES-CTR': { secret: wraps },
  'AES-GCM': { secret: wraps },
  'AES-KW': { secret: ['wrapKey', 'unwrapKey'] },
  PBKDF2: { secret: derives },
  HKDF: { secret: derives },
  ECDSA: signs,
  ECDH: agrees,
  Ed25519: signs,
  X25519: agrees,
  'RSASSA-PKCS1-v1_5': signs,
  'RSA-PSS': signs,
  'RSA-OAEP': { private: ['decrypt', 'unwrapKey'], public: ['encrypt', 'wrapKey'] },
};
// What the native library calls those of RSA, and JWK.
const rsa = { 'RSASSA-PKCS1-v1_5': ['RSA-PKCS1', 'RS'], 'RSA-PSS': ['RSA-PSS', 'PS'], 'RSA-OAEP': ['RSA-OAEP', 'RSA-OAEP-'] };
const isRsa = (name) => Object.hasOwn(rsa, name);
const isPair = (name) => Boolean(usages[name].private);

// The name of an algorithm, as it is written: case does not matter.
const written = Object.fromEntries([...Object.keys(usages), ...Object.keys(hashes)].map((name) => [name.toUpperCase(), name]));
function nameOf(algorithm) {
  const name = `${typeof algorithm === 'string' ? algorithm : algorithm?.name}`;
  return written[name.toUpperCase()] ?? name;
}
function hashOf(algorithm) {
  const name = nameOf(algorithm);
  if (!Object.hasOwn(hashes, name)) throw unsupported(name);
  return hashes[name];
}

function known(algorithm) {
  const name = nameOf(algorithm);
  if (!Object.hasOwn(usages, name)) throw unsupported(name);
  return name;
}

function checkUsages(name, type, wanted) {
  const wrong = [...wanted].find((usage) => !usages[name][type]?.includes(usage));
  if (wrong) throw failure('SyntaxError', `Unsupported key usage for a ${name} key: ${wrong}`);
}

function needs(key, algorithm, usage, type) {
  if (!(key instanceof CryptoKey)) throw new TypeError('The key must be a CryptoKey');
  if (key.algorithm.name !== nameOf(algorithm)) throw failure('InvalidAccessError', `The key is not one of ${nameOf(algorithm)}`);
  if (!key.usages.includes(usage) || (type && key.type !== type)) throw failure('InvalidAccessError', `The key may not be used to ${usage}`);
  return valueOf(key);
}

// --- Keys from bytes, and from pairs.

function importBytes(bytes, algorithm, isExtractable, wanted) {
  const name = known(algorithm);
  checkUsages(name, 'secret', wanted);
  if (modes[name] && ![16, 24, 32].includes(bytes.length)) throw failure('DataError', 'The length of an AES key is 128, 192 or 256 bits');
  const about = { name };
  if (name === 'HMAC') {
    hashOf(algorithm.hash);
    about.hash = { name: nameOf(algorithm.hash) };
  }
  if (modes[name] || name === 'HMAC') about.length = algorithm.length && name === 'HMAC' ? algorithm.length : bytes.length * 8;
  if ((name === 'PBKDF2' || name === 'HKDF') && isExtractable) throw failure('SyntaxError', `A ${name} key cannot be extractable`);
  return newKey(bytes, about, isExtractable, wanted);
}

function importPair(pair, algorithm, isExtractable, wanted) {
  const name = known(algorithm);
  checkUsages(name, pair.type, wanted);
  if (pair.type === 'private' && !wanted.length) throw failure('SyntaxError', 'Usages cannot be empty when importing a private key.');
  const about = { name };
  if (isRsa(name)) {
    if (pair.kind !== 'RSA') throw failure('DataError', 'The key is not one of RSA');
    const { bits, exponent } = pairs.ofRsa(pair);
    hashOf(algorithm.hash);
    Object.assign(about, { modulusLength: bits, publicExponent: new Uint8Array(exponent), hash: { name: nameOf(algorithm.hash) } });
  } else if (name === 'ECDSA' || name === 'ECDH') {
    if (!pairs.isCurve(pair.kind) || pair.kind !== algorithm.namedCurve) throw failure('DataError', `The key is not one of ${algorithm.namedCurve}`);
    about.namedCurve = pair.kind;
  } else if (pair.kind !== name) throw failure('DataError', `The key is not one of ${name}`);
  return newKey(pair, about, isExtractable, wanted);
}

// What another module has made: a secret or one of a pair.
function keyOf(value, algorithm, isExtractable, wanted) {
  return pairs.isPair(value) ? importPair(value, algorithm, isExtractable, wanted) : importBytes(value, algorithm, isExtractable, wanted);
}

function generatePair(algorithm, isExtractable, wanted) {
  const name = nameOf(algorithm);
  const { private: own, public: told } = usages[name];
  const wrong = [...wanted].find((usage) => !own.includes(usage) && !told.includes(usage));
  if (wrong) throw failure('SyntaxError', `Unsupported key usage for a ${name} key: ${wrong}`);
  const ofOwn = wanted.filter((usage) => own.includes(usage));
  if (!ofOwn.length) throw failure('SyntaxError', 'Usages cannot be empty when creating a key.');
  let pair;
  if (isRsa(name)) {
    hashOf(algorithm.hash);
    try {
      pair = pairs.generate('RSA', algorithm.modulusLength, dataOf(algorithm.publicExponent));
    } catch (error) {
      throw failure('OperationError', error.message);
    }
  } else {
    const kind = name === 'ECDSA' || name === 'ECDH' ? algorithm.namedCurve : name;
    if (isPair(name) && kind !== name && !['P-256', 'P-384', 'P-521'].includes(kind)) throw unsupported(`the curve ${kind}`);
    pair = pairs.generate(kind);
  }
  const privateKey = importPair(pair, algorithm, isExtractable, ofOwn);
  return { privateKey, publicKey: importPair(pairs.toPublic(pair), algorithm, true, wanted.filter((usage) => told.includes(usage))) };
}

// The name of a key's algorithm in JWK (RFC 7518, 3.1, 4.1, 5.1); undefined: there is none.
function jwkName({ name, hash, length }) {
  const number = hash && nameOf(hash).replace(/^SHA-/, '');
  if (isRsa(name)) return name === 'RSA-OAEP' && number === '1' ? 'RSA-OAEP' : `${rsa[name][1]}${number}`;
  if (name === 'HMAC') return `HS${number}`;
  return modes[name] && `A${length}${name.slice(4)}`;
}

// What a JWK says of itself is what is asked for.
function checkJwk(jwk, algorithm, isExtractable, wanted) {
  const name = known(algorithm);
  const { use, ext, alg, key_ops: operations } = jwk;
  const wrong = (what) => failure('DataError', what);
  if (use !== undefined && use !== (Object.values(usages[name]).flat().includes('verify') ? 'sig' : 'enc')) throw wrong('Invalid JWK "use" Parameter');
  if (ext === false && isExtractable) throw wrong('JWK "ext" Parameter and extractable mismatch');
  if (operations !== undefined) {
    if (!Array.isArray(operations)) throw new TypeError('"key_ops" of a JWK must be a list');
    if (new Set(operations).size !== operations.length) throw wrong('Duplicate key operation');
    if (wanted.some((usage) => !operations.includes(usage))) throw wrong('Key operations and usage mismatch');
  }
  const right = isPair(name) || name === 'HMAC' ? jwkName({ name, hash: algorithm.hash }) : undefined;
  if (alg !== undefined && right !== undefined && alg !== right) throw wrong('JWK "alg" does not match the requested algorithm');
}

function ofForm(format, data, algorithm) {
  const name = known(algorithm);
  try {
    if (format === 'jwk') return pairs.ofJwk(data);
    if (format === 'pkcs8' || format === 'spki') return pairs.ofDer(dataOf(data), format, format === 'spki' ? 'public' : 'private');
    if (format === 'raw' || format === 'raw-public') return pairs.publicKey(name === 'ECDSA' || name === 'ECDH' ? algorithm.namedCurve : name, dataOf(data));
  } catch (error) {
    if (error instanceof TypeError && !error.code) throw error;
    throw failure('DataError', 'Invalid keyData');
  }
  throw unsupported(`the key format ${format}`);
}

function pairToForm(format, key) {
  const pair = valueOf(key);
  const { name } = key.algorithm;
  if (format === 'jwk') {
    const alg = jwkName(key.algorithm);
    return { key_ops: [...key.usages], ext: key.extractable, ...pairs.toJwk(pair), ...(alg && { alg }) };
  }
  if ((format === 'raw' || format === 'raw-public') && key.type === 'public' && !isRsa(name)) return exact(Buffer.from(pair.bytes));
  if (format === 'pkcs8' || format === 'spki') {
    if (key.type !== (format === 'spki' ? 'public' : 'private')) throw failure('InvalidAccessError', `A ${key.type} key has no form ${format}`);
    return exact(pairs.toDer(pair, format));
  }
  throw unsupported(`the key format ${format}`);
}

// --- What is done with them.

function through(algorithm, key, data, decrypts) {
  const name = nameOf(algorithm);
  if (name === 'RSA-OAEP') {
    const label = algorithm.label ? dataOf(algorithm.label) : undefined;
    const result = pairs.ask(`${decrypts ? 'decrypt' : 'encrypt'} RSA-OAEP ${hashOf(key.algorithm.hash)}`, valueOf(key).bytes, data, label);
    if (!result) throw failure('OperationError', 'The operation failed for an operation-specific reason');
    return exact(result);
  }
  const mode = modes[name];
  if (!mode) throw unsupported(name);
  const start = mode === 'wrap' ? Buffer.alloc(8, 0xa6) : dataOf(mode === 'ctr' ? algorithm.counter : algorithm.iv);
  const cipherName = `aes-${valueOf(key).length * 8}-${mode}`;
  const tagLength = (algorithm.tagLength ?? 128) / 8;
  if (mode === 'gcm' && ![4, 8, 12, 13, 14, 15, 16].includes(tagLength)) throw failure('OperationError', 'The length of the tag is not valid');
  try {
    const cipher = node()[decrypts ? 'createDecipheriv' : 'createCipheriv'](cipherName, valueOf(key), start);
    if (mode !== 'gcm') return exact(Buffer.concat([cipher.update(data), cipher.final()]));
    if (algorithm.additionalData) cipher.setAAD(dataOf(algorithm.additionalData));
    if (!decrypts) return exact(Buffer.concat([cipher.update(data), cipher.final(), cipher.getAuthTag().subarray(0, tagLength)]));
    if (data.length < tagLength) throw new Error('too short');
    cipher.setAuthTag(data.subarray(data.length - tagLength));
    return exact(Buffer.concat([cipher.update(data.subarray(0, data.length - tagLength)), cipher.final()]));
  } catch (error) {
    throw failure('OperationError', `The operation failed: ${error.message}`);
  }
}

// What is asked of the native library for a signature, but for what is to be done.
function wordsOf(algorithm, key) {
  const { name, hash, namedCurve } = key.algorithm;
  if (name === 'Ed25519') return name;
  if (name === 'ECDSA') return `${namedCurve} ${hashOf(algorithm.hash)}`;
  return `${rsa[name][0]} ${hashOf(hash)} ${name === 'RSA-PSS' ? algorithm.saltLength : 0}`;
}

function derive(algorithm, key, length) {
  const name = nameOf(algorithm);
  const value = valueOf(key);
  if (name === 'ECDH' || name === 'X25519') {
    const other = algorithm.public;
    if (!(other instanceof CryptoKey)) throw new TypeError('algorithm.public must be a CryptoKey');
    if (other.type !== 'public' || other.algorithm.name !== name || other.algorithm.namedCurve !== key.algorithm.namedCurve) throw failure('InvalidAccessError', 'The keys do not belong to the same algorithm');
    const secret = pairs.ask(`agree ${value.kind}`, value.bytes, valueOf(other).bytes);
    if (!secret || (length !== null && length !== undefined && length > secret.length * 8)) throw failure('OperationError', 'The length is more than the secret has');
    if (length === null || length === undefined) return exact(secret);
    const bits = secret.subarray(0, Math.ceil(length / 8));
    // What is left of the last byte is no part of it.
    if (length % 8) bits[bits.length - 1] &= 0xff << (8 - (length % 8));
    return exact(bits);
  }
  if (!Number.isInteger(length) || length % 8) throw failure('OperationError', 'The length must be a multiple of 8 bits');
  if (name === 'PBKDF2') return exact(node().pbkdf2Sync(value, dataOf(algorithm.salt), algorithm.iterations, length / 8, hashOf(algorithm.hash)));
  if (name === 'HKDF') return node().hkdfSync(hashOf(algorithm.hash), value, dataOf(algorithm.salt), dataOf(algorithm.info), length / 8);
  throw unsupported(name);
}

function lengthOf(algorithm) {
  const name = nameOf(algorithm);
  if (modes[name]) return algorithm.length;
  if (name === 'HMAC') return algorithm.length ?? blocks[nameOf(algorithm.hash)] * 8;
  // A key that is derived from is as long as the secret.
  if (name === 'HKDF' || name === 'PBKDF2') return null;
  throw unsupported(name);
}

class SubtleCrypto {
  async digest(algorithm, data) {
    return exact(node().createHash(hashOf(algorithm)).update(dataOf(data)).digest());
  }
  async generateKey(algorithm, isExtractable, wanted) {
    const name = known(algorithm);
    if (isPair(name)) return generatePair(algorithm, isExtractable, [...wanted]);
    if (!modes[name] && name !== 'HMAC') throw unsupported(name);
    if (!wanted.length) throw failure('SyntaxError', 'Usages cannot be empty when creating a key.');
    return importBytes(node().randomBytes(lengthOf(algorithm) / 8), algorithm, isExtractable, wanted);
  }
  async importKey(format, data, algorithm, isExtractable, wanted) {
    if (format === 'jwk') {
      if (data === null || typeof data !== 'object') throw new TypeError('The key must be a JsonWebKey');
      checkJwk(data, algorithm, isExtractable, [...wanted]);
    }
    if (isPair(known(algorithm))) return importPair(ofForm(format, data, algorithm), algorithm, isExtractable, [...wanted]);
    if (format === 'raw' || format === 'raw-secret') return importBytes(dataOf(data), algorithm, isExtractable, wanted);
    if (format === 'jwk' && data?.kty === 'oct') return importBytes(Buffer.from(data.k, 'base64url'), algorithm, isExtractable, wanted);
    throw unsupported(`the key format ${format}`);
  }
  async exportKey(format, key) {
    if (!(key instanceof CryptoKey)) throw new TypeError('The key must be a CryptoKey');
    if (!key.extractable) throw failure('InvalidAccessError', 'The key is not extractable');
    if (key.type !== 'secret') return pairToForm(format, key);
    if (format === 'raw' || format === 'raw-secret') return exact(Buffer.from(valueOf(key)));
    if (format === 'jwk') return { key_ops: [...key.usages], ext: true, kty: 'oct', k: valueOf(key).toString('base64url'), alg: jwkName(key.algorithm) };
    throw unsupported(`the key format ${format}`);
  }
  async sign(algorithm, key, data) {
    const own = needs(key, algorithm, 'sign');
    if (!pairs.isPair(own)) return exact(node().createHmac(hashOf(key.algorithm.hash), own).update(dataOf(data)).digest());
    if (own.type !== 'private') throw failure('InvalidAccessError', 'The key must be a private key');
    const signature = pairs.ask(`sign ${wordsOf(algorithm, key)}`, own.bytes, dataOf(data));
    if (!signature) throw failure('OperationError', 'The operation failed for an operation-specific reason');
    return exact(signature);
  }
  async verify(algorithm, key, signature, data) {
    const own = needs(key, algorithm, 'verify');
    const given = dataOf(signature);
    if (key.type !== 'secret') return pairs.ask(`verify ${wordsOf(algorithm, key)}`, own.bytes, dataOf(data), given)?.[0] === 1;
    const right = node().createHmac(hashOf(key.algorithm.hash), own).update(dataOf(data)).digest();
    return given.length === right.length && node().timingSafeEqual(given, right);
  }
  async encrypt(algorithm, key, data) {
    needs(key, algorithm, 'encrypt');
    return through(algorithm, key, dataOf(data), false);
  }
  async decrypt(algorithm, key, data) {
    needs(key, algorithm, 'decrypt');
    return through(algorithm, key, dataOf(data), true);
  }
  async deriveBits(algorithm, key, length) {
    needs(key, algorithm, 'deriveBits', isPair(known(algorithm)) ? 'private' : 'secret');
    return derive(algorithm, key, length);
  }
  async deriveKey(algorithm, key, type, isExtractable, wanted) {
    needs(key, algorithm, 'deriveKey');
    return importBytes(Buffer.from(derive(algorithm, key, lengthOf(type))), type, isExtractable, wanted);
  }
  async wrapKey(format, key, wrapping, algorithm) {
    needs(wrapping, algorithm, 'wrapKey');
    const plain = await this.exportKey(format, key);
    let bytes = format === 'jwk' ? Buffer.from(JSON.stringify(plain)) : Buffer.from(plain);
    // Key wrap takes groups of 8 bytes; spaces after JSON mean nothing.
    if (format === 'jwk' && nameOf(algorithm) === 'AES-KW') bytes = Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8, ' ')]);
    return through(algorithm, wrapping, bytes, false);
  }
  async unwrapKey(format, wrapped, unwrapping, algorithm, type, isExtractable, wanted) {
    needs(unwrapping, algorithm, 'unwrapKey');
    const plain = Buffer.from(through(algorithm, unwrapping, dataOf(wrapped), true));
    return this.importKey(format, format === 'jwk' ? JSON.parse(plain.toString()) : plain, type, isExtractable, wanted);
  }
  get [Symbol.toStringTag]() {
    return 'SubtleCrypto';
  }
}

class Crypto {
  constructor() {
    throw new TypeError('Illegal constructor');
  }
}

module.exports = { Crypto, CryptoKey, SubtleCrypto, keyOf, subtle: new SubtleCrypto(), valueOf: (key) => valueOf(key) };
