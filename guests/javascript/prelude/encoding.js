// TextEncoder and TextDecoder, over the driver's UTF-8.
(function (native, shared) {
  'use strict';
  const { encodeUtf8, decodeUtf8 } = native;
  const labels = new Map();
  const encodings = {
    'utf-8': ['utf-8', 'utf8', 'unicode-1-1-utf-8', 'unicode11utf8', 'unicode20utf8', 'x-unicode20utf8'],
    'utf-16be': ['utf-16be', 'unicodefffe'],
    'utf-16le': ['utf-16le', 'utf-16', 'ucs-2', 'unicode', 'csunicode', 'iso-10646-ucs-2', 'unicodefeff'],
    'windows-1252': ['windows-1252', 'latin1', 'iso-8859-1', 'iso8859-1', 'ascii', 'us-ascii', 'l1', 'cp1252'],
  };
  for (const [name, list] of Object.entries(encodings)) for (const label of list) labels.set(label, name);

  // Where windows-1252, which the web reads for latin1, differs from ISO 8859-1.
  const windows = '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';

  class TextEncoder {
    get encoding() {
      return 'utf-8';
    }
    encode(text = '') {
      return new Uint8Array(encodeUtf8(`${text}`));
    }
    encodeInto(text, target) {
      let read = 0;
      let written = 0;
      for (const character of `${text}`) {
        const bytes = new Uint8Array(encodeUtf8(character));
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += character.length;
      }
      return { read, written };
    }
  }

  function bytesOf(input) {
    if (input === undefined) return new Uint8Array(0);
    if (input instanceof ArrayBuffer) return new Uint8Array(input);
    if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    throw new TypeError('the input must be an ArrayBuffer or a view of one');
  }

  function decodeUtf16(bytes, fatal, big) {
    let text = '';
    const units = [];
    for (let i = 0; i + 1 < bytes.length; i += 2) {
      units.push(big ? (bytes[i] << 8) | bytes[i + 1] : bytes[i] | (bytes[i + 1] << 8));
      if (units.length === 4096) text += String.fromCharCode(...units.splice(0));
    }
    text += String.fromCharCode(...units);
    if (!text.isWellFormed() || bytes.length % 2) {
      if (fatal) return null;
      text = text.toWellFormed() + (bytes.length % 2 ? '\ufffd' : '');
    }
    return text;
  }

  function decodeWindows(bytes) {
    let text = '';
    for (const byte of bytes) text += byte >= 0x80 && byte < 0xa0 ? windows[byte - 0x80] : String.fromCharCode(byte);
    return text;
  }

  class TextDecoder {
    #rest = new Uint8Array(0);
    #started = false;
    constructor(label = 'utf-8', options = undefined) {
      const encoding = labels.get(`${label}`.trim().toLowerCase());
      if (!encoding) throw new RangeError(`the encoding ${label} is not supported`);
      const fatal = Boolean(options?.fatal);
      const ignoreBOM = Boolean(options?.ignoreBOM);
      Object.defineProperties(this, { encoding: { value: encoding }, fatal: { value: fatal }, ignoreBOM: { value: ignoreBOM } });
    }
    decode(input = undefined, options = undefined) {
      const stream = Boolean(options?.stream);
      let bytes = bytesOf(input);
      if (this.#rest.length) {
        const joined = new Uint8Array(this.#rest.length + bytes.length);
        joined.set(this.#rest);
        joined.set(bytes, this.#rest.length);
        bytes = joined;
        this.#rest = new Uint8Array(0);
      }
      let text;
      if (this.encoding === 'utf-8') {
        text = decodeUtf8(bytes, this.fatal, stream);
        if (stream && text !== null) {
          this.#rest = bytes.slice(text[1]);
          text = text[0];
        }
      } else if (this.encoding === 'utf-16le' || this.encoding === 'utf-16be') {
        const odd = stream ? bytes.length % 2 : 0;
        this.#rest = bytes.slice(bytes.length - odd);
        text = decodeUtf16(bytes.subarray(0, bytes.length - odd), this.fatal, this.encoding === 'utf-16be');
      } else {
        text = decodeWindows(bytes);
      }
      if (text === null) throw new TypeError(`the data is not valid ${this.encoding}`);
      if (!this.#started && !this.ignoreBOM && text[0] === '\ufeff') text = text.slice(1);
      this.#started = stream && (this.#started || text.length > 0);
      return text;
    }
  }

  shared.define('TextEncoder', TextEncoder);
  shared.define('TextDecoder', TextDecoder);
})
