// Streams over files. Their constructors are functions of the older kind: packages call them on objects of their own.
'use strict';
const { Buffer } = require('buffer');
const fs = require('fs');
const { Readable, Writable, finished } = require('stream');
const { errorOrDestroy } = require('readable-stream/lib/internal/streams/destroy.js');
const { deprecate } = require('util');
const { needFunction, needInteger, outOfRange } = require('internal/arguments');
const { checks, nameOf, optionsOf } = shared.files;
const { nextTick } = process;

const PIECE = 65536;
// What is a stream's own business: the functions that it goes by, and whether a read or a write is under way.
const system = Symbol('fs');
const isBusy = Symbol('isBusy');
const isIdle = Symbol('isIdle');
const handle = Symbol('handle');

// The functions of `fs` over a handle.
function functionsOf(file) {
  const move = (name) => (_fd, ...values) => {
    const callback = values.pop();
    file[name](...values).then((result) => callback(null, result.bytesRead ?? result.bytesWritten, result.buffer ?? result.buffers), (error) => callback(error, 0, values[0]));
  };
  const finish = (name) => (_fd, callback) => void file[name]().then(() => callback(null), callback);
  return { open: fs.open, read: move('read'), write: move('write'), writev: move('writev'), close: finish('close'), fsync: finish('sync') };
}

function take(stream, path, options) {
  const { fd } = options;
  stream[system] = options.fs ?? fs;
  if (fd === undefined || fd === null) {
    needFunction('options.fs.open', stream[system].open);
    stream.fd = null;
    const name = nameOf(path);
    stream.path = path instanceof Uint8Array ? path : name;
    return;
  }
  if (typeof fd !== 'object' || typeof fd.readableWebStream !== 'function') {
    stream.fd = checks().descriptor(fd);
    return;
  }
  if (options.fs) throw Object.assign(new Error('The FileHandle with fs method is not implemented'), { code: 'ERR_METHOD_NOT_IMPLEMENTED' });
  stream.fd = checks().descriptor(fd.fd);
  stream[handle] = fd;
  stream[system] = functionsOf(fd);
}

function settingsOf(given, usual) {
  const options = {};
  // Those that are inherited count, too.
  for (const name in optionsOf(given)) options[name] = given[name];
  if (typeof given === 'string') options.encoding = given;
  options.highWaterMark ??= usual;
  options.autoDestroy = options.autoClose ?? true;
  return options;
}

function startAt(stream, start) {
  stream.start = start;
  stream.pos = start === undefined ? undefined : needInteger('start', start, 0);
}

// The last byte that is read is one of them.
function endAt(stream, end = Infinity) {
  stream.end = end === Infinity ? end : needInteger('end', end, 0);
  if (stream.start !== undefined && stream.start > end) throw outOfRange('start', `<= "end" (here: ${end})`, stream.start);
}

function begin(stream, path, options, flags) {
  stream.flags = options.flags ?? flags;
  stream.mode = options.mode ?? 0o666;
  take(stream, path, options);
  if (options.autoDestroy) needFunction('options.fs.close', stream[system].close);
}

function openWith(stream, callback) {
  stream[system].open(stream.path, stream.flags, stream.mode, (error, fd) => {
    if (error) {
      callback(error);
      return;
    }
    stream.fd = fd;
    callback();
    // The stream takes note of its construction in the next tick. What a listener writes comes after it.
    nextTick(() => {
      stream.emit('open', fd);
      stream.emit('ready');
    });
  });
}

// Classes that have an `open` of their own tell of its end by an event.
function openByEvent(stream, callback) {
  const { emit } = stream;
  stream.emit = function (...values) {
    const [name, value] = values;
    if (name !== 'open' && name !== 'error') return emit.apply(this, values);
    this.emit = emit;
    callback(name === 'error' ? value : undefined);
    return name === 'error' ? true : emit.apply(this, values);
  };
  stream.open();
}

function closeFile(stream, error, callback) {
  const { fd } = stream;
  if (fd) stream[system].close(fd, (failed) => callback(failed || error));
  else callback(error);
  stream.fd = null;
}

function flushAndClose(stream, error, callback) {
  if (!stream.flush || !stream.fd) {
    closeFile(stream, error, callback);
    return;
  }
  stream[system].fsync(stream.fd, (failed) => closeFile(stream, error || failed, callback));
}

// What is done to the stream when a read or a write has ended: whether it may go on.
function ended(stream, error) {
  stream[isBusy] = false;
  if (!stream.destroyed) return true;
  stream.emit(isIdle, error);
  return false;
}

const common = {
  _construct(callback) {
    if (typeof this.fd === 'number') callback();
    else if (this.open !== originalOpen) openByEvent(this, callback);
    else openWith(this, callback);
  },
  _destroy(error, callback) {
    if (this[isBusy]) this.once(isIdle, (failed) => flushAndClose(this, error || failed, callback));
    else flushAndClose(this, error, callback);
  },
};

const originalOpen = deprecate(
  function open() {
    openWith(this, (error) => error && this.destroy(error));
  },
  'ReadStream.prototype.open() is deprecated',
  'DEP0135',
);

function finishType(Stream, Parent, methods, state) {
  Object.setPrototypeOf(Stream.prototype, Parent.prototype);
  Object.setPrototypeOf(Stream, Parent);
  Object.assign(Stream.prototype, common, methods, { open: originalOpen });
  Object.defineProperty(Stream.prototype, 'autoClose', {
    get() {
      return this[state].autoDestroy;
    },
    set(value) {
      this[state].autoDestroy = value;
    },
    configurable: true,
  });
  Object.defineProperty(Stream.prototype, 'pending', {
    get() {
      return this.fd === null;
    },
    configurable: true,
  });
}

// A handle that is closed by others ends its stream.
function follow(stream) {
  stream[handle]?.on?.('close', () => stream.close());
}

function ReadStream(path, given) {
  if (!(this instanceof ReadStream)) return new ReadStream(path, given);
  const options = settingsOf(given, PIECE);
  begin(this, path, options, 'r');
  needFunction('options.fs.read', this[system].read);
  startAt(this, options.start);
  endAt(this, options.end);
  this.bytesRead = 0;
  this[isBusy] = false;
  Readable.call(this, options);
  follow(this);
  return this;
}

function taken(stream, count, buffer) {
  if (!count) {
    stream.push(null);
    return;
  }
  if (stream.pos !== undefined) stream.pos += count;
  stream.bytesRead += count;
  // A piece that is mostly empty would keep the whole of its memory.
  stream.push(count === buffer.length ? buffer : Buffer.from(buffer.subarray(0, count)));
}

finishType(ReadStream, Readable, {
  _read(size) {
    const left = this.end - (this.pos ?? this.bytesRead) + 1;
    const length = Math.min(size, left);
    if (length <= 0) {
      this.push(null);
      return;
    }
    this[isBusy] = true;
    this[system].read(this.fd, Buffer.allocUnsafeSlow(length), 0, length, this.pos, (error, count, buffer) => {
      if (!ended(this, error)) return;
      if (error) errorOrDestroy(this, error);
      else taken(this, count, buffer);
    });
  },
  close(callback) {
    if (callback) finished(this, callback);
    this.destroy();
  },
}, '_readableState');

function WriteStream(path, given) {
  if (!(this instanceof WriteStream)) return new WriteStream(path, given);
  const options = { ...settingsOf(given), decodeStrings: true };
  begin(this, path, options, 'w');
  const { write, writev } = this[system];
  if (!write && !writev) needFunction('options.fs.write', write);
  if (write) needFunction('options.fs.write', write);
  if (writev) needFunction('options.fs.writev', writev);
  // One of the two is enough.
  if (!write) this._write = null;
  if (!writev) this._writev = null;
  this.flush = checks().flush(options.flush);
  if (this.flush) needFunction('options.fs.fsync', this[system].fsync);
  startAt(this, options.start);
  this.bytesWritten = 0;
  this[isBusy] = false;
  Writable.call(this, options);
  if (options.encoding) this.setDefaultEncoding(options.encoding);
  follow(this);
  return this;
}

// Writes until all is written: `again` is asked for what is left.
function writeOn(stream, write, size, again, callback) {
  stream[isBusy] = true;
  write((error, count) => {
    if (!ended(stream, error)) {
      callback(error ?? Object.assign(new Error('Cannot call write after a stream was destroyed'), { code: 'ERR_STREAM_DESTROYED' }));
      return;
    }
    if (error) {
      callback(error);
      return;
    }
    stream.bytesWritten += count;
    if (stream.pos !== undefined) stream.pos += count;
    if (count < size) again(count);
    else callback();
  });
}

finishType(WriteStream, Writable, {
  _write(chunk, encoding, callback) {
    writeOn(this, (done) => this[system].write(this.fd, chunk, 0, chunk.length, this.pos, done), chunk.length, (count) => this._write(chunk.subarray(count), encoding, callback), callback);
  },
  _writev(entries, callback) {
    const chunks = entries.map(({ chunk }) => chunk);
    const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const again = (count) => {
      const rest = Buffer.concat(chunks).subarray(count);
      if (this._write) this._write(rest, 'buffer', callback);
      else this._writev([{ chunk: rest }], callback);
    };
    writeOn(this, (done) => this[system].writev(this.fd, chunks, this.pos, done), size, again, callback);
  },
  close(callback) {
    if (callback) {
      if (this.closed) {
        nextTick(callback);
        return;
      }
      this.on('close', callback);
    }
    // Otherwise nobody would close it.
    if (!this.autoClose) this.on('finish', this.destroy);
    this.end();
  },
  destroySoon: Writable.prototype.end,
}, '_writableState');

module.exports = {
  ReadStream,
  WriteStream,
  createReadStream: (path, options) => new ReadStream(path, options),
  createWriteStream: (path, options) => new WriteStream(path, options),
};
