// crypto.subtle (W3C Web Cryptography): digests, HMAC, AES, PBKDF2, HKDF, and keys in pairs.
'use strict';
const { error, outOfRange, wrongThis, wrongType } = require('internal/arguments');
const { Buffer } = require('buffer');
const { createCipheriv, createDecipheriv } = require('internal/ciphers');
const derived = require('internal/derived');
const { lengths } = require('internal/digests');
const { digestOf } = require('internal/hashing');
const pairs = require('internal/pairs');
const { CryptoKey, aboutOf, exportKey, generateKey, importBytes, importKey, keyOf, lengthOf, valueOf } = require('internal/webcrypto_keys');
const { dataOf, exact, failure, hashFrom, hashOf, invalidUse, isPair, known, modes, nameOf, option, rsa, unsupported } = require('internal/webcrypto_names');

function checkKey(key, what = 'key') {
  if (!(key instanceof CryptoKey)) throw wrongType(what, 'an instance of CryptoKey', key);
}

// The value of a key that is one of the algorithm, and for this use.
function needs(key, algorithm, usage) {
  checkKey(key);
  const name = known(algorithm);
  const isSigned = usage === 'sign' || usage === 'verify';
  const { algorithm: own, usages } = aboutOf(key);
  if (own.name !== name || !usages.includes(usage)) throw invalidUse(isSigned ? `Unable to use this key to ${usage}` : undefined);
  return valueOf(key);
}

function needsBase(key, algorithm, usage) {
  checkKey(key, 'baseKey');
  const name = known(algorithm);
  checkDerivation(algorithm, name);
  const { algorithm: own, type, usages } = aboutOf(key);
  if (isPair(name) && type !== 'private') throw invalidUse('baseKey must be a private key');
  if (!usages.includes(usage)) throw invalidUse(`baseKey does not have ${usage} usage`);
  if (own.name !== name) throw invalidUse('Key algorithm mismatch');
}

// What the derivation needs is told, before the key is looked at.
function checkDerivation(algorithm, name) {
  if (name === 'PBKDF2' || name === 'HKDF') {
    for (const each of name === 'HKDF' ? ['salt', 'info'] : ['salt', 'iterations']) option(algorithm, each);
    hashFrom(algorithm);
  }
  if (isPair(name)) checkKey(option(algorithm, 'public'), 'algorithm.public');
}

// --- What is done with them.

function through(algorithm, key, data, decrypts) {
  const name = nameOf(algorithm);
  if (name === 'RSA-OAEP') {
    const label = algorithm.label ? dataOf(algorithm.label) : undefined;
    const result = pairs.ask(`${decrypts ? 'decrypt' : 'encrypt'} RSA-OAEP ${hashOf(aboutOf(key).algorithm.hash)}`, valueOf(key).bytes, data, label);
    if (!result) throw failure('OperationError', 'The operation failed for an operation-specific reason');
    return exact(result);
  }
  const mode = modes[name];
  if (!mode) throw unsupported(name);
  const start = startOf(mode, algorithm);
  const tagLength = mode === 'gcm' ? tagLengthOf(algorithm) : 0;
  if (decrypts && data.length < tagLength) throw failure('OperationError', 'The provided data is too small.');
  try {
    const secret = valueOf(key);
    const cipher = (decrypts ? createDecipheriv : createCipheriv)(`${mode === 'wrap' ? 'id-aes' : 'aes-'}${secret.length * 8}-${mode}`, secret, start);
    if (mode !== 'gcm') return exact(Buffer.concat([cipher.update(data), cipher.final()]));
    if (algorithm.additionalData !== undefined) cipher.setAAD(dataOf(algorithm.additionalData));
    if (!decrypts) return exact(Buffer.concat([cipher.update(data), cipher.final(), cipher.getAuthTag().subarray(0, tagLength)]));
    cipher.setAuthTag(data.subarray(data.length - tagLength));
    return exact(Buffer.concat([cipher.update(data.subarray(0, data.length - tagLength)), cipher.final()]));
  } catch (cause) {
    throw failure('OperationError', 'The operation failed for an operation-specific reason', cause);
  }
}

function startOf(mode, algorithm) {
  if (mode === 'wrap') return Buffer.alloc(8, 0xa6);
  const name = mode === 'ctr' ? 'counter' : 'iv';
  const start = dataOf(option(algorithm, name), `algorithm.${name}`);
  if (mode !== 'gcm' && start.length !== 16) throw failure('OperationError', `algorithm.${name} must contain exactly 16 bytes`);
  if (mode === 'ctr' && !(option(algorithm, 'length') >= 1 && algorithm.length <= 128)) throw failure('OperationError', 'AES-CTR algorithm.length must be between 1 and 128');
  return start;
}

function tagLengthOf({ tagLength = 128 }) {
  if (![32, 64, 96, 104, 112, 120, 128].includes(tagLength)) throw failure('OperationError', `${tagLength} is not a valid AES-GCM tag length`);
  return tagLength / 8;
}

// What is asked of the native library for a signature, but for what is to be done.
function wordsOf(algorithm, key) {
  const { name, hash, namedCurve, modulusLength } = aboutOf(key).algorithm;
  if (name === 'Ed25519') return name;
  if (name === 'ECDSA') return `${namedCurve} ${hashFrom(algorithm)}`;
  if (name !== 'RSA-PSS') return `${rsa[name][0]} ${hashOf(hash)} 0`;
  const salt = option(algorithm, 'saltLength');
  const most = Math.ceil((modulusLength - 1) / 8) - lengths[hashOf(hash)] - 2;
  if (!(salt >= 0 && salt <= most)) throw failure('OperationError', 'The operation failed for an operation-specific reason', outOfRange('algorithm.saltLength', `>= 0 && <= ${most}`, salt));
  return `RSA-PSS ${hashOf(hash)} ${salt}`;
}

function agree(algorithm, key, length) {
  const { name, namedCurve } = aboutOf(key).algorithm;
  const other = aboutOf(algorithm.public);
  if (other.type !== 'public') throw invalidUse('algorithm.public must be a public key');
  if (!['ECDH', 'X25519'].includes(other.algorithm.name)) throw invalidUse('Keys must be ECDH, X25519, or X448 keys');
  if (other.algorithm.name !== name) throw invalidUse('The public and private keys must be of the same type');
  if (other.algorithm.namedCurve !== namedCurve) throw invalidUse('Named curve mismatch');
  const value = valueOf(key);
  const secret = pairs.ask(`agree ${value.kind}`, value.bytes, valueOf(algorithm.public).bytes);
  if (!secret) throw failure('OperationError', 'The operation failed for an operation-specific reason');
  if (length === null || length === undefined) return exact(secret);
  if (length > secret.length * 8) throw failure('OperationError', 'derived bit length is too small');
  const bits = secret.subarray(0, Math.ceil(length / 8));
  // What is left of the last byte is no part of it.
  if (length % 8) bits[bits.length - 1] &= 0xff << (8 - (length % 8));
  return exact(bits);
}

function derive(algorithm, key, length) {
  const name = nameOf(algorithm);
  if (name === 'ECDH' || name === 'X25519') return agree(algorithm, key, length);
  if (length === null || length === undefined) throw failure('OperationError', 'length cannot be null');
  if (!Number.isInteger(length) || length % 8) throw failure('OperationError', 'length must be a multiple of 8');
  if (length === 0 && name === 'PBKDF2') throw failure('OperationError', 'length cannot be zero');
  const [value, hash, salt] = [valueOf(key), hashFrom(algorithm), dataOf(algorithm.salt, 'algorithm.salt')];
  const [kind, values] = name === 'PBKDF2' ? ['pbkdf2', [value, salt, algorithm.iterations, length / 8, hash]] : ['hkdf', [hash, value, salt, dataOf(algorithm.info, 'algorithm.info'), length / 8]];
  try {
    const made = derived[kind](...values)();
    return made instanceof ArrayBuffer ? made : exact(made);
  } catch (cause) {
    throw failure('OperationError', cause.message, cause);
  }
}

const right = (key, data) => digestOf(hashOf(aboutOf(key).algorithm.hash), [data], valueOf(key));

const methods = {
  digest(algorithm, data) {
    return exact(digestOf(hashOf(algorithm), [dataOf(data)]));
  },
  generateKey,
  importKey,
  exportKey(format, key) {
    checkKey(key);
    return exportKey(format, key);
  },
  sign(algorithm, key, data) {
    const own = needs(key, algorithm, 'sign');
    const bytes = dataOf(data);
    if (!pairs.isPair(own)) return exact(right(key, bytes));
    const signature = pairs.ask(`sign ${wordsOf(algorithm, key)}`, own.bytes, bytes);
    if (!signature) throw failure('OperationError', 'The operation failed for an operation-specific reason');
    return exact(signature);
  },
  verify(algorithm, key, signature, data) {
    const own = needs(key, algorithm, 'verify');
    const [given, bytes] = [dataOf(signature, 'signature'), dataOf(data)];
    if (pairs.isPair(own)) return pairs.ask(`verify ${wordsOf(algorithm, key)}`, own.bytes, bytes, given)?.[0] === 1;
    return native.sameBytes(given, right(key, bytes));
  },
  encrypt(algorithm, key, data) {
    needs(key, algorithm, 'encrypt');
    return through(algorithm, key, dataOf(data), false);
  },
  decrypt(algorithm, key, data) {
    needs(key, algorithm, 'decrypt');
    return through(algorithm, key, dataOf(data), true);
  },
  deriveBits(algorithm, key, length = null) {
    needsBase(key, algorithm, 'deriveBits');
    return derive(algorithm, key, length);
  },
  deriveKey(algorithm, key, type, isExtractable, wanted) {
    known(type);
    needsBase(key, algorithm, 'deriveKey');
    return importBytes(Buffer.from(derive(algorithm, key, lengthOf(type))), type, isExtractable, [...wanted]);
  },
  wrapKey(format, key, wrapping, algorithm) {
    checkKey(key);
    needs(wrapping, algorithm, 'wrapKey');
    const plain = exportKey(format, key);
    let bytes = format === 'jwk' ? Buffer.from(JSON.stringify(plain)) : Buffer.from(plain);
    // Key wrap takes groups of 8 bytes; spaces after JSON mean nothing.
    if (format === 'jwk' && nameOf(algorithm) === 'AES-KW') bytes = Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8, ' ')]);
    return through(algorithm, wrapping, bytes, false);
  },
  unwrapKey(format, wrapped, unwrapping, algorithm, type, isExtractable, wanted) {
    needs(unwrapping, algorithm, 'unwrapKey');
    const plain = Buffer.from(through(algorithm, unwrapping, dataOf(wrapped, 'wrappedKey'), true));
    return importKey(format, format === 'jwk' ? parsed(plain.toString()) : plain, type, isExtractable, wanted);
  },
};

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw failure('DataError', 'Invalid wrapped JWK key', cause);
  }
}

let making = false;

class SubtleCrypto {
  #own = true;
  constructor() {
    if (!making) throw error(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
  }
  static isOne(object) {
    return #own in object;
  }
  get [Symbol.toStringTag]() {
    return 'SubtleCrypto';
  }
}
const { isOne } = SubtleCrypto;
delete SubtleCrypto.isOne;

// Each gives a promise, also of what is wrong with its arguments. `length` of `deriveBits` alone may be left out.
for (const [name, work] of Object.entries(methods)) {
  const least = work.length;
  const method = {
    async [name](...values) {
      if (!isOne(Object(this))) throw wrongThis('SubtleCrypto');
      if (values.length < least) throw error(TypeError, 'ERR_MISSING_ARGS', `Failed to execute '${name}' on 'SubtleCrypto': ${least} arguments required, but only ${values.length} present.`);
      return work(...values);
    },
  }[name];
  Object.defineProperty(method, 'length', { value: least, configurable: true });
  Object.defineProperty(SubtleCrypto.prototype, name, { value: method, writable: true, enumerable: true, configurable: true });
}

making = true;
const subtle = new SubtleCrypto();
making = false;

module.exports = { CryptoKey, SubtleCrypto, keyOf, subtle, valueOf };
