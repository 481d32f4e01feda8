// The module `zlib`: deflate, gzip, raw data, Brotli and Zstandard, as streams and at once.
'use strict';
const { Buffer } = require('buffer');
const { Transform, finished } = require('stream');
const { needFunction, needInteger, wrongType } = require('internal/arguments');
const { bounded, bytesOf, codec, names, wholeFlush } = require('internal/codecs');
const { codes, constants } = require('internal/zlib_constants');
const { crc32: sum } = native;

// What comes out of a codec at a time, if there may be more.
const PIECE = 65536;
const { setImmediate } = globalThis;
const whole = (pieces) => Buffer.concat([...pieces]);
// How an empty chunk says what it is: a flush that waits its turn.
const flushing = Symbol('flush');

function atOnce(name, data, options) {
  const bytes = bytesOf(data);
  if (options?.info) {
    const engine = new module.exports[name](options);
    return { buffer: whole(engine._handle.run(bytes, engine._finishFlushFlag)), engine };
  }
  const engine = codec(name, options ?? {});
  return whole(engine.run(bytes, engine.finishFlush));
}

// A constructor of the older kind, which classes call on themselves.
function ZlibBase(name, options) {
  const handle = codec(name, options ?? {});
  Transform.call(this, { ...options, objectMode: false });
  this._handle = handle;
  handle.stream = this;
  this._name = name;
  // How many bytes a stream gives is its reader's matter.
  this._maxOutputLength = handle.most;
  handle.most = Infinity;
  this._chunkSize = handle.chunkSize;
  this._defaultFlushFlag = handle.flush;
  this._finishFlushFlag = handle.finishFlush;
  this._defaultFullFlushFlag = wholeFlush(name);
  this._info = Boolean(options?.info);
  for (const key of ['level', 'strategy']) if (handle[key] !== undefined) this[`_${key}`] = handle[key];
  for (const key of ['_handle', '_name', '_waiting', '_given', '_taken']) Object.defineProperty(this, key, { value: this[key], enumerable: false, writable: true });
}
Object.setPrototypeOf(ZlibBase, Transform);
ZlibBase.prototype = Object.create(Transform.prototype, { constructor: { value: ZlibBase, writable: true, configurable: true } });

// Of two kinds of a flush the one that leaves less behind.
const rank = [constants.Z_NO_FLUSH, constants.Z_BLOCK, constants.Z_PARTIAL_FLUSH, constants.Z_SYNC_FLUSH, constants.Z_FULL_FLUSH, constants.Z_FINISH];
const thorough = (one, other) => (rank.indexOf(one) > rank.indexOf(other) ? one : other);

// Each part of an output, and whether it is the last one for now.
function* parts(pieces, size) {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += size) yield [piece.subarray(at, at + size), at + size >= piece.length && piece.length < PIECE];
  }
}

// Gives what comes out until the reader has enough, and goes on when it asks for more.
function pump(stream, left, callback) {
  try {
    for (;;) {
      if (stream.destroyed) break;
      const { value, done } = left.next();
      stream._taken = stream._handle?.taken ?? stream._taken;
      if (done) break;
      if (stream.push(value[0]) || value[1]) continue;
      stream._waiting = () => pump(stream, left, callback);
      return;
    }
  } catch (error) {
    callback(error);
    return;
  }
  callback();
}

function work(stream, input, flush, callback) {
  const done = (error) => {
    // What comes after the end of the data is nobody's.
    if (!error && stream._handle?.ended && stream._taken < stream._given) stream.push(null);
    callback(error);
  };
  stream._given = (stream._given ?? 0) + input.length;
  // Nothing comes out before the one that wrote has its turn.
  setImmediate(() => {
    if (stream.destroyed) callback();
    else pump(stream, parts(stream._handle.run(input, flush), stream._chunkSize), done);
  });
}

Object.assign(ZlibBase.prototype, {
  _transform(chunk, _encoding, callback) {
    const flush = chunk[flushing] ?? this._defaultFlushFlag;
    const isLast = this.writableEnded && this.writableLength === chunk.length;
    work(this, bytesOf(chunk), isLast ? thorough(flush, this._finishFlushFlag) : flush, callback);
  },
  _flush(callback) {
    if (this._handle.ended) callback();
    else work(this, new Uint8Array(0), this._finishFlushFlag, callback);
  },
  _read(size) {
    const more = this._waiting;
    this._waiting = undefined;
    if (more) more();
    else Transform.prototype._read.call(this, size);
  },
  _destroy(error, callback) {
    this._taken = this._handle?.taken ?? this._taken;
    this._handle = null;
    this._waiting = undefined;
    callback(error);
  },
  _processChunk(chunk, flush, callback) {
    if (typeof callback === 'function') work(this, bytesOf(chunk), flush, callback);
    else return whole(this._handle.run(bytesOf(chunk), flush));
  },
  flush(kind, callback) {
    if (typeof kind === 'function' || (kind === undefined && !callback)) [kind, callback] = [undefined, kind];
    if (this.writableFinished) {
      if (callback) process.nextTick(callback);
    } else if (this.writableEnded) {
      if (callback) this.once('end', callback);
    } else {
      this.write(Object.assign(Buffer.alloc(0), { [flushing]: kind ?? this._defaultFullFlushFlag }), '', callback);
    }
  },
  params(level, strategy, callback) {
    bounded('level', level, -1, 9);
    bounded('strategy', strategy, 0, 4);
    if (this._level === level && this._strategy === strategy) {
      process.nextTick(callback);
      return;
    }
    this.flush(constants.Z_SYNC_FLUSH, (error) => {
      if (!error && this._handle) {
        this._handle.change(level, strategy);
        [this._level, this._strategy] = [level, strategy];
      }
      callback?.(error);
    });
  },
  reset() {
    this._handle?.reset();
  },
  close(callback) {
    if (callback) finished(this, callback);
    this.destroy();
  },
});
let oldName;
const shown = {
  bytesWritten() {
    return this._handle?.taken ?? this._taken ?? 0;
  },
  bytesRead() {
    oldName ??= require('util').deprecate(shown.bytesWritten, 'zlib.bytesRead is deprecated and will change its meaning in the future. Use zlib.bytesWritten instead.', 'DEP0108');
    return oldName.call(this);
  },
  _closed() {
    return !this._handle;
  },
};
for (const [name, get] of Object.entries(shown)) Object.defineProperty(ZlibBase.prototype, name, { get, configurable: true, enumerable: true });
// What a stream has for `writeSync` of its handle.
const beside = { _outOffset: () => 0, _outBuffer: (stream) => Buffer.allocUnsafe(stream._chunkSize), _writeState: () => new Uint32Array(2) };
for (const [name, make] of Object.entries(beside)) {
  const keep = (stream, value) => Object.defineProperty(stream, name, { value, writable: true, configurable: true });
  Object.defineProperty(ZlibBase.prototype, name, {
    get() {
      return keep(this, make(this))[name];
    },
    set(value) {
      keep(this, value);
    },
    configurable: true,
  });
}

module.exports = {
  constants,
  crc32(data, value = 0) {
    if (typeof data !== 'string' && !ArrayBuffer.isView(data)) throw wrongType('data', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
    return sum(bytesOf(data), needInteger('value', value, 0, 2 ** 32 - 1));
  },
};
Object.defineProperty(module.exports, 'codes', { value: codes, enumerable: true });
// Their old place.
for (const [name, value] of Object.entries(constants)) if (!/^(BROTLI|ZSTD)/.test(name)) Object.defineProperty(module.exports, name, { value });
for (const name of names) {
  // Without `new`, too.
  const Stream = { [name]: function (options) {
    if (!(this instanceof Stream)) return new Stream(options);
    ZlibBase.call(this, name, options);
  } }[name];
  Object.setPrototypeOf(Stream, ZlibBase);
  Stream.prototype = Object.create(ZlibBase.prototype, { constructor: { value: Stream, writable: true, configurable: true } });
  const short = name[0].toLowerCase() + name.slice(1);
  module.exports[name] = Stream;
  module.exports[`create${name}`] = (options) => new Stream(options);
  module.exports[`${short}Sync`] = (data, options) => atOnce(name, data, options);
  module.exports[short] = (data, options, callback) => {
    if (typeof options === 'function') [options, callback] = [undefined, options];
    needFunction('callback', callback);
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
