// The module `fs`, of what has a name: times, permissions, real paths and folders that are read piece by piece; and, evaluated when they
// are first used, its streams.
(function (native, shared) {
  'use strict';
  // Those that are there now: a snippet may have others of these names.
  const { URL, crypto } = globalThis;
  const { canBeWritten, hardLink, setTimes } = native;
  const { Stats, Dirent, offer } = shared.files;
  const { fs, 'fs/promises': promises, path: paths } = shared.modules;
  const { R_OK, W_OK, X_OK } = fs.constants;

  const nameOf = (path) => (path instanceof URL ? decodeURIComponent(path.pathname) : `${path}`);
  const refusal = (code, words, operation, path) => Object.assign(new Error(`${code}: ${words}, ${operation} '${path}'`), { code, syscall: operation, path });
  const seconds = (time) => (time instanceof Date ? time.getTime() / 1000 : typeof time === 'string' ? Number(time) : time);

  // Kinds that there are none of.
  for (const kind of ['BlockDevice', 'FIFO', 'Socket']) Stats.prototype[`is${kind}`] = () => false;
  for (const kind of ['BlockDevice', 'CharacterDevice', 'FIFO', 'Socket']) Dirent.prototype[`is${kind}`] = () => false;
  Object.defineProperty(Dirent.prototype, 'path', {
    get() {
      return this.parentPath;
    },
  });

  // Without a link in it, as far as the path leads.
  function real(path, left = 40) {
    let done = '/';
    const parts = paths.resolve(path).split('/').filter(Boolean);
    while (parts.length) {
      const next = paths.join(done, parts.shift());
      if (!fs.lstatSync(next).isSymbolicLink()) {
        done = next;
        continue;
      }
      if (left-- <= 0) throw refusal('ELOOP', 'too many symbolic links encountered', 'realpath', path);
      return real([paths.resolve(done, fs.readlinkSync(next)), ...parts].join('/'), left);
    }
    return done;
  }

  class Dir {
    #entries;
    #open = true;
    constructor(path, options) {
      this.path = path;
      this.#entries = fs.readdirSync(path, { ...options, withFileTypes: true });
    }
    readSync() {
      if (!this.#open) throw Object.assign(new Error('Directory handle was closed'), { code: 'ERR_DIR_CLOSED' });
      return this.#entries.shift() ?? null;
    }
    async read(callback) {
      const entry = this.readSync();
      callback?.(null, entry);
      return entry;
    }
    closeSync() {
      this.#open = false;
    }
    async close(callback) {
      this.#open = false;
      callback?.(null);
    }
    async *[Symbol.asyncIterator]() {
      for (let entry = this.readSync(); entry; entry = this.readSync()) yield entry;
      this.#open = false;
    }
  }

  const digits = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

  offer({
    accessSync(path, mode = 0) {
      const name = nameOf(path);
      const about = fs.statSync(name);
      if (mode & W_OK && !canBeWritten(name)) throw refusal('EACCES', 'permission denied', 'access', name);
      // What runs a file here looks at its first line, not at its permissions: none has one.
      if (mode & X_OK && !(mode & R_OK) && !about.isDirectory()) throw refusal('EACCES', 'permission denied', 'access', name);
    },
    realpathSync: (path) => real(nameOf(path)),
    mkdtempSync(prefix) {
      for (;;) {
        const name = nameOf(prefix) + Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => digits[byte % digits.length]).join('');
        if (fs.existsSync(name)) continue;
        fs.mkdirSync(name);
        return name;
      }
    },
    utimesSync: (path, accessed, modified) => setTimes(nameOf(path), seconds(accessed), seconds(modified), true),
    lutimesSync: (path, accessed, modified) => setTimes(nameOf(path), seconds(accessed), seconds(modified), false),
    linkSync: (from, to) => hardLink(nameOf(from), nameOf(to)),
    // Files have no permissions and no owner of their own here: what is there may be told so, and nothing changes.
    chmodSync: (path) => void fs.statSync(nameOf(path)),
    chownSync: (path) => void fs.statSync(nameOf(path)),
    lchownSync: (path) => void fs.lstatSync(nameOf(path)),
    statfsSync(path) {
      fs.statSync(nameOf(path));
      return { type: 0, bsize: 4096, blocks: 0, bfree: 0, bavail: 0, files: 0, ffree: 0 };
    },
    opendirSync: (path, options) => new Dir(nameOf(path), options),
    readvSync: (descriptor, views, position) => each(fs.readSync, descriptor, views, position),
    writevSync: (descriptor, views, position) => each(fs.writeSync, descriptor, views, position),
  });
  // Of a path that does not exist, no error.
  fs.exists = (path, callback) => queueMicrotask(() => callback(fs.existsSync(path)));
  fs.realpath.native = fs.realpath;
  fs.realpathSync.native = fs.realpathSync;
  fs.fchmodSync = fs.fchownSync = (descriptor) => void fs.fstatSync(descriptor);
  fs.futimesSync = () => {};

  function each(move, descriptor, views, position) {
    let moved = 0;
    for (const view of views) {
      const count = move(descriptor, view, 0, view.byteLength, typeof position === 'number' ? position + moved : null);
      moved += count;
      if (count < view.byteLength) break;
    }
    return moved;
  }

  const unwatched = () => Object.assign(new Error('files cannot be watched in this sandbox'), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' });
  fs.watch = fs.watchFile = () => {
    throw unwatched();
  };
  fs.unwatchFile = () => {};
  promises.watch = async function* () {
    throw unwatched();
  };

  Object.assign(fs, { Stats, Dirent, Dir });
  for (const name of ['createReadStream', 'createWriteStream']) fs[name] = (...values) => shared.library('internal/file_streams')[name](...values);
  for (const name of ['ReadStream', 'WriteStream', 'FileReadStream', 'FileWriteStream']) {
    Object.defineProperty(fs, name, { get: () => shared.library('internal/file_streams')[name.replace('File', '')], enumerable: true, configurable: true });
  }
})
