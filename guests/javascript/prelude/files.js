// The module `fs`: how its functions come in three kinds, what their arguments are, and what is known of a file.
(function (native, shared) {
  'use strict';
  // Those that are there now: a snippet may have others of these names.
  const { Date, TextDecoder, TextEncoder, setImmediate } = globalThis;
  const encoder = new TextEncoder();

  // Arguments of the plain kind are known here; what else there may be, and what is refused, is in the library.
  const checks = () => shared.library('internal/file_checks');
  const nameOf = (path, argument) => (typeof path === 'string' && !path.includes('\0') ? path : checks().path(path, argument));
  const isPlain = (encoding) => encoding === undefined || encoding === null || encoding === 'utf8' || encoding === 'utf-8';
  const none = Object.freeze({});
  const utf8 = Object.freeze({ encoding: 'utf8' });

  function optionsOf(given) {
    if (given === undefined || given === null || typeof given === 'function') return none;
    if (given === 'utf8' || given === 'utf-8') return utf8;
    if (typeof given === 'object' && isPlain(given.encoding) && given.signal === undefined) return given;
    return checks().options(given);
  }

  const modeOf = (given, otherwise) => (given === undefined || given === null ? otherwise : checks().mode(given));
  const isMissing = (error) => error.code === 'ENOENT' || error.code === 'ENOTDIR';
  // The name of a file as a function gives it.
  const named = (name, { encoding }) => (isPlain(encoding) ? name : checks().named(name, encoding));

  const bufferOf = (bytes) => shared.modules.buffer.Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

  function decode(bytes, encoding) {
    if (encoding === undefined || encoding === null || encoding === 'buffer') return bufferOf(bytes);
    if (isPlain(encoding)) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    return bufferOf(bytes).toString(encoding);
  }

  // The bytes of what is to be written.
  function encode(data, encoding, argument = 'data') {
    if (typeof data === 'string') return isPlain(encoding) || encoding === 'buffer' ? encoder.encode(data) : shared.modules.buffer.Buffer.from(data, encoding);
    if (ArrayBuffer.isView(data)) return data instanceof Uint8Array ? data : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    throw checks().noData(argument, data);
  }

  // An error of the system, as that of another operation.
  function asOf(error, syscall, path, dest) {
    if (error.errno === undefined) return error;
    const words = error.message.slice(0, error.message.indexOf(', '));
    error.message = `${words}, ${syscall}${path === undefined ? '' : ` '${path}'`}${dest === undefined ? '' : ` -> '${dest}'`}`;
    Object.assign(error, { syscall, path });
    return dest === undefined ? error : Object.assign(error, { dest });
  }

  function tryAs(work, syscall, path, dest) {
    try {
      return work();
    } catch (error) {
      throw asOf(error, syscall, path, dest);
    }
  }

  const warnings = new Set();
  function warnOnce(message, ...kind) {
    if (warnings.has(message)) return;
    warnings.add(message);
    shared.modules.process.emitWarning(message, ...kind);
  }

  const KIND = 0o170000;
  const kinds = { Directory: 0o040000, File: 0o100000, SymbolicLink: 0o120000, CharacterDevice: 0o020000, BlockDevice: 0o060000, FIFO: 0o010000, Socket: 0o140000 };
  const modes = { directory: 0o40755, file: 0o100644, link: 0o120777, device: 0o20666 };
  const BLOCK = 4096;
  const SECTOR = 512;

  class Stats {
    constructor(dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks, atimeMs, mtimeMs, ctimeMs, birthtimeMs) {
      this.dev = dev;
      this.mode = mode;
      this.nlink = nlink;
      this.uid = uid;
      this.gid = gid;
      this.rdev = rdev;
      this.blksize = blksize;
      this.ino = ino;
      this.size = size;
      this.blocks = blocks;
      this.atimeMs = atimeMs;
      this.mtimeMs = mtimeMs;
      this.ctimeMs = ctimeMs;
      this.birthtimeMs = birthtimeMs;
      this.atime = new Date(atimeMs);
      this.mtime = new Date(mtimeMs);
      this.ctime = new Date(ctimeMs);
      this.birthtime = new Date(birthtimeMs);
    }
  }
  for (const [name, mode] of Object.entries(kinds)) {
    const method = `is${name}`;
    Stats.prototype[method] = { [method]() { return (Number(this.mode) & KIND) === mode; } }[method];
  }

  // Of the fields as `stat` of files.c gives them.
  function statsOf(fields, options) {
    const { process } = shared.modules;
    const size = fields[1];
    const stats = new Stats(fields[7], modes[fields[0]], fields[6], process.getuid(), process.getgid(), 0, BLOCK, fields[5], size, Math.ceil(size / SECTOR), fields[3], fields[2], fields[4], fields[4]);
    return options?.bigint ? shared.library('internal/file_stats')(stats, fields.slice(8)) : stats;
  }

  const types = { file: 1, directory: 2, link: 3, fifo: 4, socket: 5, device: 6, block: 7 };
  const typed = { File: types.file, Directory: types.directory, SymbolicLink: types.link, FIFO: types.fifo, Socket: types.socket, CharacterDevice: types.device, BlockDevice: types.block };
  const type = Symbol('type');

  class Dirent {
    constructor(name, kind, path) {
      this.name = name;
      this.parentPath = path;
      this.path = path;
      this[type] = kind;
    }
  }
  for (const [name, kind] of Object.entries(typed)) {
    const method = `is${name}`;
    Dirent.prototype[method] = { [method]() { return this[type] === kind; } }[method];
  }
  const entryOf = (name, kind, path) => new Dirent(name, types[kind] ?? 0, path);

  const aborted = (signal) => checks().aborted(signal);
  const signalOf = (values) => {
    const options = values[values.length - 1];
    return typeof options === 'object' && options !== null && !ArrayBuffer.isView(options) ? options.signal : undefined;
  };

  // A function with a callback, which gets what `answers` makes of the result. The work looks at its arguments at once and gives back
  // what is then to be done.
  function withCallback(name, work, answers, otherwise) {
    return {
      [name](...values) {
        let callback = values.pop();
        while (typeof callback !== 'function' && values.length && callback === undefined) callback = values.pop();
        if (typeof callback !== 'function') {
          work(...values, callback);
          if (!values.length) callback = undefined;
          callback = (callback === undefined && otherwise) || checks().needFunction('cb', callback);
        }
        const act = work(...values);
        const signal = signalOf(values);
        setImmediate(() => {
          let value;
          try {
            if (signal?.aborted) throw aborted(signal);
            value = act();
          } catch (error) {
            callback(error);
            return;
          }
          if (answers) callback(null, ...answers(value, values));
          else if (value === undefined) callback(null);
          else callback(null, value);
        });
      },
    }[name];
  }

  const turn = () => new Promise((resolve) => setImmediate(resolve));

  // One that answers by a promise.
  function withPromise(name, work) {
    return {
      async [name](...values) {
        const act = work(...values);
        const signal = signalOf(values);
        if (!signal) return act();
        if (!signal.aborted) await turn();
        if (signal.aborted) throw aborted(signal);
        return act();
      },
    }[name];
  }

  const withoutCallback = (name, work) => ({ [name]: (...values) => work(...values)() })[name];

  const constants = Object.assign(Object.create(null), {
    UV_FS_SYMLINK_DIR: 1, UV_FS_SYMLINK_JUNCTION: 2, O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2,
    UV_DIRENT_UNKNOWN: 0, UV_DIRENT_FILE: 1, UV_DIRENT_DIR: 2, UV_DIRENT_LINK: 3, UV_DIRENT_FIFO: 4, UV_DIRENT_SOCKET: 5, UV_DIRENT_CHAR: 6, UV_DIRENT_BLOCK: 7,
    S_IFMT: KIND, S_IFREG: kinds.File, S_IFDIR: kinds.Directory, S_IFCHR: kinds.CharacterDevice, S_IFBLK: kinds.BlockDevice, S_IFIFO: kinds.FIFO, S_IFLNK: kinds.SymbolicLink, S_IFSOCK: kinds.Socket,
    O_CREAT: 0o100, O_EXCL: 0o200, UV_FS_O_FILEMAP: 0, O_NOCTTY: 0o400, O_TRUNC: 0o1000, O_APPEND: 0o2000, O_DIRECTORY: 0o200000, O_NOATIME: 0o1000000, O_NOFOLLOW: 0o400000,
    O_SYNC: 0o4010000, O_DSYNC: 0o10000, O_DIRECT: 0o40000, O_NONBLOCK: 0o4000,
    S_IRWXU: 0o700, S_IRUSR: 0o400, S_IWUSR: 0o200, S_IXUSR: 0o100, S_IRWXG: 0o70, S_IRGRP: 0o40, S_IWGRP: 0o20, S_IXGRP: 0o10, S_IRWXO: 7, S_IROTH: 4, S_IWOTH: 2, S_IXOTH: 1,
    F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1,
    UV_FS_COPYFILE_EXCL: 1, COPYFILE_EXCL: 1, UV_FS_COPYFILE_FICLONE: 2, COPYFILE_FICLONE: 2, UV_FS_COPYFILE_FICLONE_FORCE: 4, COPYFILE_FICLONE_FORCE: 4,
  });
  const fs = {};
  const promises = { constants };

  // `stat` comes as `stat` with a callback, as `statSync`, and as a promise.
  function offerOpen(works, answers) {
    for (const [name, work] of Object.entries(works)) {
      fs[`${name}Sync`] = withoutCallback(`${name}Sync`, work);
      fs[name] = withCallback(name, work, answers);
    }
  }
  function offer(works) {
    offerOpen(works);
    for (const [name, work] of Object.entries(works)) promises[name] = withPromise(name, work);
  }

  Object.assign(fs, { Stats, Dirent, promises });
  for (const name of ['F_OK', 'R_OK', 'W_OK', 'X_OK']) Object.defineProperty(fs, name, { value: constants[name], enumerable: true });
  Object.defineProperty(fs, 'constants', { value: constants, enumerable: true });
  shared.modules.fs = fs;
  shared.modules['fs/promises'] = promises;
  shared.files = { asOf, checks, decode, encode, entryOf, isMissing, modeOf, nameOf, named, offer, offerOpen, optionsOf, statsOf, tryAs, turn, warnOnce, withCallback };
})
