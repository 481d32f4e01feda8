// Keys of crypto.subtle: what they are, their making, and their forms.
'use strict';
const { error, wrongValue } = require('internal/arguments');
const { Buffer } = require('buffer');
const pairs = require('internal/pairs');
const { blocks, checkUsages, dataOf, exact, failure, hashFrom, isPair, isRsa, known, modes, nameOf, option, rsa, unsupported, usages } = require('internal/webcrypto_names');

let making = false;
let valueOf;
let aboutOf;

class CryptoKey {
  [Symbol.for('nodejs.util.inspect.custom')](depth, options) {
    return depth < 0 ? this : `CryptoKey ${shared.inspect(aboutOf(this), { ...options, depth: options.depth === null ? null : options.depth - 1 })}`;
  }
  // The bytes of a secret, or a key of internal/pairs.
  #value;
  #algorithm;
  #extractable;
  #usages;
  constructor(value, algorithm, isExtractable, usages) {
    if (!making) throw error(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
    this.#value = value;
    this.#algorithm = Object.freeze(algorithm);
    this.#extractable = Boolean(isExtractable);
    this.#usages = Object.freeze([...usages]);
  }
  static {
    valueOf = (key) => key.#value;
    // What a key is, whatever properties of its own it was given.
    aboutOf = (key) => ({ type: key.#value.type ?? 'secret', extractable: key.#extractable, algorithm: key.#algorithm, usages: key.#usages });
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

// --- Keys from bytes, and from pairs.

function importBytes(bytes, algorithm, isExtractable, wanted) {
  const name = known(algorithm);
  checkUsages(name, 'secret', wanted);
  if (!wanted.length) throw failure('SyntaxError', 'Usages cannot be empty when importing a secret key.');
  const isDerivedFrom = name === 'PBKDF2' || name === 'HKDF';
  if (isDerivedFrom && isExtractable) throw failure('SyntaxError', `A ${name} key cannot be extractable`);
  if (modes[name] && ![16, 24, 32].includes(bytes.length)) throw failure('DataError', 'Invalid key length');
  const about = { name };
  if (name === 'HMAC') Object.assign(about, ofHmac(bytes, algorithm));
  else if (!isDerivedFrom) about.length = bytes.length * 8;
  return newKey(bytes, about, isExtractable, wanted);
}

function ofHmac(bytes, algorithm) {
  hashFrom(algorithm);
  const length = algorithm.length ?? bytes.length * 8;
  if (length === 0) throw failure('DataError', 'Zero-length key is not supported');
  if (Math.ceil(length / 8) !== bytes.length) throw failure('DataError', 'Invalid key length');
  return { hash: { name: nameOf(algorithm.hash) }, length };
}

function importPair(pair, algorithm, isExtractable, wanted) {
  const name = known(algorithm);
  checkUsages(name, pair.type, wanted);
  if (pair.type === 'private' && !wanted.length) throw failure('SyntaxError', 'Usages cannot be empty when importing a private key.');
  return newKey(pair, aboutPair(pair, name, algorithm), isExtractable, wanted);
}

function aboutPair(pair, name, algorithm) {
  const wrongKind = () => failure('DataError', 'Invalid key type');
  if (isRsa(name)) {
    if (pair.kind !== 'RSA' || pairs.isPss(pair)) throw wrongKind();
    const { bits, exponent } = pairs.ofRsa(pair);
    hashFrom(algorithm);
    return { name, modulusLength: bits, publicExponent: new Uint8Array(exponent), hash: { name: nameOf(algorithm.hash) } };
  }
  if (name !== 'ECDSA' && name !== 'ECDH') {
    if (pair.kind !== name) throw wrongKind();
    return { name };
  }
  if (!pairs.isCurve(pair.kind)) throw wrongKind();
  if (pair.kind !== algorithm.namedCurve) throw failure('DataError', 'Named curve mismatch');
  return { name, namedCurve: pair.kind };
}

// What another module has made: a secret or one of a pair.
function keyOf(value, algorithm, isExtractable, wanted) {
  return pairs.isPair(value) ? importPair(value, algorithm, isExtractable, wanted) : importBytes(value, algorithm, isExtractable, wanted);
}

// What a pair is made of: its kind, and of RSA the bits and the exponent.
function planOf(algorithm, name) {
  if (isRsa(name)) {
    const [bits, exponent] = [option(algorithm, 'modulusLength'), dataOf(option(algorithm, 'publicExponent'))];
    hashFrom(algorithm);
    tried(() => pairs.checkRsa(bits, exponent));
    return ['RSA', bits, exponent];
  }
  const kind = name === 'ECDSA' || name === 'ECDH' ? option(algorithm, 'namedCurve') : name;
  if (kind !== name && !['P-256', 'P-384', 'P-521'].includes(kind)) throw failure('NotSupportedError', 'Unrecognized namedCurve');
  return [kind];
}

function tried(work) {
  try {
    return work();
  } catch (cause) {
    throw failure('OperationError', cause.message, cause);
  }
}

function generatePair(algorithm, isExtractable, wanted) {
  const name = nameOf(algorithm);
  const { private: own, public: told } = usages[name];
  const plan = planOf(algorithm, name);
  if (wanted.some((usage) => !own.includes(usage) && !told.includes(usage))) throw failure('SyntaxError', `Unsupported key usage for a ${name} key`);
  const ofOwn = wanted.filter((usage) => own.includes(usage));
  if (!ofOwn.length) throw failure('SyntaxError', 'Usages cannot be empty when creating a key.');
  const pair = tried(() => pairs.generate(...plan));
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
const kinds = { HMAC: 'oct', ECDSA: 'EC', ECDH: 'EC', Ed25519: 'OKP', X25519: 'OKP' };
const curveNames = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' };

// As in Node.js the digest has to be the one that is asked for, and no more.
const hashIn = (alg) => `SHA-${/^(?:RS|PS|HS|RSA-OAEP-)(\d+)$/.exec(alg)?.[1] ?? (alg === 'RSA-OAEP' ? '1' : '')}`;

function checkJwk(jwk, algorithm, isExtractable, wanted) {
  const name = known(algorithm);
  const { kty, use, ext, alg, crv, key_ops: operations } = jwk ?? {};
  const wrong = (what) => failure('DataError', what);
  if (kty === undefined) throw wrong('Invalid keyData');
  if (kty !== (kinds[name] ?? (isRsa(name) ? 'RSA' : 'oct'))) throw wrong('Invalid JWK "kty" Parameter');
  if (use !== undefined && use !== (Object.values(usages[name]).flat().includes('verify') ? 'sig' : 'enc')) throw wrong('Invalid JWK "use" Parameter');
  if (ext === false && isExtractable) throw wrong('JWK "ext" Parameter and extractable mismatch');
  if (operations !== undefined) {
    if (!Array.isArray(operations)) throw new TypeError('"key_ops" of a JWK must be a list');
    if (new Set(operations).size !== operations.length) throw wrong('Duplicate key operation');
    if (wanted.some((usage) => !operations.includes(usage))) throw wrong('Key operations and usage mismatch');
  }
  if (kty === 'EC' && crv !== option(algorithm, 'namedCurve')) throw wrong('JWK "crv" does not match the requested algorithm');
  if (kty === 'OKP' && crv !== name) throw wrong('JWK "crv" Parameter and algorithm name mismatch');
  const isHashed = isRsa(name) || name === 'HMAC';
  if (alg !== undefined && (name === 'ECDSA' ? alg !== curveNames[crv] : isHashed && hashIn(alg) !== nameOf(algorithm.hash))) throw wrong('JWK "alg" does not match the requested algorithm');
}

function ofForm(format, data, algorithm) {
  const name = known(algorithm);
  try {
    if (format === 'jwk') return pairs.ofJwk(data);
    if (format === 'pkcs8' || format === 'spki') return pairs.ofDer(data, format, format === 'spki' ? 'public' : 'private');
    if (format === 'raw' || format === 'raw-public') return pairs.publicKey(name === 'ECDSA' || name === 'ECDH' ? algorithm.namedCurve : name, data);
  } catch (cause) {
    throw failure('DataError', 'Invalid keyData', cause);
  }
  throw unsupported(`the key format ${format}`);
}

function pairToForm(format, key) {
  const pair = valueOf(key);
  const { algorithm, extractable, usages: allowed } = aboutOf(key);
  const { name } = algorithm;
  if (format === 'jwk') {
    const alg = jwkName(algorithm);
    return { key_ops: [...allowed], ext: extractable, ...pairs.toJwk(pair), ...(alg && { alg }) };
  }
  if ((format === 'raw' || format === 'raw-public') && pair.type === 'public' && !isRsa(name)) return exact(Buffer.from(pair.bytes));
  if (format === 'pkcs8' || format === 'spki') {
    if (pair.type !== (format === 'spki' ? 'public' : 'private')) throw failure('InvalidAccessError', `A ${pair.type} key has no form ${format}`);
    return exact(pairs.toDer(pair, format));
  }
  throw unsupported(`the key format ${format}`);
}

// --- What the methods of crypto.subtle do with keys alone.

const formats = ['raw', 'raw-secret', 'raw-public', 'pkcs8', 'spki', 'jwk'];
function checkFormat(format) {
  if (!formats.includes(format)) throw wrongValue('format', format, `must be one of: ${formats.map((each) => `'${each}'`).join(', ')}`);
}

function importKey(format, data, algorithm, isExtractable, wanted) {
  checkFormat(format);
  const bytes = format === 'jwk' ? data : dataOf(data, 'keyData');
  const list = [...wanted];
  const name = known(algorithm);
  if (isRsa(name) || name === 'HMAC') hashFrom(algorithm);
  if (format === 'jwk') checkJwk(data, algorithm, isExtractable, list);
  if (isPair(name)) return importPair(ofForm(format, bytes, algorithm), algorithm, isExtractable, list);
  if (format === 'raw' || format === 'raw-secret') return importBytes(bytes, algorithm, isExtractable, list);
  if (format === 'jwk' && typeof data.k === 'string') return importBytes(Buffer.from(data.k, 'base64url'), algorithm, isExtractable, list);
  throw format === 'jwk' ? failure('DataError', 'Invalid keyData') : unsupported(`the key format ${format}`);
}

function exportKey(format, key) {
  checkFormat(format);
  const about = aboutOf(key);
  if (!about.extractable) throw failure('InvalidAccessError', 'key is not extractable');
  if (pairs.isPair(valueOf(key))) return pairToForm(format, key);
  if (format === 'raw' || format === 'raw-secret') return exact(Buffer.from(valueOf(key)));
  if (format === 'jwk') return { key_ops: [...about.usages], ext: true, kty: 'oct', k: valueOf(key).toString('base64url'), alg: jwkName(about.algorithm) };
  throw unsupported(`the key format ${format}`);
}

// The bits that a key of this algorithm has, where one is made or derived; null: as many as there are.
function lengthOf(algorithm) {
  const name = nameOf(algorithm);
  if (modes[name]) {
    const length = option(algorithm, 'length');
    if (![128, 192, 256].includes(length)) throw failure('OperationError', 'Invalid key length');
    return length;
  }
  if (name === 'HMAC') {
    hashFrom(algorithm);
    const length = algorithm.length ?? blocks[nameOf(algorithm.hash)] * 8;
    if (length === 0) throw failure('OperationError', 'Zero-length key is not supported');
    return length;
  }
  // A key that is derived from is as long as the secret.
  if (name === 'HKDF' || name === 'PBKDF2') return null;
  throw unsupported(name);
}

function generateKey(algorithm, isExtractable, wanted) {
  const name = known(algorithm);
  const list = [...wanted];
  if (isPair(name)) return generatePair(algorithm, isExtractable, list);
  if (!modes[name] && name !== 'HMAC') throw unsupported(name);
  const length = lengthOf(algorithm);
  checkUsages(name, 'secret', list);
  if (!list.length) throw failure('SyntaxError', 'Usages cannot be empty when creating a key.');
  return importBytes(native.fillRandom(Buffer.alloc(Math.ceil(length / 8))), { ...algorithm, name, length }, isExtractable, list);
}

shared.copyOf(CryptoKey, (key) => key);

module.exports = { CryptoKey, aboutOf: (key) => aboutOf(key), exportKey, generateKey, importBytes, importKey, keyOf, lengthOf, valueOf: (key) => valueOf(key) };
