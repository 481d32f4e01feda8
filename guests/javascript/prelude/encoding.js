// TextEncoder and TextDecoder.
(function (native, shared) {
  'use strict';
  const { beginReading, decodeUtf8, encodeUtf8, encodingName, readText } = native;
  const { ArrayBuffer, SharedArrayBuffer, Uint8Array } = globalThis;

  class TextEncoder {
    get encoding() {
      return 'utf-8';
    }
    encode(text = '') {
      return new Uint8Array(encodeUtf8(`${text}`));
    }
    encodeInto(text, target) {
      if (!(target instanceof Uint8Array)) throw refusals().wrongType('dest', 'an instance of Uint8Array', target);
      const given = `${text}`;
      const whole = new Uint8Array(encodeUtf8(given.slice(0, target.length)));
      if (given.length <= target.length && whole.length <= target.length) {
        target.set(whole);
        return { read: given.length, written: whole.length };
      }
      let read = 0;
      let written = 0;
      for (const character of given) {
        const bytes = new Uint8Array(encodeUtf8(character));
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += character.length;
      }
      return { read, written };
    }
  }

  const refusals = () => shared.library('internal/arguments');

  function bytesOf(input) {
    if (input === undefined) return new Uint8Array(0);
    if (input instanceof ArrayBuffer || input instanceof SharedArrayBuffer) return new Uint8Array(input);
    if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    throw refusals().wrongType('list', 'an instance of SharedArrayBuffer, ArrayBuffer or ArrayBufferView', input);
  }

  // UTF-8 that is there as a whole is read by the driver; the rest by what knows all encodings of the web, piece by piece.
  class TextDecoder {
    #label;
    #reading;
    constructor(label = 'utf-8', options = undefined) {
      this.#label = `${label}`;
      const fatal = Boolean(options?.fatal);
      const ignoreBOM = Boolean(options?.ignoreBOM);
      const encoding = this.#label === 'utf-8' ? 'utf-8' : encodingName(this.#label);
      if (encoding === null) throw refusals().error(RangeError, 'ERR_ENCODING_NOT_SUPPORTED', `The "${label}" encoding is not supported`);
      Object.defineProperties(this, { encoding: { value: encoding }, fatal: { value: fatal }, ignoreBOM: { value: ignoreBOM } });
    }
    decode(input = undefined, options = undefined) {
      const more = Boolean(options?.stream);
      const bytes = bytesOf(input);
      const text = more || this.#reading || this.encoding !== 'utf-8' ? this.#read(bytes, more) : decodeUtf8(bytes, this.fatal, false);
      if (text === null) throw refusals().error(TypeError, 'ERR_ENCODING_INVALID_ENCODED_DATA', `The encoded data was not valid for encoding ${this.encoding}`);
      const isMarked = this.encoding === 'utf-8' && !more && !this.#reading && !this.ignoreBOM && text[0] === '\ufeff';
      if (!more) this.#reading = undefined;
      return isMarked ? text.slice(1) : text;
    }
    #read(bytes, more) {
      this.#reading ??= beginReading(this.#label, this.fatal, this.ignoreBOM);
      const text = readText(this.#reading, bytes, !more);
      if (text === null) this.#reading = undefined;
      return text;
    }
  }

  shared.define('TextEncoder', TextEncoder);
  shared.define('TextDecoder', TextDecoder);
})
