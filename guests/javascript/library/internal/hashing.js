// Digests and HMAC of the module `crypto`.
'use strict';
const { error, need, needInteger, wrongType, wrongValue } = require('internal/arguments');
const { Buffer } = require('buffer');
const { Transform } = require('stream');
const { callable, encoded, pieceOf, viewOf } = require('internal/crypto_bytes');
const { isExtendable, isKeyed, lengths, nameOf } = require('internal/digests');
const { secretOf } = require('internal/keys');
const { digest, digestCopy, digestFinish, digestUpdate, mac } = native;

const finalized = () => error(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');

// A digest under way.
class State {
  constructor(state, name, length) {
    Object.assign(this, { state, name, length });
  }
}

function lengthFrom(options, length) {
  const wanted = options?.outputLength;
  return wanted === undefined ? length : needInteger('options.outputLength', wanted, 0, 2 ** 32 - 1);
}

function begin(algorithm, options) {
  const name = nameOf(need('string', 'algorithm', algorithm));
  const length = lengthFrom(options, lengths[name]);
  if (!name) throw new Error('Digest method not supported');
  if (length !== lengths[name] && !isExtendable(name)) throw error(Error, 'ERR_OSSL_EVP_NOT_XOF_OR_INVALID_LENGTH', 'Unsupported state or unable to set the length of the digest');
  return new State(digest(name), name, length);
}

class Digesting extends Transform {
  #state;
  #name;
  #length;
  #result;
  // It was asked for. The end of the stream alone leaves it to be had.
  #told = false;
  constructor({ state, name, length }, options) {
    super(options);
    this.#state = state;
    this.#name = name;
    this.#length = length;
  }
  update(data, encoding) {
    if (this.#result) throw finalized();
    digestUpdate(this.#state, pieceOf(data, encoding));
    return this;
  }
  digest(encoding) {
    if (this.#told) throw finalized();
    this.#told = true;
    return encoded(this._finish(), encoding);
  }
  _finish() {
    return (this.#result ??= digestFinish(this.#state, this.#length));
  }
  _copy(options) {
    if (this.#result) throw finalized();
    return new State(digestCopy(this.#state), this.#name, lengthFrom(options, lengths[this.#name]));
  }
  _transform(chunk, encoding, callback) {
    digestUpdate(this.#state, pieceOf(chunk, encoding));
    callback();
  }
  _flush(callback) {
    this.push(Buffer.from(this._finish()));
    callback();
  }
}

const Hash = callable(class Hash extends Digesting {
  constructor(algorithm, options) {
    const state = algorithm instanceof State ? algorithm : begin(algorithm, options);
    super(state, options);
  }
  copy(options) {
    return new Hash(this._copy(options), options);
  }
});

const Hmac = callable(class Hmac extends Digesting {
  #ended = false;
  constructor(algorithm, key, options) {
    const name = nameOf(need('string', 'hmac', algorithm));
    const secret = secretOf(key, options?.encoding);
    if (!isKeyed(name)) throw error(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${algorithm}`);
    super(new State(mac(name, secret), name, lengths[name]), options);
  }
  // In Node.js a second result of an HMAC is empty.
  digest(encoding) {
    if (this.#ended) return encoded(new Uint8Array(0), encoding);
    this.#ended = true;
    return super.digest(encoding);
  }
});

function hash(algorithm, data, outputEncoding = 'hex') {
  need('string', 'algorithm', algorithm);
  const bytes = typeof data === 'string' || ArrayBuffer.isView(data) ? viewOf(data) : undefined;
  if (!bytes) throw wrongType('input', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
  const encoding = need('string', 'outputEncoding', outputEncoding);
  if (encoding !== 'buffer' && !Buffer.isEncoding(encoding)) throw wrongValue('outputEncoding', outputEncoding);
  const { state, length } = begin(algorithm);
  digestUpdate(state, bytes);
  return encoded(digestFinish(state, length), encoding);
}

// The digest of the parts, one after the other; with a key, the HMAC.
function digestOf(name, parts, key) {
  const state = key ? mac(name, key) : digest(name);
  for (const part of parts) digestUpdate(state, part);
  return Buffer.from(digestFinish(state, lengths[name]));
}

module.exports = {
  Hash,
  Hmac,
  createHash: (algorithm, options) => new Hash(algorithm, options),
  createHmac: (algorithm, key, options) => new Hmac(algorithm, key, options),
  digestOf,
  getHashes: () => Object.keys(lengths).flatMap((name) => (/^(md5|sha\d+)$/.test(name) ? [`RSA-${name.toUpperCase()}`, name] : [name])).sort(),
  hash,
};
