// The module `stream`: that of the package `readable-stream`, with the bridges to streams of the web.
'use strict';
const { Buffer } = require('buffer');
const Stream = require('readable-stream');
const { ReadableStream, WritableStream } = require('web-streams-polyfill/dist/ponyfill.js');
const { Readable, Writable, Duplex } = Stream;

// The package compares with the class that it knows as a buffer's.
Stream._isUint8Array = (value) => value instanceof Uint8Array;
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
        this.push(done ? null : ArrayBuffer.isView(value) && !this.readableObjectMode ? Stream._uint8ArrayToBuffer(value) : value);
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

module.exports = Stream;
