// Streams over files.
'use strict';
const { Buffer } = require('buffer');
const fs = require('fs');
const { Readable, Writable } = require('stream');

const PIECE = 65536;

// What a stream over a file does at its beginning and at its end, in either direction.
const descriptor = {
  _construct(callback) {
    const { fd } = this.options;
    try {
      this.fd = (typeof fd === 'object' ? fd?.fd : fd) ?? fs.openSync(this.path, this.flags);
    } catch (error) {
      callback(error);
      return;
    }
    this.pending = false;
    callback();
    this.emit('open', this.fd);
    this.emit('ready');
  },
  _destroy(error, callback) {
    if (this.fd !== undefined && this.options.autoClose !== false) fs.closeSync(this.fd);
    callback(error);
  },
};

function settings(given) {
  return typeof given === 'string' ? { encoding: given } : { ...given };
}

class ReadStream extends Readable {
  #position;
  #end;
  bytesRead = 0;
  pending = true;
  constructor(path, given) {
    const options = settings(given);
    super({ highWaterMark: PIECE, ...options });
    this.path = path;
    this.flags = options.flags ?? 'r';
    this.options = options;
    this.#position = options.start;
    this.#end = options.end ?? Infinity;
    if (typeof this.#position === 'number' && this.#position > this.#end) throw Object.assign(new RangeError('The value of "start" is out of range.'), { code: 'ERR_OUT_OF_RANGE' });
  }
  _read(size) {
    const left = this.#end - (this.#position ?? this.bytesRead) + 1;
    const buffer = Buffer.alloc(Math.max(0, Math.min(size, PIECE, left)));
    let count = 0;
    try {
      if (buffer.length) count = fs.readSync(this.fd, buffer, 0, buffer.length, this.#position ?? null);
    } catch (error) {
      this.destroy(error);
      return;
    }
    if (this.#position !== undefined) this.#position += count;
    this.bytesRead += count;
    this.push(count ? buffer.subarray(0, count) : null);
  }
  close(callback) {
    if (callback) this.once('close', callback);
    this.destroy();
  }
}

class WriteStream extends Writable {
  #position;
  bytesWritten = 0;
  pending = true;
  constructor(path, given) {
    const options = settings(given);
    super({ ...options, decodeStrings: true });
    this.path = path;
    this.flags = options.flags ?? 'w';
    this.options = options;
    this.#position = options.start;
    if (options.encoding) this.setDefaultEncoding(options.encoding);
  }
  _write(chunk, _encoding, callback) {
    try {
      for (let at = 0; at < chunk.length; ) {
        const count = fs.writeSync(this.fd, chunk, at, chunk.length - at, this.#position ?? null);
        at += count;
        this.bytesWritten += count;
        if (this.#position !== undefined) this.#position += count;
      }
    } catch (error) {
      callback(error);
      return;
    }
    callback();
  }
  close(callback) {
    if (callback) this.once('close', callback);
    this.end();
  }
}

Object.assign(ReadStream.prototype, descriptor);
Object.assign(WriteStream.prototype, descriptor);

module.exports = {
  ReadStream,
  WriteStream,
  createReadStream: (path, options) => new ReadStream(path, options),
  createWriteStream: (path, options) => new WriteStream(path, options),
};
