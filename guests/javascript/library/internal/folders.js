// Folders that are read piece by piece: `fs.Dir`.
'use strict';
const fs = require('fs');
const { error, missing, needFunction, needInteger } = require('internal/arguments');
const { entryOf, named, optionsOf, tryAs } = shared.files;
const { list } = native;
const { setImmediate } = globalThis;
const { join } = require('path');

const closed = () => error(Error, 'ERR_DIR_CLOSED', 'Directory handle was closed');
const isBusy = () => error(Error, 'ERR_DIR_CONCURRENT_OPERATION', 'Cannot do synchronous work on directory handle with concurrent asynchronous operations');

class Dir {
  #path;
  #options;
  #folders;
  #open = true;
  #waiting = 0;
  constructor(handle, path, options) {
    if (handle === undefined) throw missing('handle');
    this.#path = path;
    this.#options = options;
    this.#folders = [this.#list(handle, path)];
  }
  #list(found, path) {
    return found.map(([name, kind]) => ({ name, kind, path }));
  }
  get path() {
    return this.#path;
  }
  #check() {
    if (!this.#open) throw closed();
    if (this.#waiting) throw isBusy();
  }
  #next() {
    while (this.#folders.length && !this.#folders[0].length) this.#folders.shift();
    const next = this.#folders[0]?.shift();
    if (!next) return null;
    const { name, kind, path } = next;
    if (this.#options.recursive && kind === 'directory') this.#folders.push(this.#list(list(join(path, name)), join(path, name)));
    return entryOf(named(name, this.#options), kind, path);
  }
  // Without a callback: a promise.
  #later(callback, act) {
    if (callback === undefined) return new Promise((resolve, reject) => this.#later((failed, value) => (failed ? reject(failed) : resolve(value)), act));
    needFunction('callback', callback);
    this.#waiting++;
    setImmediate(() => {
      this.#waiting--;
      let value;
      try {
        if (!this.#open) throw closed();
        value = act();
      } catch (failed) {
        callback(failed);
        return;
      }
      callback(null, value);
    });
    return undefined;
  }
  readSync() {
    this.#check();
    return this.#next();
  }
  read(callback) {
    if (!this.#open) return refused(callback);
    return this.#later(callback, () => this.#next());
  }
  closeSync() {
    this.#check();
    this.#open = false;
  }
  close(callback) {
    if (callback !== undefined) needFunction('callback', callback);
    if (!this.#open) return refused(callback);
    return this.#later(callback, () => {
      this.#open = false;
    });
  }
  async *entries() {
    try {
      for (let entry = await this.read(); entry; entry = await this.read()) yield entry;
    } finally {
      await this.close();
    }
  }
  async [Symbol.asyncDispose]() {
    if (this.#open) await this.close();
  }
}
Object.defineProperty(Dir.prototype, Symbol.asyncIterator, { value: Dir.prototype.entries, writable: true, configurable: true });

function refused(callback) {
  if (callback === undefined) return Promise.reject(closed());
  needFunction('callback', callback);
  setImmediate(() => callback(closed()));
  return undefined;
}

function opening(path, given) {
  const options = optionsOf(given);
  if (options.bufferSize !== undefined) needInteger('options.bufferSize', options.bufferSize, 1, 2 ** 32 - 1);
  return () => {
    if (fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === false) throw Object.assign(new Error(`ENOTDIR: not a directory, opendir '${path}'`), { errno: -20, code: 'ENOTDIR', syscall: 'opendir', path });
    return new Dir(tryAs(() => list(path), 'opendir', path), path, options);
  };
}

module.exports = { Dir, opening };
