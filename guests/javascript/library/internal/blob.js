// Blob and File (W3C File API).
'use strict';
const custom = Symbol.for('nodejs.util.inspect.custom');

const { wrongType, wrongValue } = require('internal/arguments');

// Bytes of a part: views and buffers are copied, as what they hold may change.
function bytesOf(part, isNative) {
  if (part instanceof Blob) return part.bytesNow();
  if (part instanceof ArrayBuffer) return new Uint8Array(part.slice(0));
  if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength).slice();
  return new TextEncoder().encode(isNative ? `${part}`.replaceAll('\r\n', '\n') : `${part}`);
}

function join(pieces) {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

let blobOf, bytesNow;

class Blob {
  [custom](_depth, options) {
    return `Blob ${shared.inspect({ size: this.size, type: this.type }, options)}`;
  }
  #bytes;
  #type;
  constructor(parts = [], options = {}) {
    if (typeof parts !== 'object' || parts === null || typeof parts[Symbol.iterator] !== 'function') {
      throw wrongType('sources', 'a sequence', parts);
    }
    if (options !== null && typeof options !== 'object' && typeof options !== 'function') throw wrongType('options', 'a dictionary', options);
    const endings = `${options?.endings ?? 'transparent'}`;
    if (endings !== 'transparent' && endings !== 'native') throw wrongValue('options.endings', options.endings);
    this.#bytes = join(Array.from(parts, (part) => bytesOf(part, endings === 'native')));
    const type = `${options?.type ?? ''}`;
    this.#type = /[^\x20-\x7e]/.test(type) ? '' : type.toLowerCase();
  }
  static {
    bytesNow = (blob) => blob.#bytes;
    // One that has these bytes, and not a copy of them.
    blobOf = (bytes) => {
      const blob = new Blob();
      blob.#bytes = bytes;
      return blob;
    };
  }
  get size() {
    return this.#bytes.length;
  }
  get type() {
    return this.#type;
  }
  slice(start = 0, end = this.size, type = '') {
    const at = (index) => (index < 0 ? Math.max(this.size + index, 0) : Math.min(index, this.size));
    const part = new Blob([], { type });
    part.#bytes = this.#bytes.subarray(at(start), Math.max(at(start), at(end)));
    return part;
  }
  async arrayBuffer() {
    return this.#bytes.slice().buffer;
  }
  async bytes() {
    return this.#bytes.slice();
  }
  async text() {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.#bytes);
  }
  stream() {
    const bytes = this.#bytes;
    let at = 0;
    const { ReadableStream } = require('internal/web_streams');
    return new ReadableStream({
      type: 'bytes',
      pull(controller) {
        if (at >= bytes.length) {
          controller.close();
          controller.byobRequest?.respond(0);
          return;
        }
        controller.enqueue(bytes.slice(at, (at += 65536)));
      },
    });
  }
  get [Symbol.toStringTag]() {
    return 'Blob';
  }
}
Object.defineProperty(Blob.prototype, 'bytesNow', {
  value() {
    return bytesNow(this);
  },
});

class File extends Blob {
  [custom](_depth, options) {
    const { size, type, name, lastModified } = this;
    return `File ${shared.inspect({ size, type, name, lastModified }, options)}`;
  }
  #name;
  #modified;
  constructor(parts, name, options = {}) {
    if (arguments.length < 2) throw new TypeError('File needs its parts and a name');
    super(parts, options);
    this.#name = `${name}`;
    this.#modified = options?.lastModified === undefined ? Date.now() : Number(options.lastModified);
  }
  get name() {
    return this.#name;
  }
  get lastModified() {
    return this.#modified;
  }
  get webkitRelativePath() {
    return '';
  }
  get [Symbol.toStringTag]() {
    return 'File';
  }
}

shared.copyOf(Blob, (blob) => new Blob([blob], { type: blob.type }));
shared.copyOf(File, (file) => new File([file], file.name, { type: file.type, lastModified: file.lastModified }));

module.exports = { Blob, File, blobOf, join, bytesOf: (blob) => bytesNow(blob) };
