// crypto.subtle (W3C Web Cryptography): digests, HMAC, AES, PBKDF2 and HKDF.
'use strict';
const { Buffer } = require('buffer');

// Asked for late: `crypto` itself asks for this module.
const node = () => require('crypto');

const failure = (name, message) => new DOMException(message, name);
const unsupported = (what) => failure('NotSupportedError', `${what} is not supported in this sandbox: there are SHA, HMAC, AES-CBC, AES-CTR, AES-GCM, PBKDF2 and HKDF`);

let making = false;
let bytesOf;
let extractable;

class CryptoKey {
  #bytes;
  #algorithm;
  #extractable;
  #usages;
  constructor(bytes, algorithm, isExtractable, usages) {
    if (!making) throw new TypeError('Illegal constructor');
    this.#bytes = bytes;
    this.#algorithm = Object.freeze(algorithm);
    this.#extractable = Boolean(isExtractable);
    this.#usages = Object.freeze([...usages]);
  }
  static {
    bytesOf = (key) => key.#bytes;
    extractable = (key) => key.#extractable;
  }
  get type() {
    return 'secret';
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
const nameOf = (algorithm) => `${typeof algorithm === 'string' ? algorithm : algorithm?.name}`.toUpperCase();

const hashes = { 'SHA-1': 'sha1', 'SHA-256': 'sha256', 'SHA-384': 'sha384', 'SHA-512': 'sha512', 'SHA3-256': 'sha3-256', 'SHA3-384': 'sha3-384', 'SHA3-512': 'sha3-512' };
function hashOf(algorithm) {
  const name = hashes[nameOf(algorithm)];
  if (!name) throw unsupported(nameOf(algorithm));
  return name;
}
const blocks = { 'SHA-1': 64, 'SHA-256': 64, 'SHA-384': 128, 'SHA-512': 128 };

const modes = { 'AES-CBC': 'cbc', 'AES-CTR': 'ctr', 'AES-GCM': 'gcm' };
const usages = {
  HMAC: ['sign', 'verify'],
  'AES-CBC': ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'],
  'AES-CTR': ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'],
  'AES-GCM': ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'],
  PBKDF2: ['deriveBits', 'deriveKey'],
  HKDF: ['deriveBits', 'deriveKey'],
};

function checkUsages(name, wanted) {
  const wrong = [...wanted].find((usage) => !usages[name].includes(usage));
  if (wrong) throw failure('SyntaxError', `Unsupported key usage for a ${name} key: ${wrong}`);
}

function needs(key, algorithm, usage) {
  if (!(key instanceof CryptoKey)) throw new TypeError('The key must be a CryptoKey');
  if (key.algorithm.name !== nameOf(algorithm)) throw failure('InvalidAccessError', `The key is not one of ${nameOf(algorithm)}`);
  if (!key.usages.includes(usage)) throw failure('InvalidAccessError', `The key may not be used to ${usage}`);
  return bytesOf(key);
}

function importBytes(bytes, algorithm, isExtractable, wanted) {
  const name = nameOf(algorithm);
  if (!usages[name]) throw unsupported(name);
  checkUsages(name, wanted);
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

function through(algorithm, key, data, decrypts) {
  const mode = modes[nameOf(algorithm)];
  if (!mode) throw unsupported(nameOf(algorithm));
  const start = dataOf(mode === 'ctr' ? algorithm.counter : algorithm.iv);
  const name = `aes-${bytesOf(key).length * 8}-${mode}`;
  const tagLength = (algorithm.tagLength ?? 128) / 8;
  if (mode === 'gcm' && ![4, 8, 12, 13, 14, 15, 16].includes(tagLength)) throw failure('OperationError', 'The length of the tag is not valid');
  try {
    const cipher = node()[decrypts ? 'createDecipheriv' : 'createCipheriv'](name, bytesOf(key), start);
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

function derive(algorithm, key, length) {
  if (!Number.isInteger(length) || length % 8) throw failure('OperationError', 'The length must be a multiple of 8 bits');
  const secret = bytesOf(key);
  if (nameOf(algorithm) === 'PBKDF2') return exact(node().pbkdf2Sync(secret, dataOf(algorithm.salt), algorithm.iterations, length / 8, hashOf(algorithm.hash)));
  if (nameOf(algorithm) === 'HKDF') return node().hkdfSync(hashOf(algorithm.hash), secret, dataOf(algorithm.salt), dataOf(algorithm.info), length / 8);
  throw unsupported(nameOf(algorithm));
}

function lengthOf(algorithm) {
  const name = nameOf(algorithm);
  if (modes[name]) return algorithm.length;
  if (name === 'HMAC') return algorithm.length ?? blocks[nameOf(algorithm.hash)] * 8;
  throw unsupported(name);
}

class SubtleCrypto {
  async digest(algorithm, data) {
    return exact(node().createHash(hashOf(algorithm)).update(dataOf(data)).digest());
  }
  async generateKey(algorithm, isExtractable, wanted) {
    const name = nameOf(algorithm);
    if (!modes[name] && name !== 'HMAC') throw unsupported(name);
    if (!wanted.length) throw failure('SyntaxError', 'Usages cannot be empty when creating a key.');
    return importBytes(node().randomBytes(lengthOf(algorithm) / 8), algorithm, isExtractable, wanted);
  }
  async importKey(format, data, algorithm, isExtractable, wanted) {
    if (format === 'raw' || format === 'raw-secret') return importBytes(dataOf(data), algorithm, isExtractable, wanted);
    if (format === 'jwk' && data?.kty === 'oct') return importBytes(Buffer.from(data.k, 'base64url'), algorithm, isExtractable, wanted);
    throw unsupported(`the key format ${format}`);
  }
  async exportKey(format, key) {
    if (!extractable(key)) throw failure('InvalidAccessError', 'The key is not extractable');
    if (format === 'raw' || format === 'raw-secret') return exact(Buffer.from(bytesOf(key)));
    if (format === 'jwk') return { kty: 'oct', k: bytesOf(key).toString('base64url'), key_ops: [...key.usages], ext: true };
    throw unsupported(`the key format ${format}`);
  }
  async sign(algorithm, key, data) {
    if (nameOf(algorithm) !== 'HMAC') throw unsupported(nameOf(algorithm));
    return exact(node().createHmac(hashOf(key.algorithm.hash), needs(key, algorithm, 'sign')).update(dataOf(data)).digest());
  }
  async verify(algorithm, key, signature, data) {
    if (nameOf(algorithm) !== 'HMAC') throw unsupported(nameOf(algorithm));
    const right = node().createHmac(hashOf(key.algorithm.hash), needs(key, algorithm, 'verify')).update(dataOf(data)).digest();
    const given = dataOf(signature);
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
    needs(key, algorithm, 'deriveBits');
    return derive(algorithm, key, length);
  }
  async deriveKey(algorithm, key, type, isExtractable, wanted) {
    needs(key, algorithm, 'deriveKey');
    return importBytes(Buffer.from(derive(algorithm, key, lengthOf(type))), type, isExtractable, wanted);
  }
  async wrapKey(format, key, wrapping, algorithm) {
    needs(wrapping, algorithm, 'wrapKey');
    const plain = await this.exportKey(format, key);
    return through(algorithm, wrapping, format === 'jwk' ? Buffer.from(JSON.stringify(plain)) : Buffer.from(plain), false);
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

module.exports = { Crypto, CryptoKey, SubtleCrypto, subtle: new SubtleCrypto(), bytesOf };
