// Data that is compressed or unpacked, piece by piece: by zlib, Brotli and Zstandard. A codec's `run` gives what comes out of an
// input, in pieces of at most 64 KiB.
'use strict';
const { Buffer, kMaxLength } = require('buffer');
const { outOfRange, wrongType } = require('internal/arguments');
const { codes, constants } = require('internal/zlib_constants');
const { isAnyArrayBuffer } = require('util/types');
const { frameDictionary, frameParameter, frameRun, frameSize, frameStream, zlibDictionary, zlibParameters, zlibReset, zlibRun, zlibStream } = native;
const { Z_BUF_ERROR, Z_FINISH, Z_NEED_DICT, Z_NO_FLUSH, Z_OK, Z_STREAM_END } = constants;

function fail(Kind, code, message, more) {
  return Object.assign(new Kind(message), { code }, more);
}

function bounded(name, value, least, most, preset) {
  if (value === undefined || Number.isNaN(value)) return preset;
  if (typeof value !== 'number') throw wrongType(name, 'of type number', value);
  if (!Number.isFinite(value)) throw outOfRange(name, 'a finite number', value);
  if (value >= least && value <= most) return value;
  throw outOfRange(name, most === Infinity ? `>= ${least}` : `>= ${least} and <= ${most}`, value);
}

// Bytes of a value that may be no text, or undefined.
function viewOf(data) {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return isAnyArrayBuffer(data) ? new Uint8Array(data) : undefined;
}

const kinds = 'an instance of Buffer, TypedArray, DataView, or ArrayBuffer';

function bytesOf(data) {
  const bytes = typeof data === 'string' ? Buffer.from(data) : viewOf(data);
  if (!bytes) throw wrongType('buffer', `of type string or ${kinds}`, data);
  return bytes;
}

function dictionaryOf(data) {
  if (data === undefined) return undefined;
  const bytes = viewOf(data);
  if (!bytes) throw wrongType('options.dictionary', kinds, data);
  return bytes;
}

const words = { [Z_BUF_ERROR]: 'unexpected end of file', [Z_NEED_DICT]: 'Missing dictionary', '-3': 'incorrect data check', '-4': 'out of memory' };
const endedEarly = () => fail(Error, 'Z_BUF_ERROR', words[Z_BUF_ERROR], { errno: Z_BUF_ERROR });

// What all codecs have: how much may come out, whether their data has ended, and what to do with each input by itself (`flush`)
// and with the last one (`finishFlush`).
class Codec {
  ended = false;
  written = 0;
  // How much of its inputs it has used.
  taken = 0;
  constructor(options, going, finishing, last) {
    this.flush = bounded('options.flush', options.flush, 0, last, going);
    this.finishFlush = bounded('options.finishFlush', options.finishFlush, 0, last, finishing);
    this.chunkSize = bounded('options.chunkSize', options.chunkSize, constants.Z_MIN_CHUNK, Infinity, constants.Z_DEFAULT_CHUNK);
    this.most = bounded('options.maxOutputLength', options.maxOutputLength, 1, kMaxLength, kMaxLength);
  }
  piece(output) {
    this.written += output.byteLength;
    if (this.written > this.most) throw fail(RangeError, 'ERR_BUFFER_TOO_LARGE', `Cannot create a Buffer larger than ${this.most} bytes`);
    return Buffer.from(output);
  }
  // What packages call of Node's own: fills a part of `output`, and tells how much room and how much input is left.
  writeSync(flush, input, from, length, output, at, room) {
    const { stream } = this;
    const state = stream._writeState;
    [state[0], state[1]] = [room, 0];
    this.going ??= this.run(input ? bytesOf(input).subarray(from, from + length) : new Uint8Array(0), flush);
    try {
      while (state[0]) {
        if (!this.rest?.length && !this.more()) break;
        const part = this.rest.subarray(0, state[0]);
        output.set(part, at + room - state[0]);
        this.rest = this.rest.subarray(part.length);
        state[0] -= part.length;
      }
    } catch (error) {
      stream._hadError = true;
      stream.destroy(error);
    }
  }
  more() {
    const { value, done } = this.going.next();
    if (done) this.going = undefined;
    else this.rest = value;
    return !done;
  }
  close() {}
}

// How zlib is told the form of the data: by what is added to the bits of the window, or by their sign.
const forms = {
  Deflate: { inflates: false, bits: (given) => given },
  Inflate: { inflates: true, bits: (given) => given },
  Gzip: { inflates: false, bits: (given) => given + 16 },
  Gunzip: { inflates: true, bits: (given) => given + 16 },
  DeflateRaw: { inflates: false, bits: (given) => -Math.max(given, 9) },
  InflateRaw: { inflates: true, bits: (given) => -given },
  Unzip: { inflates: true, bits: (given) => given + 32 },
};

class ZlibCodec extends Codec {
  #state;
  #form;
  #dictionary;
  #restarts;
  #isGzipAlone;
  // What a whole flush of a stream is.
  static flush = constants.Z_FULL_FLUSH;
  constructor(name, options) {
    super(options, Z_NO_FLUSH, Z_FINISH, constants.Z_BLOCK);
    this.#form = forms[name];
    this.#dictionary = dictionaryOf(options.dictionary);
    // After a gzip another may follow.
    this.#restarts = name === 'Gunzip' || name === 'Unzip';
    this.#isGzipAlone = name === 'Gunzip';
    const isOpen = this.#form.inflates && name !== 'InflateRaw' && !options.windowBits;
    const bits = isOpen ? 0 : bounded('options.windowBits', options.windowBits, name === 'Gzip' ? 9 : 8, 15, 15);
    const level = bounded('options.level', options.level, -1, 9, -1);
    const memory = bounded('options.memLevel', options.memLevel, 1, 9, 8);
    const strategy = bounded('options.strategy', options.strategy, 0, 4, 0);
    Object.assign(this, { level, strategy });
    this.#state = zlibStream(this.#form.inflates, this.#form.bits(bits), level, memory, strategy);
    if (!this.#state) throw fail(Error, 'Z_STREAM_ERROR', 'Init error', { errno: -2 });
    if (this.#dictionary && (!this.#form.inflates || name === 'InflateRaw')) this.#useDictionary();
  }
  #useDictionary() {
    if (!this.#dictionary) throw fail(Error, 'Z_NEED_DICT', 'Missing dictionary', { errno: Z_NEED_DICT });
    if (zlibDictionary(this.#state, this.#dictionary) !== Z_OK) throw fail(Error, 'Z_DATA_ERROR', 'Bad dictionary', { errno: -3 });
  }
  // Whether what comes after the end is read as another gzip, which it may not be.
  #goesOn(byte) {
    return this.#restarts && byte !== undefined && (this.#isGzipAlone ? byte !== 0 : byte === 0x1f);
  }
  reset() {
    zlibReset(this.#state);
    this.ended = false;
  }
  // For what comes from now on.
  change(level, strategy) {
    Object.assign(this, { level, strategy });
    if (!this.#form.inflates) zlibParameters(this.#state, level, strategy);
  }
  *run(input, flush) {
    let from = 0;
    if (this.ended && this.#goesOn(input[0])) this.reset();
    while (!this.ended) {
      const [state, output, used, message] = zlibRun(this.#state, flush, input, from);
      from += used;
      this.taken += used;
      if (output.byteLength) yield this.piece(output);
      if (state === Z_NEED_DICT) this.#useDictionary();
      else if (state === Z_STREAM_END) {
        // Zeros after the end are padding.
        if (this.#goesOn(input[from])) this.reset();
        else this.ended = true;
      } else if (state === Z_BUF_ERROR || state === Z_OK) {
        if (from >= input.length && output.byteLength < 65536) {
          if (flush === Z_FINISH && this.#form.inflates) throw endedEarly();
          if (flush !== Z_FINISH) return;
        }
        if (state === Z_BUF_ERROR && !output.byteLength && !used) {
          if (from >= input.length) return;
          throw endedEarly();
        }
      } else throw fail(Error, codes[state] ?? 'Z_DATA_ERROR', message ?? words[state] ?? 'invalid data', { errno: state });
    }
  }
}

// `format`: the number that the native side has for it. `last`: the largest operation and the largest parameter.
const brotli = { word: 'Brotli', code: 'BROTLI', going: 0, finishing: 2, last: 3, lastParameter: 8, whole: 1 };
const zstd = { word: 'zstd', code: 'ZSTD', going: 0, finishing: 2, last: 2, lastParameter: 402, whole: 1 };
const frames = {
  BrotliCompress: { ...brotli, format: 0 },
  BrotliDecompress: { ...brotli, format: 1, unpacks: true },
  ZstdCompress: { ...zstd, format: 2 },
  // A frame may follow another.
  ZstdDecompress: { ...zstd, format: 3, unpacks: true, restarts: true },
};
const errors = Object.fromEntries(Object.entries(constants).flatMap(([name, value]) => (name.startsWith('ZSTD_error_') ? [[value, name]] : [])));

class FrameCodec extends Codec {
  #state;
  #kind;
  #options;
  // Whether a frame has begun and not ended.
  #within = true;
  static flush = brotli.whole;
  constructor(name, options) {
    const kind = frames[name];
    super(options, kind.going, kind.finishing, kind.last);
    this.#kind = kind;
    this.#options = options;
    this.#begin();
  }
  #begin() {
    const { format, word, code, lastParameter } = this.#kind;
    const { params, pledgedSrcSize, dictionary } = this.#options;
    const begun = frameStream(format);
    const seen = new Set();
    const refused = () => fail(Error, 'ERR_ZLIB_INITIALIZATION_FAILED', 'Initialization failed');
    for (const [key, value] of Object.entries(params ?? {})) {
      const name = Number(key);
      if (!(name >= 0 && name <= lastParameter) || seen.has(name)) throw fail(RangeError, `ERR_${code}_INVALID_PARAM`, `${key} is not a valid ${word} parameter`);
      seen.add(name);
      if (typeof value !== 'number' && typeof value !== 'boolean') throw wrongType('options.params[key]', 'of type number', value);
      if (!frameParameter(begun, name, Number(value))) throw refused();
    }
    if (pledgedSrcSize !== undefined && format === frames.ZstdCompress.format && !frameSize(begun, Number(pledgedSrcSize))) throw refused();
    if (dictionary !== undefined && code === 'ZSTD' && !frameDictionary(begun, dictionaryOf(dictionary))) throw refused();
    this.#state = begun;
  }
  reset() {
    this.#begin();
    this.ended = false;
    this.#within = true;
  }
  *run(input, operation) {
    const { unpacks, restarts, finishing } = this.#kind;
    let from = 0;
    if (restarts && input.length && !this.#within) this.ended = false;
    while (!this.ended) {
      const [state, output, used, errno, code, message] = frameRun(this.#state, operation, input, from);
      from += used;
      this.taken += used;
      if (output.byteLength) yield this.piece(output);
      if (state === 2) throw fail(Error, code ? (unpacks ? `ERR_${code}` : code) : errors[errno] ?? 'ZSTD_error_GENERIC', message, { errno });
      this.#within = state === 0;
      if (state === 1) {
        this.ended = !(restarts && from < input.length);
        continue;
      }
      if (from < input.length || output.byteLength === 65536) continue;
      if (operation !== finishing) return;
      if (unpacks) throw endedEarly();
      // What is left to be written comes with the next call.
      if (!output.byteLength && !used) return;
    }
  }
}

module.exports = {
  names: [...Object.keys(forms), ...Object.keys(frames)],
  codec: (name, options) => new (name in forms ? ZlibCodec : FrameCodec)(name, options),
  wholeFlush: (name) => (name in forms ? ZlibCodec : FrameCodec).flush,
  bounded,
  bytesOf,
};
