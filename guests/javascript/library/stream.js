// The module `stream`: that of the package `readable-stream`, with the bridges to streams of the web.
'use strict';
const { Buffer } = require('buffer');
const { AbortError, codes } = require('readable-stream/lib/ours/errors.js');
// The package makes this error without `new`, too, and takes its class when it is evaluated.
const MultipleCallback = codes.ERR_MULTIPLE_CALLBACK;
codes.ERR_MULTIPLE_CALLBACK = function () {
  return new MultipleCallback();
};
// Its errors are called as the classes that they are of.
for (const Kind of Object.values(codes)) if (Kind.prototype?.name) Object.defineProperty(Kind, 'name', { value: Kind.prototype.name, configurable: true });
const Stream = require('readable-stream');
const { ReadableStream, WritableStream } = require('internal/web_streams');
const { Readable, Writable, Duplex } = Stream;

// The package compares with the class that it knows as a buffer's. Views of other kinds are bytes, too.
Stream._isUint8Array = (value) => ArrayBuffer.isView(value);
Stream._uint8ArrayToBuffer = (view) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

Readable.toWeb = (readable) => {
  const chunks = readable[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(typeof value === 'string' || !ArrayBuffer.isView(value) ? value : new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
    },
    async cancel(reason) {
      readable.destroy(reason instanceof Error ? reason : undefined);
    },
  });
};
Readable.fromWeb = (stream, options) => {
  const reader = stream.getReader();
  return new Readable({
    ...options,
    async read() {
      try {
        const { value, done } = await reader.read();
        this.push(done ? null : value);
      } catch (error) {
        this.destroy(error);
      }
    },
    destroy(error, callback) {
      reader.cancel(error).then(() => callback(error), callback);
    },
  });
};
Writable.toWeb = (writable) =>
  new WritableStream({
    write: (chunk) => new Promise((resolve, reject) => writable.write(chunk, (error) => (error ? reject(error) : resolve()))),
    close: () => new Promise((resolve) => writable.end(resolve)),
    abort: async (reason) => void writable.destroy(reason),
  });
Writable.fromWeb = (stream, options) => {
  const writer = stream.getWriter();
  const told = (promise, callback) => promise.then(() => callback(), callback);
  return new Writable({
    ...options,
    write: (chunk, _encoding, callback) => told(writer.write(chunk), callback),
    final: (callback) => told(writer.close(), callback),
    destroy: (error, callback) => (error ? writer.abort(error).then(() => callback(error), callback) : callback(null)),
  });
};
Duplex.toWeb = (duplex) => ({ readable: Readable.toWeb(duplex), writable: Writable.toWeb(duplex) });
Duplex.fromWeb = ({ readable, writable }, options) => Duplex.from({ readable: Readable.fromWeb(readable, options), writable: Writable.fromWeb(writable, options) });

// The one of Readable knows nothing of writes that wait, whose callbacks have to hear of it.
Duplex.prototype.destroy = Writable.prototype.destroy;

// What is not finished is destroyed with an error, as by an abort.
for (const { prototype } of [Writable, Duplex]) {
  Object.defineProperty(prototype, Symbol.asyncDispose, {
    value() {
      const isOver = this.destroyed || this.writableFinished;
      if (!isOver) this.destroy(new AbortError());
      return new Promise((resolve, reject) => Stream.finished(this, (error) => (error && error.name !== 'AbortError' ? reject(error) : resolve(null))));
    },
    writable: true,
    configurable: true,
  });
}

Object.defineProperty(Stream, 'duplexPair', { get: () => require('internal/duplex_pair').duplexPair, enumerable: true, configurable: true });
module.exports = Stream;
require('internal/standard_streams').makeOutputs(Writable);
