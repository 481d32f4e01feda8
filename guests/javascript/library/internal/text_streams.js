// TextEncoderStream and TextDecoderStream.
'use strict';
const { wrongType } = require('internal/arguments');
const { TransformStream, showAs } = require('internal/web_streams');

class TextEncoderStream extends TransformStream {
  constructor() {
    // A surrogate whose other half comes later.
    let rest = '';
    super({
      transform(chunk, controller) {
        const text = rest + chunk;
        const cut = /[\ud800-\udbff]$/.test(text) ? -1 : undefined;
        rest = cut ? text.slice(cut) : '';
        const bytes = new TextEncoder().encode(text.slice(0, cut));
        if (bytes.length) controller.enqueue(bytes);
      },
      flush(controller) {
        if (rest) controller.enqueue(new TextEncoder().encode(rest));
      },
    });
  }
  get encoding() {
    return 'utf-8';
  }
}

class TextDecoderStream extends TransformStream {
  #decoder;
  constructor(label, options) {
    const decoder = new TextDecoder(label, options);
    super({
      transform(chunk, controller) {
        if (chunk === undefined) throw wrongType('chunk', 'an instance of ArrayBuffer or ArrayBufferView', chunk);
        const text = decoder.decode(chunk, { stream: true });
        if (text) controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text) controller.enqueue(text);
      },
    });
    this.#decoder = decoder;
  }
  get encoding() {
    return this.#decoder.encoding;
  }
  get fatal() {
    return this.#decoder.fatal;
  }
  get ignoreBOM() {
    return this.#decoder.ignoreBOM;
  }
}

showAs(TextEncoderStream, ({ encoding, readable, writable }) => ({ encoding, readable, writable }));
showAs(TextDecoderStream, ({ encoding, fatal, ignoreBOM, readable, writable }) => ({ encoding, fatal, ignoreBOM, readable, writable }));

module.exports = { TextEncoderStream, TextDecoderStream };
