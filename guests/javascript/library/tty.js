// The module `tty`: there is no terminal.
'use strict';
const { Readable, Writable } = require('stream');

class ReadStream extends Readable {}
class WriteStream extends Writable {}
ReadStream.prototype.isTTY = WriteStream.prototype.isTTY = false;

module.exports = { isatty: () => false, ReadStream, WriteStream };
