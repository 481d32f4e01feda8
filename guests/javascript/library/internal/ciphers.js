// Ciphers of the module `crypto`.
'use strict';
const { error, need, wrongValue } = require('internal/arguments');
const { Buffer } = require('buffer');
const { Transform } = require('stream');
const { StringDecoder } = require('string_decoder');
const { Ccm } = require('internal/ccm');
const { aboutCipher, fitsVector, getCipherInfo, getCiphers } = require('internal/cipher_names');
const { bytesOf, callable, invalidState, pieceOf } = require('internal/crypto_bytes');
const keyWrap = require('internal/key_wrap');
const { secretOf } = require('internal/keys');
const { badDecrypt, openssl } = require('internal/openssl_error');
const { cipher: begin, cipherAdditional, cipherFinish, cipherTag, cipherUpdate, cipherWithoutPadding, sameBytes } = native;

const none = new Uint8Array(0);
const invalidVector = () => error(TypeError, 'ERR_CRYPTO_INVALID_IV', 'Invalid initialization vector');
const invalidTag = (length) => error(TypeError, 'ERR_CRYPTO_INVALID_AUTH_TAG', `Invalid authentication tag length: ${length}`);
const unsupportedState = () => new Error('Trying to add data in unsupported state');

// What makes bytes of bytes; undefined: the initialization vector is none.
function engineOf({ kind }, key, vector, decrypts, tagLength) {
  if (kind === 'ccm') return new Ccm(key, vector, decrypts, tagLength);
  const isWrap = kind.startsWith('wrap');
  const state = isWrap ? begin('ecb', key, none, decrypts) : begin(kind, key, vector, decrypts);
  if (!state) return undefined;
  if (isWrap) cipherWithoutPadding(state);
  const wrap = isWrap && keyWrap[`${decrypts ? 'unwrap' : 'wrap'}${kind === 'wrap' ? '' : 'Padded'}`];
  const start = vector.slice();
  return {
    add: (data) => cipherAdditional(state, data),
    update: isWrap ? (bytes) => wrap((block) => cipherUpdate(state, block), bytes, start) : (bytes) => cipherUpdate(state, bytes),
    finish: () => cipherFinish(state),
    tag: () => cipherTag(state),
    withoutPadding: () => cipherWithoutPadding(state),
  };
}

// The length of the tag that was asked for.
function tagLengthOf({ kind, name, isSealed }, options) {
  const given = options?.authTagLength;
  if (given !== undefined && given !== null && given >>> 0 !== given) throw wrongValue('options.authTagLength', given);
  if (!isSealed) return undefined;
  const length = given ?? undefined;
  if (length === undefined) {
    if (kind === 'ccm') throw error(TypeError, 'ERR_CRYPTO_INVALID_AUTH_TAG', `authTagLength required for ${name.replace(/^id-aes/, 'aes-')}`);
    return kind === 'chacha' ? 16 : undefined;
  }
  if (!fitsTag(kind, length)) throw invalidTag(length);
  return length;
}
function fitsTag(kind, length) {
  if (kind === 'gcm') return length === 4 || length === 8 || (length >= 12 && length <= 16);
  return kind === 'ccm' ? length >= 4 && length <= 16 && length % 2 === 0 : length >= 1 && length <= 16;
}

class CipherBase extends Transform {
  #about;
  #engine;
  #decrypts;
  #length;
  // That which was given, or made.
  #tag;
  #isRefused = false;
  #isEnded = false;
  #decoder;
  #passed = 0;
  constructor(algorithm, key, start, options, decrypts) {
    super(options);
    const known = aboutCipher(need('string', 'cipher', algorithm));
    const secret = secretOf(key, options?.encoding);
    const vector = start === null ? none : bytesOf(start, 'utf8', 'iv');
    if (!known) throw error(Error, 'ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
    if (secret.length !== known.keyLength) throw error(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
    if (known.ivLength ? !fitsVector(known, vector.length) : vector.length) throw invalidVector();
    this.#length = tagLengthOf(known, options);
    this.#engine = engineOf(known, secret, vector, decrypts, this.#length);
    if (!this.#engine) throw invalidVector();
    this.#about = known;
    this.#decrypts = decrypts;
  }
  setAutoPadding(pads = true) {
    if (this.#isEnded) throw invalidState('Invalid state for operation setAutoPadding');
    if (!pads) this.#engine.withoutPadding?.();
    return this;
  }
  setAAD(data, options) {
    const bytes = bytesOf(data, options?.encoding, 'buffer');
    const length = options?.plaintextLength;
    if (length !== undefined && length !== null && length >>> 0 !== length) throw wrongValue('options.plaintextLength', length);
    if (this.#isEnded || !this.#about.isSealed) throw invalidState('Invalid state for operation setAAD');
    if (this.#about.kind === 'ccm') {
      if (length === undefined || length === null) throw error(TypeError, 'ERR_MISSING_ARGS', 'options.plaintextLength required for CCM mode with AAD');
      if (length > this.#engine.most) throw error(RangeError, 'ERR_CRYPTO_INVALID_MESSAGELEN', 'Invalid message length');
      this.#engine.wanted = length;
    }
    this.#engine.add(bytes);
    return this;
  }
  setAuthTag(tag, encoding) {
    const bytes = bytesOf(tag, encoding, 'buffer');
    if (!this.#about.isSealed || !this.#decrypts || this.#isEnded || this.#tag) throw invalidState('Invalid state for operation setAuthTag');
    if (this.#length === undefined ? !fitsTag(this.#about.kind, bytes.length) : bytes.length !== this.#length) throw invalidTag(bytes.length);
    this.#tag = bytes.slice();
    return this;
  }
  getAuthTag() {
    if (!this.#isEnded || !this.#tag || this.#decrypts) throw invalidState('Invalid state for operation getAuthTag');
    return Buffer.from(this.#tag);
  }
  update(data, inputEncoding, outputEncoding) {
    return this.#told(this.#pass(pieceOf(data, inputEncoding)), outputEncoding);
  }
  #pass(bytes) {
    const { kind } = this.#about;
    if (this.#isEnded) throw unsupportedState();
    if (kind === 'ccm') this.#checkText(bytes.length);
    this.#passed += bytes.length;
    const made = this.#engine.update(bytes);
    if (!made) throw unsupportedState();
    if (kind !== 'ccm' || !this.#decrypts || sameBytes(this.#engine.tag(), this.#tag)) return made;
    // What is not authentic is kept back.
    this.#isRefused = true;
    return none;
  }
  #checkText(length) {
    if (length > this.#engine.most) throw error(RangeError, 'ERR_CRYPTO_INVALID_MESSAGELEN', 'Invalid message length');
    if ((this.#engine.wanted !== undefined && this.#engine.wanted !== length) || (this.#decrypts && !this.#tag)) throw unsupportedState();
  }
  final(outputEncoding) {
    if (this.#isEnded) throw invalidState('Invalid state');
    const decoder = this.#decoderOf(outputEncoding);
    const rest = this.#finish();
    return decoder ? decoder.end(Buffer.from(rest)) : Buffer.from(rest);
  }
  #finish() {
    this.#isEnded = true;
    const rest = this.#engine.finish();
    if (!rest) throw this.#wrongEnd();
    if (this.#about.isSealed) this.#seal();
    return rest;
  }
  #wrongEnd() {
    return this.#decrypts && this.#passed && this.#passed % this.#about.blockSize === 0 ? badDecrypt() : openssl('1C80006B:Provider routines::wrong final block length');
  }
  #seal() {
    const { kind } = this.#about;
    if (kind === 'ccm' && !this.#engine.isStarted) {
      if (!this.#decrypts) throw openssl('1C800077:Provider routines::tag not set');
      this.#engine.update(none);
    }
    const made = new Uint8Array(this.#engine.tag());
    if (!this.#decrypts) {
      this.#tag = made.slice(0, this.#length ?? 16);
      return;
    }
    const given = this.#tag;
    if (this.#isRefused || !given || !sameBytes(given, made.subarray(0, given.length))) throw new Error('Unsupported state or unable to authenticate data');
  }
  // Texts are made of whole characters, so what is left of one waits for the next piece.
  #told(bytes, encoding) {
    const buffer = Buffer.from(bytes);
    const decoder = this.#decoderOf(encoding);
    return decoder ? decoder.write(buffer) : buffer;
  }
  #decoderOf(encoding) {
    if (encoding === undefined || encoding === null || encoding === 'buffer' || encoding === '') return undefined;
    if (!Buffer.isEncoding(encoding)) throw error(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${encoding}`);
    const made = new StringDecoder(encoding);
    this.#decoder ??= made;
    if (this.#decoder.encoding !== made.encoding) throw error(Error, 'ERR_INTERNAL_ASSERTION', 'Cannot change encoding');
    return this.#decoder;
  }
  _transform(chunk, encoding, callback) {
    try {
      callback(null, Buffer.from(this.#pass(pieceOf(chunk, encoding))));
    } catch (failure) {
      callback(failure);
    }
  }
  _flush(callback) {
    try {
      callback(null, Buffer.from(this.#finish()));
    } catch (failure) {
      callback(failure);
    }
  }
}

const Cipheriv = callable(class Cipheriv extends CipherBase {
  constructor(algorithm, key, iv, options) {
    super(algorithm, key, iv, options, false);
  }
});
const Decipheriv = callable(class Decipheriv extends CipherBase {
  constructor(algorithm, key, iv, options) {
    super(algorithm, key, iv, options, true);
  }
});

module.exports = {
  Cipheriv,
  Decipheriv,
  createCipheriv: (algorithm, key, iv, options) => new Cipheriv(algorithm, key, iv, options),
  createDecipheriv: (algorithm, key, iv, options) => new Decipheriv(algorithm, key, iv, options),
  getCipherInfo,
  getCiphers,
};
