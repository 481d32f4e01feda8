// CompressionStream and DecompressionStream.
'use strict';

const formats = { gzip: ['createGzip', 'createGunzip'], deflate: ['createDeflate', 'createInflate'], 'deflate-raw': ['createDeflateRaw', 'createInflateRaw'] };

function through(format, which) {
  const make = formats[format]?.[which];
  if (!make) throw new TypeError(`Unsupported compression format: '${format}'`);
  const { Readable, Writable } = require('stream');
  const codec = require('zlib')[make]();
  codec.on('error', () => {});
  return { readable: Readable.toWeb(codec), writable: Writable.toWeb(codec) };
}

class CompressionStream {
  #pair;
  constructor(format) {
    this.#pair = through(`${format}`, 0);
  }
  get readable() {
    return this.#pair.readable;
  }
  get writable() {
    return this.#pair.writable;
  }
}

class DecompressionStream {
  #pair;
  constructor(format) {
    this.#pair = through(`${format}`, 1);
  }
  get readable() {
    return this.#pair.readable;
  }
  get writable() {
    return this.#pair.writable;
  }
}

module.exports = { CompressionStream, DecompressionStream };
