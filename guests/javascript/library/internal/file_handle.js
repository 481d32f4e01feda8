// Handles of open files, as `fs/promises` gives them.
'use strict';
const EventEmitter = require('events');
const fs = require('fs');
const { error, wrongType } = require('internal/arguments');
const { Buffer } = require('buffer');
const { checks, encode, optionsOf, turn } = shared.files;
const { readSync, writeSync, readvSync, writevSync, readFileSync, writeFileSync, openSync, closeSync, fstatSync, ftruncateSync, fsyncSync, fdatasyncSync, fchmodSync, fchownSync, futimesSync } = fs;

const PIECE = 16384;
let making = false;

const closed = (syscall) => Object.assign(new Error('file closed'), { code: 'EBADF', syscall });
const isStream = (data) => typeof data === 'object' && data !== null && !ArrayBuffer.isView(data) && (Symbol.iterator in data || Symbol.asyncIterator in data);

class FileHandle extends EventEmitter {
  #file;
  #lent = false;
  constructor(file) {
    if (!making) throw new TypeError('Illegal constructor');
    super();
    this.#file = file;
  }
  get fd() {
    return this.#file;
  }
  #need(operation) {
    if (this.#file === -1) throw closed(operation);
    return this.#file;
  }
  getAsyncId() {
    return 0;
  }
  async read(view, offset, length, position) {
    const file = this.#need('read');
    let buffer = view;
    if (!ArrayBuffer.isView(view)) {
      const settings = checks().object('options', view);
      ({ buffer = Buffer.alloc(PIECE) } = settings);
      if (offset === undefined) ({ offset, length, position } = settings);
    }
    if (offset !== undefined && (typeof offset !== 'object' || offset === null)) return { bytesRead: readSync(file, buffer, offset, length, position), buffer };
    return { bytesRead: readSync(file, buffer, offset ?? { length, position }), buffer };
  }
  async write(data, ...where) {
    const file = this.#need('write');
    return { bytesWritten: data?.byteLength === 0 ? 0 : writeSync(file, data, ...where), buffer: data };
  }
  async readv(buffers, position) {
    return { bytesRead: readvSync(this.#need('readv'), buffers, position), buffers };
  }
  async writev(buffers, position) {
    return { bytesWritten: writevSync(this.#need('writev'), buffers, position), buffers };
  }
  async readFile(options) {
    const file = this.#need('read');
    const { signal } = optionsOf(options);
    await pause(signal);
    return readFileSync(file, options);
  }
  async writeFile(data, options) {
    const file = this.#need('write');
    if (isStream(data)) return writeStream(file, data, optionsOf(options));
    await pause(optionsOf(options).signal);
    return writeFileSync(file, data, options);
  }
  async appendFile(data, options) {
    return this.writeFile(data, options);
  }
  readLines(options) {
    return require('readline').createInterface({ input: this.createReadStream(options), crlfDelay: Infinity });
  }
  readableWebStream() {
    const file = this.#need('read');
    if (this.#lent) throw error(Error, 'ERR_INVALID_STATE', 'Invalid state: The FileHandle is locked');
    this.#lent = true;
    return new ReadableStream({
      type: 'bytes',
      pull: (controller) => {
        const piece = new Uint8Array(PIECE);
        const count = readSync(file, piece, 0, PIECE, null);
        if (count) controller.enqueue(piece.subarray(0, count));
        else controller.close();
        // One who waits for bytes of its own is answered by none.
        if (!count) controller.byobRequest?.respond(0);
      },
    });
  }
  createReadStream(options) {
    return new fs.ReadStream(undefined, { ...optionsOf(options), fd: this });
  }
  createWriteStream(options) {
    return new fs.WriteStream(undefined, { ...optionsOf(options), fd: this });
  }
  async stat(options) {
    return fstatSync(this.#need('fstat'), options);
  }
  async truncate(length) {
    ftruncateSync(this.#need('ftruncate'), length);
  }
  async sync() {
    fsyncSync(this.#need('fsync'));
  }
  async datasync() {
    fdatasyncSync(this.#need('fdatasync'));
  }
  async chmod(mode) {
    fchmodSync(this.#need('fchmod'), mode);
  }
  async chown(user, group) {
    fchownSync(this.#need('fchown'), user, group);
  }
  async utimes(accessed, modified) {
    futimesSync(this.#need('futimes'), accessed, modified);
  }
  async close() {
    if (this.#file === -1) return;
    const file = this.#file;
    this.#file = -1;
    closeSync(file);
    this.emit('close');
  }
  [Symbol.asyncDispose]() {
    return this.close();
  }
}

// Whoever may stop the work gets a turn before it is done.
async function pause(signal) {
  if (!signal) return;
  if (!signal.aborted) await turn();
  if (signal.aborted) throw checks().aborted(signal);
}

async function writeStream(file, data, { encoding, signal }) {
  await pause(signal);
  for await (const chunk of data) {
    await pause(signal);
    const bytes = encode(chunk, encoding);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, null);
  }
}

async function open(path, flags, mode) {
  const file = openSync(path, flags, mode);
  making = true;
  try {
    return new FileHandle(file);
  } finally {
    making = false;
  }
}

// A function of `fs/promises` that takes a handle in the place of a path.
const taking = (name) => (byPath, path, ...values) => (path instanceof FileHandle ? path[name](...values) : byPath(path, ...values));

const writing = (name, usual) => async (byPath, path, data, options) => {
  if (path instanceof FileHandle || !isStream(data)) {
    if (typeof path === 'number') throw wrongType('path', 'of type string or an instance of Buffer or URL', path);
    return taking(name)(byPath, path, data, options);
  }
  const settings = optionsOf(options);
  if (settings.signal?.aborted) throw checks().aborted(settings.signal);
  const file = openSync(path, settings.flag || usual, settings.mode);
  try {
    await writeStream(file, data, settings);
    if (checks().flush(settings.flush)) fsyncSync(file);
  } finally {
    closeSync(file);
  }
};

module.exports = { FileHandle, open, readFile: taking('readFile'), writeFile: writing('writeFile', 'w'), appendFile: writing('appendFile', 'a') };
