// AES in CCM (NIST SP 800-38C): the text is given at once, since its length is a part of what the tag is made of.
'use strict';
const { Buffer } = require('buffer');
const { cipher, cipherUpdate, cipherWithoutPadding } = native;

const BLOCK = 16;

class Ccm {
  #key;
  #nonce;
  #decrypts;
  #tagLength;
  #additional;
  #tag;
  isStarted = false;
  // The length of the text, where it was told before.
  wanted;
  constructor(key, nonce, decrypts, tagLength) {
    this.#key = Buffer.from(key);
    this.#nonce = Buffer.from(nonce);
    this.#decrypts = decrypts;
    this.#tagLength = tagLength;
  }
  // The longest text that there is a place for its length.
  get most() {
    return 2 ** (8 * Math.min(4, 15 - this.#nonce.length)) - 1;
  }
  add(data) {
    this.#additional = Buffer.from(data);
    return true;
  }
  // Undefined: the text was given before.
  update(bytes) {
    if (this.isStarted) return undefined;
    this.isStarted = true;
    const [mask, mixed] = this.#mix(bytes);
    const tag = this.#tagOf(this.#decrypts ? mixed : bytes);
    for (let at = 0; at < this.#tagLength; at++) tag[at] ^= mask[at];
    this.#tag = tag.subarray(0, this.#tagLength);
    return mixed;
  }
  finish() {
    return Buffer.alloc(0);
  }
  tag() {
    return this.#tag;
  }
  #block(flags, number) {
    const block = Buffer.alloc(BLOCK);
    block[0] = flags;
    this.#nonce.copy(block, 1);
    for (let at = BLOCK - 1, rest = number; at > this.#nonce.length; at--, rest = Math.floor(rest / 256)) block[at] = rest % 256;
    return block;
  }
  // What the tag is masked with, and the text that is mixed with what comes after.
  #mix(bytes) {
    const state = cipher('ctr', this.#key, this.#block(14 - this.#nonce.length, 0), false);
    return [Buffer.from(cipherUpdate(state, Buffer.alloc(BLOCK))), Buffer.from(cipherUpdate(state, bytes))];
  }
  #tagOf(text) {
    const additional = this.#additional ?? Buffer.alloc(0);
    const state = cipher('cbc', this.#key, Buffer.alloc(BLOCK), false);
    cipherWithoutPadding(state);
    const first = this.#block((additional.length ? 64 : 0) + 8 * ((this.#tagLength - 2) / 2) + 14 - this.#nonce.length, text.length);
    const parts = [first, ...padded(Buffer.concat([lengthOf(additional), additional])), ...padded(text)];
    return Buffer.from(cipherUpdate(state, Buffer.concat(parts))).subarray(-BLOCK);
  }
}

const padded = (bytes) => [bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)];

function lengthOf({ length }) {
  const bytes = Buffer.alloc(6);
  if (!length) return bytes.subarray(6);
  if (length < 0xff00) return bytes.subarray(0, bytes.writeUInt16BE(length));
  bytes.writeUInt16BE(0xfffe);
  bytes.writeUInt32BE(length, 2);
  return bytes;
}

module.exports = { Ccm };
