// The standard streams of `process` as what they are in Node.js. Output begins as less, and becomes it when the module `stream` is there.
'use strict';
const { write } = native;
const { standard } = shared;

// Of its methods those are kept that a stream has none of.
function makeOutputs(Writable) {
  const prototype = Object.create(Writable.prototype, { constructor: { value: function WriteStream() {}, writable: true, configurable: true } });
  for (const name of ['isTTY', 'columns', 'getColorDepth', 'hasColors', 'getWindowSize', 'ref', 'unref']) prototype[name] = standard.prototype[name];
  Object.assign(prototype, {
    _isStdio: true,
    _write(chunk, _encoding, callback) {
      write(this.fd, chunk);
      callback();
    },
    // It can be written to after its end, since runs that follow have the same.
    _destroy(error, callback) {
      callback(error);
      this._undestroy();
      // What is told last of an end would keep the next one from being told.
      process.nextTick(() => void (this._writableState.closeEmitted = false));
    },
  });
  for (const name of ['stdout', 'stderr']) {
    Object.setPrototypeOf(standard[name], prototype);
    Writable.call(standard[name], { emitClose: false });
  }
  standard.write = prototype.write;
}

function input() {
  const { ReadStream } = require('fs');
  const stream = new ReadStream(null, { fd: 0, autoClose: false });
  const itself = () => stream;
  return Object.assign(stream, { isTTY: false, ref: itself, unref: itself });
}

module.exports = { makeOutputs, input };
