// The algorithms of crypto.subtle, by their names, and what keys of each may be used for.
'use strict';
const { Buffer } = require('buffer');
const { error, wrongType } = require('internal/arguments');

const failure = (name, message, cause) => Object.assign(new DOMException(message, name), cause && { cause });
const unsupported = (what) => failure('NotSupportedError', `${what} is not supported in this sandbox: there are SHA, HMAC, AES-CBC, AES-CTR, AES-GCM, AES-KW, PBKDF2, HKDF, RSA, ECDSA, ECDH, Ed25519 and X25519`);
const invalidUse = (message = 'The requested operation is not valid for the provided key') => failure('InvalidAccessError', message);

function dataOf(data, what = 'data') {
  if (data instanceof ArrayBuffer) return Buffer.from(data.slice(0));
  if (ArrayBuffer.isView(data)) return Buffer.from(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  throw wrongType(what, 'an instance of ArrayBuffer, Buffer, TypedArray, or DataView', data);
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
  if (algorithm !== null && typeof algorithm === 'object' && algorithm.name === undefined) throw missing('name');
  const name = `${typeof algorithm === 'string' ? algorithm : algorithm?.name}`;
  return written[name.toUpperCase()] ?? name;
}

// Node.js has these, and there are none here.
const absent = ['Ed448', 'X448'];
const unknown = (name) => (absent.includes(name) ? unsupported(name) : failure('NotSupportedError', 'Unrecognized algorithm name'));

function hashOf(algorithm) {
  const name = nameOf(algorithm);
  if (!Object.hasOwn(hashes, name)) throw unknown(name);
  return hashes[name];
}

function known(algorithm) {
  const name = nameOf(algorithm);
  if (!Object.hasOwn(usages, name)) throw unknown(name);
  return name;
}

const missing = (option) => error(TypeError, 'ERR_MISSING_OPTION', `Failed to normalize algorithm: '${option}' is required`);

// What the description of an algorithm has to tell.
function option(algorithm, name) {
  const value = algorithm?.[name];
  if (value === undefined) throw missing(name);
  return value;
}
const hashFrom = (algorithm) => hashOf(option(algorithm, 'hash'));

function checkUsages(name, type, wanted) {
  const article = /^(HMAC|AES|RSA|E|X)/.test(name) ? 'an' : 'a';
  if ([...wanted].some((usage) => !usages[name][type]?.includes(usage))) throw failure('SyntaxError', `Unsupported key usage for ${article} ${name} key`);
}

module.exports = { blocks, checkUsages, dataOf, exact, failure, hashFrom, hashOf, invalidUse, isPair, isRsa, known, modes, nameOf, option, rsa, unsupported, usages };
