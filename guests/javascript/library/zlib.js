// The module `zlib`: deflate, gzip, raw data, Brotli and Zstandard, as streams and at once.
'use strict';
const { Buffer } = require('buffer');
const { Transform } = require('stream');
const { bytesOf, codec, fail, names, wholeFlush } = require('internal/codecs');
const { codes, constants } = require('internal/zlib_constants');
const { crc32: sum } = native;

function atOnce(name, data, options) {
  const engine = codec(name, options ?? {});
  const buffer = Buffer.concat([...engine.run(bytesOf(data), engine.finishFlush)]);
  return options?.info ? { buffer, engine } : buffer;
}

class ZlibBase extends Transform {
  #codec;
  #name;
  #options;
  bytesWritten = 0;
  constructor(name, options) {
    super({ ...options, objectMode: false });
    this.#name = name;
    this.#options = options ?? {};
    this.#begin({});
  }
  #begin(more) {
    this.#codec = codec(this.#name, { ...this.#options, ...more, maxOutputLength: undefined });
    this.#codec.most = Infinity;
  }
  #push(input, flush, callback) {
    try {
      for (const piece of this.#codec.run(input, flush)) this.push(piece);
    } catch (error) {
      callback(error);
      return;
    }
    callback();
  }
  _transform(chunk, _encoding, callback) {
    const input = bytesOf(chunk);
    this.bytesWritten += input.length;
    this.#push(input, this.#codec.flush, callback);
  }
  _flush(callback) {
    if (this.#codec.ended) callback();
    else this.#push(new Uint8Array(0), this.#codec.finishFlush, callback);
  }
  flush(kind, callback) {
    if (typeof kind === 'function') [kind, callback] = [undefined, kind];
    const done = () => this.#push(new Uint8Array(0), kind ?? wholeFlush(this.#name), (error) => (error ? this.destroy(error) : callback?.()));
    if (this.writableLength) this.once('drain', done);
    else done();
  }
  params(level, strategy, callback) {
    this.#begin({ level, strategy });
    queueMicrotask(() => callback?.());
  }
  reset() {
    this.#codec.reset();
  }
  close(callback) {
    if (callback) this.once('close', callback);
    this.destroy();
  }
}

module.exports = {
  constants,
  codes,
  crc32(data, value = 0) {
    return sum(bytesOf(data), value);
  },
};
for (const name of names) {
  // Without `new`, too.
  const Stream = function (options) {
    return Reflect.construct(Made, [options], new.target ?? Stream);
  };
  class Made extends ZlibBase {
    constructor(options) {
      super(name, options);
    }
  }
  Object.setPrototypeOf(Stream, ZlibBase);
  Stream.prototype = Made.prototype;
  Object.defineProperty(Made.prototype, 'constructor', { value: Stream, writable: true, configurable: true });
  Object.defineProperty(Stream, 'name', { value: name });
  const short = name[0].toLowerCase() + name.slice(1);
  module.exports[name] = Stream;
  module.exports[`create${name}`] = (options) => new Stream(options);
  module.exports[`${short}Sync`] = (data, options) => atOnce(name, data, options);
  module.exports[short] = (data, options, callback) => {
    if (typeof options === 'function') [options, callback] = [undefined, options];
    if (typeof callback !== 'function') throw fail(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "callback" argument must be of type function.');
    const input = bytesOf(data);
    setImmediate(() => {
      let result;
      try {
        result = atOnce(name, input, options);
      } catch (error) {
        callback(error);
        return;
      }
      callback(null, result);
    });
  };
}
