// The module `zlib`: deflate, gzip and raw data, as streams and at once.
'use strict';
const { Buffer } = require('buffer');
const { Transform } = require('stream');
const { crc32: sum, zlibDictionary, zlibReset, zlibRun, zlibStream } = native;

const constants = {
  Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5, Z_TREES: 6,
  Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_ERRNO: -1, Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5, Z_VERSION_ERROR: -6,
  Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1,
  Z_FILTERED: 1, Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4, Z_DEFAULT_STRATEGY: 0,
  DEFLATE: 1, INFLATE: 2, GZIP: 3, GUNZIP: 4, DEFLATERAW: 5, INFLATERAW: 6, UNZIP: 7,
  Z_MIN_WINDOWBITS: 8, Z_MAX_WINDOWBITS: 15, Z_DEFAULT_WINDOWBITS: 15, Z_MIN_CHUNK: 64, Z_MAX_CHUNK: Infinity, Z_DEFAULT_CHUNK: 16384,
  Z_MIN_MEMLEVEL: 1, Z_MAX_MEMLEVEL: 9, Z_DEFAULT_MEMLEVEL: 8, Z_MIN_LEVEL: -1, Z_MAX_LEVEL: 9, Z_DEFAULT_LEVEL: -1,
};
const { Z_BUF_ERROR, Z_FINISH, Z_NEED_DICT, Z_NO_FLUSH, Z_OK, Z_STREAM_END } = constants;
const codes = Object.freeze(Object.fromEntries(Object.entries(constants).filter(([name, value]) => /^Z_(OK|STREAM|NEED|ERRNO|DATA|MEM|BUF|VERSION)/.test(name) && Number.isFinite(value)).flatMap(([name, value]) => [[name, value], [value, name]])));

// How zlib is told the form of the data: by what is added to the bits of the window, or by their sign.
const kinds = {
  Deflate: { inflates: false, bits: (given) => given },
  Inflate: { inflates: true, bits: (given) => given },
  Gzip: { inflates: false, bits: (given) => given + 16 },
  Gunzip: { inflates: true, bits: (given) => given + 16 },
  DeflateRaw: { inflates: false, bits: (given) => -Math.max(given, 9) },
  InflateRaw: { inflates: true, bits: (given) => -given },
  Unzip: { inflates: true, bits: (given) => given + 32 },
};

function fail(Kind, code, message, more) {
  return Object.assign(new Kind(message), { code }, more);
}

function bounded(name, value, least, most, preset) {
  if (value === undefined || Number.isNaN(value)) return preset;
  if (typeof value !== 'number') throw fail(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" property must be of type number`);
  if (value >= least && value <= most) return value;
  throw fail(RangeError, 'ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be >= ${least} and <= ${most}. Received ${value}`);
}

function bytesOf(data) {
  if (typeof data === 'string') return Buffer.from(data);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw fail(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "buffer" argument must be of type string or an instance of Buffer, TypedArray, DataView, or ArrayBuffer.');
}

const words = { [Z_BUF_ERROR]: 'unexpected end of file', [Z_NEED_DICT]: 'Missing dictionary', '-3': 'incorrect data check', '-4': 'out of memory' };

// Data that goes through zlib, piece by piece.
class Codec {
  #state;
  #kind;
  #dictionary;
  #restarts;
  ended = false;
  written = 0;
  constructor(name, options = {}) {
    this.#kind = kinds[name];
    this.#dictionary = options.dictionary && bytesOf(options.dictionary);
    // After a gzip another may follow.
    this.#restarts = name === 'Gunzip' || name === 'Unzip';
    const least = this.#kind.inflates && options.windowBits === 0 ? 0 : constants.Z_MIN_WINDOWBITS;
    const bits = bounded('options.windowBits', options.windowBits, least, 15, 15);
    const level = bounded('options.level', options.level, -1, 9, -1);
    const memory = bounded('options.memLevel', options.memLevel, 1, 9, 8);
    const strategy = bounded('options.strategy', options.strategy, 0, 4, 0);
    this.most = bounded('options.maxOutputLength', options.maxOutputLength, 1, Infinity, 2 ** 31 - 1);
    this.#state = zlibStream(this.#kind.inflates, this.#kind.bits(bits), level, memory, strategy);
    if (!this.#state) throw fail(Error, 'Z_STREAM_ERROR', 'Init error', { errno: -2 });
    if (this.#dictionary && (!this.#kind.inflates || name === 'InflateRaw')) this.#useDictionary();
  }
  #useDictionary() {
    if (!this.#dictionary) throw fail(Error, 'Z_NEED_DICT', 'Missing dictionary', { errno: Z_NEED_DICT });
    if (zlibDictionary(this.#state, this.#dictionary) !== Z_OK) throw fail(Error, 'Z_DATA_ERROR', 'Bad dictionary', { errno: -3 });
  }
  reset() {
    zlibReset(this.#state);
    this.ended = false;
  }
  // What comes out of this input, in pieces of at most 64 KiB.
  *run(input, flush) {
    let from = 0;
    while (!this.ended) {
      const [state, output, used, message] = zlibRun(this.#state, flush, input, from);
      from += used;
      if (output.byteLength) {
        this.written += output.byteLength;
        if (this.written > this.most) throw fail(RangeError, 'ERR_BUFFER_TOO_LARGE', `Cannot create a Buffer larger than ${this.most} bytes`);
        yield Buffer.from(output);
      }
      if (state === Z_NEED_DICT) this.#useDictionary();
      else if (state === Z_STREAM_END) {
        // Zeros after the end are padding.
        if (this.#restarts && input[from] === 0x1f) this.reset();
        else this.ended = true;
      } else if (state === Z_BUF_ERROR || state === Z_OK) {
        if (from >= input.length && output.byteLength < 65536) {
          if (flush === Z_FINISH && this.#kind.inflates) throw fail(Error, 'Z_BUF_ERROR', words[Z_BUF_ERROR], { errno: Z_BUF_ERROR });
          if (flush !== Z_FINISH) return;
        }
        if (state === Z_BUF_ERROR && !output.byteLength && !used) {
          if (from >= input.length) return;
          throw fail(Error, 'Z_BUF_ERROR', words[Z_BUF_ERROR], { errno: Z_BUF_ERROR });
        }
      } else throw fail(Error, codes[state] ?? 'Z_DATA_ERROR', message ?? words[state] ?? 'invalid data', { errno: state });
    }
  }
}

function atOnce(name, data, options) {
  const codec = new Codec(name, options);
  const flush = options?.finishFlush ?? Z_FINISH;
  const pieces = [...codec.run(bytesOf(data), flush)];
  const buffer = Buffer.concat(pieces);
  return options?.info ? { buffer, engine: codec } : buffer;
}

class ZlibBase extends Transform {
  #codec;
  #name;
  #options;
  bytesWritten = 0;
  constructor(name, options = {}) {
    super({ ...options, objectMode: false });
    this.#name = name;
    this.#options = options ?? {};
    this.#codec = new Codec(name, { ...this.#options, maxOutputLength: undefined });
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
    this.#push(input, this.#options.flush ?? Z_NO_FLUSH, callback);
  }
  _flush(callback) {
    if (this.#codec.ended) callback();
    else this.#push(new Uint8Array(0), this.#options.finishFlush ?? Z_FINISH, callback);
  }
  flush(kind, callback) {
    if (typeof kind === 'function') [kind, callback] = [undefined, kind];
    const done = () => this.#push(new Uint8Array(0), kind ?? constants.Z_FULL_FLUSH, (error) => (error ? this.destroy(error) : callback?.()));
    if (this.writableLength) this.once('drain', done);
    else done();
  }
  params(level, strategy, callback) {
    this.#codec = new Codec(this.#name, { ...this.#options, level, strategy });
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

const refused = (what) => {
  throw fail(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', `${what} is not part of this sandbox; gzip and deflate are`);
};

module.exports = {
  constants,
  codes,
  crc32(data, value = 0) {
    return sum(bytesOf(data), value);
  },
};
for (const name of Object.keys(kinds)) {
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
for (const name of ['BrotliCompress', 'BrotliDecompress', 'ZstdCompress', 'ZstdDecompress']) {
  const short = name[0].toLowerCase() + name.slice(1);
  const what = name.startsWith('Brotli') ? 'brotli' : 'zstd';
  for (const each of [`create${name}`, short, `${short}Sync`]) module.exports[each] = () => refused(what);
}
