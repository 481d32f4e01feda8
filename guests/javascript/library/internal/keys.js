// KeyObject, and what makes one: secrets, and keys in pairs.
'use strict';
const { received } = require('internal/received');
const { Buffer } = require('buffer');
const pairs = require('internal/pairs');

function fail(Kind, code, message) {
  return Object.assign(new Kind(message), { code });
}
const wrong = (what, value, wanted) => fail(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${what}" argument must be ${wanted}. Received ${received(value)}`);
const absent = (what) => fail(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', `${what} is not part of this sandbox`);

const types = { RSA: 'rsa', Ed25519: 'ed25519', X25519: 'x25519' };
const typeOf = (kind) => types[kind] ?? 'ec';

let making = false;
let valueOf;

class KeyObject {
  // The bytes of a secret, or a key of internal/pairs.
  #value;
  constructor(type, value) {
    if (!['secret', 'public', 'private'].includes(type)) throw fail(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'type' is invalid. Received ${shared.inspect(type)}`);
    if (!making) throw wrong('handle', value, 'of type object');
    this.#value = value;
  }
  static {
    valueOf = (key) => key.#value;
  }
  static from(key) {
    if (!(key instanceof globalThis.CryptoKey)) throw wrong('key', key, 'an instance of CryptoKey');
    return keyOf(require('internal/webcrypto').valueOf(key));
  }
  get type() {
    return this.#value.type ?? 'secret';
  }
  get symmetricKeySize() {
    return this.type === 'secret' ? this.#value.length : undefined;
  }
  get asymmetricKeyType() {
    return this.type === 'secret' ? undefined : typeOf(this.#value.kind);
  }
  get asymmetricKeyDetails() {
    if (this.type === 'secret') return undefined;
    const { kind } = this.#value;
    if (pairs.isCurve(kind)) return { namedCurve: pairs.curves[kind].name };
    if (kind !== 'RSA') return {};
    const { bits, exponent } = pairs.ofRsa(this.#value);
    return { modulusLength: bits, publicExponent: BigInt(`0x${exponent.toString('hex')}`) };
  }
  export(options) {
    if (this.type !== 'secret') return exported(this.#value, options);
    return options?.format === 'jwk' ? { kty: 'oct', k: this.#value.toString('base64url') } : Buffer.from(this.#value);
  }
  equals(other) {
    if (!(other instanceof KeyObject)) throw wrong('otherKeyObject', other, 'an instance of KeyObject');
    const [own, given] = [this.#value, other.#value];
    return this.type === other.type && own.kind === given.kind && native.sameBytes(own.bytes ?? own, given.bytes ?? given);
  }
  toCryptoKey(algorithm, isExtractable, usages) {
    return require('internal/webcrypto').keyOf(this.#value, algorithm, isExtractable, usages);
  }
  get [Symbol.toStringTag]() {
    return 'KeyObject';
  }
}
class SecretKeyObject extends KeyObject {}
class PublicKeyObject extends KeyObject {}
class PrivateKeyObject extends KeyObject {}

function keyOf(value) {
  const Kind = { public: PublicKeyObject, private: PrivateKeyObject }[value.type] ?? SecretKeyObject;
  making = true;
  try {
    return new Kind(value.type ?? 'secret', value);
  } finally {
    making = false;
  }
}

function exported(pair, options) {
  if (options === null || typeof options !== 'object') throw wrong('options', options, 'of type object');
  const { format, cipher, passphrase } = options;
  if (format === 'jwk') return pairs.toJwk(pair);
  const type = options.type ?? (pair.type === 'public' ? 'spki' : undefined);
  const known = pair.type === 'public' ? ['spki', 'pkcs1'] : ['pkcs8', 'pkcs1', 'sec1'];
  if (!known.includes(type)) throw fail(TypeError, 'ERR_INVALID_ARG_VALUE', `The property 'options.type' is invalid. Received ${shared.inspect(options.type)}`);
  if (cipher !== undefined || passphrase !== undefined) throw absent('Writing a private key with a passphrase');
  if (format === 'der') return pairs.toDer(pair, type);
  if (format === 'pem') return pairs.toPem(pair, type);
  throw fail(TypeError, 'ERR_INVALID_ARG_VALUE', `The property 'options.format' is invalid. Received ${shared.inspect(format)}`);
}

// The bytes of a text, a buffer or a view, of which a Buffer is made where it is needed; undefined: it is another thing.
function viewOf(data, encoding) {
  if (typeof data === 'string') return Buffer.from(data, encoding === 'buffer' ? 'utf8' : encoding);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return undefined;
}

// The key of a pair that was given, in any of the forms that Node.js takes; the public one, of a private key too, where that is wanted.
function pairOf(given, wanted) {
  const toWanted = (pair) => {
    if (pair.type === wanted) return pair;
    if (wanted === 'public' && pair.type === 'private') return pairs.toPublic(pair);
    throw fail(TypeError, 'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE', `Invalid key object type ${pair.type ?? 'secret'}, expected ${wanted}.`);
  };
  if (given instanceof KeyObject) return toWanted(valueOf(given));
  if (given instanceof globalThis.CryptoKey) return toWanted(require('internal/webcrypto').valueOf(given));
  let options = {};
  if (given !== null && typeof given === 'object' && !ArrayBuffer.isView(given) && !(given instanceof ArrayBuffer)) {
    options = given;
    given = given.key;
    if (given instanceof KeyObject || given instanceof globalThis.CryptoKey) return pairOf(given, wanted);
    if (options.format === 'jwk') return toWanted(pairs.ofJwk(given ?? {}));
  }
  const view = viewOf(given, options.encoding);
  if (!view) throw wrong('key', given, 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, DataView, KeyObject, or CryptoKey');
  const bytes = Buffer.from(view);
  if (options.format === 'der') {
    if (options.type) {
      try {
        return toWanted(pairs.ofDer(bytes, options.type, wanted));
      } catch (error) {
        if (wanted === 'private' || error.code !== 'ERR_OSSL_UNSUPPORTED') throw error.code ? error : fail(Error, 'ERR_OSSL_UNSUPPORTED', 'error:1E08010C:DECODER routines::unsupported');
      }
    }
    return pairs.ofAnyDer(bytes, wanted);
  }
  return toWanted(pairs.ofPem(bytes.toString('latin1')));
}

// --- Pairs that are made.

const kinds = { rsa: 'RSA', ed25519: 'Ed25519', x25519: 'X25519' };

function generateKeyPairSync(type, options = {}) {
  let kind = kinds[type];
  if (type === 'ec') {
    if (typeof options.namedCurve !== 'string') throw wrong('options.namedCurve', options.namedCurve, 'of type string');
    kind = pairs.curveOf(options.namedCurve);
    if (!kind) throw fail(TypeError, 'ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name');
  }
  if (!kind) throw fail(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'type' must be a supported key type: rsa, ec, ed25519 or x25519. Received ${shared.inspect(type)}`);
  if (kind === 'RSA' && typeof options.modulusLength !== 'number') throw wrong('options.modulusLength', options.modulusLength, 'of type number');
  const exponent = (options.publicExponent ?? 0x10001).toString(16);
  const own = pairs.generate(kind, options.modulusLength, Buffer.from(exponent.length % 2 ? `0${exponent}` : exponent, 'hex'));
  const given = (pair, encoding) => (encoding ? exported(pair, encoding) : keyOf(pair));
  return { publicKey: given(pairs.toPublic(own), options.publicKeyEncoding), privateKey: given(own, options.privateKeyEncoding) };
}

function generateKeyPair(type, options, callback) {
  if (typeof options === 'function') [options, callback] = [{}, options];
  if (typeof callback !== 'function') throw wrong('callback', callback, 'of type function');
  let made;
  let failure = null;
  try {
    made = generateKeyPairSync(type, options);
  } catch (error) {
    if (`${error.code}`.startsWith('ERR_INVALID')) throw error;
    failure = error;
  }
  setImmediate(() => callback(failure, made?.publicKey, made?.privateKey));
}
// What `util.promisify` gives is an object with both.
Object.defineProperty(generateKeyPair, Symbol.for('nodejs.util.promisify.custom'), {
  value: (type, options) => new Promise((done, failed) => {
    generateKeyPair(type, options ?? {}, (error, publicKey, privateKey) => (error ? failed(error) : done({ publicKey, privateKey })));
  }),
});

module.exports = {
  KeyObject,
  createPrivateKey: (key) => keyOf(pairOf(key, 'private')),
  createPublicKey: (key) => keyOf(pairOf(key, 'public')),
  fail,
  generateKeyPair,
  generateKeyPairSync,
  keyOf,
  pairOf,
  viewOf,
  wrong,
};
