// The module `fs`: the synchronous functions of Node's that agents use, and the same as promises.
(function (native, shared) {
  'use strict';
  // Those that are there now: a snippet may have others of these names.
  const { TextDecoder, URL } = globalThis;
  const { list, makeFolder, makeLink, readFile, readLink, removeFile, removeFolder, rename, stat, writeFile } = native;
  const { path: paths } = shared.modules;
  const encoder = new TextEncoder();

  const nameOf = (path) =>
    path === 0 ? '/dev/stdin' : path instanceof URL ? decodeURIComponent(path.pathname) : path;
  const encodingOf = (options) => (typeof options === 'string' ? options : options?.encoding);
  const isMissing = (error) => error.code === 'ENOENT' || error.code === 'ENOTDIR';

  function decode(bytes, encoding) {
    switch (encoding) {
      case undefined:
      case null:
      case 'buffer':
        return shared.modules.buffer.Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      case 'base64':
        return bytes.toBase64();
      case 'hex':
        return bytes.toHex();
      case 'latin1':
      case 'binary':
      case 'ascii': {
        let text = '';
        for (const byte of bytes) text += String.fromCharCode(byte);
        return text;
      }
      default:
        return new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes);
    }
  }

  function encode(data, encoding) {
    if (typeof data === 'string') {
      if (encoding === 'base64') return Uint8Array.fromBase64(data);
      if (encoding === 'hex') return Uint8Array.fromHex(data);
      if (encoding === 'latin1' || encoding === 'binary') return Uint8Array.from(data, (unit) => unit.charCodeAt(0));
      return encoder.encode(data);
    }
    if (data instanceof ArrayBuffer || ArrayBuffer.isView(data)) return data;
    const error = new TypeError('the data must be a string, an ArrayBuffer or a view of one');
    error.code = 'ERR_INVALID_ARG_TYPE';
    throw error;
  }

  const modes = { directory: 0o40755, file: 0o100644, link: 0o120777, device: 0o20666 };

  class Stats {
    #kind;
    constructor([kind, size, mtimeMs, atimeMs, ctimeMs, ino, nlink]) {
      this.#kind = kind;
      Object.assign(this, { ino, nlink, size, mode: modes[kind] });
      Object.assign(this, { atimeMs, mtimeMs, ctimeMs, birthtimeMs: ctimeMs });
      this.atime = new Date(atimeMs);
      this.mtime = new Date(mtimeMs);
      this.ctime = this.birthtime = new Date(ctimeMs);
    }
    isFile() {
      return this.#kind === 'file';
    }
    isDirectory() {
      return this.#kind === 'directory';
    }
    isSymbolicLink() {
      return this.#kind === 'link';
    }
    isCharacterDevice() {
      return this.#kind === 'device';
    }
  }

  class Dirent {
    #kind;
    constructor(name, kind, parentPath) {
      this.#kind = kind;
      this.name = name;
      this.parentPath = parentPath;
    }
    isFile() {
      return this.#kind === 'file';
    }
    isDirectory() {
      return this.#kind === 'directory';
    }
    isSymbolicLink() {
      return this.#kind === 'link';
    }
  }

  function save(path, data, options, append) {
    const flag = options?.flag ?? (append ? 'a' : 'w');
    writeFile(nameOf(path), encode(data, encodingOf(options)), flag.startsWith('a'), flag.includes('x'));
  }

  function listFolder(path, options, prefix = '') {
    const found = [];
    for (const [name, kind] of list(path).sort(([a], [b]) => (a < b ? -1 : 1))) {
      found.push(options?.withFileTypes ? new Dirent(name, kind, path) : prefix + name);
      if (options?.recursive && kind === 'directory') {
        found.push(...listFolder(`${path}/${name}`, options, `${prefix}${name}/`));
      }
    }
    return found;
  }

  function removeTree(path, force) {
    let kind;
    try {
      [kind] = stat(path, false);
    } catch (error) {
      if (force && isMissing(error)) return;
      throw error;
    }
    if (kind !== 'directory') return removeFile(path);
    for (const [name] of list(path)) removeTree(`${path}/${name}`, force);
    removeFolder(path);
  }

  function refuse(code, message) {
    const error = new Error(message);
    error.code = code;
    throw error;
  }

  // What stands at a path, or undefined.
  function kindAt(path, follow) {
    try {
      return stat(path, follow)[0];
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  function copyTree(from, to, options) {
    if (options.filter && !options.filter(from, to)) return;
    const [kind] = stat(from, options.dereference === true);
    const there = kindAt(to, options.dereference === true);
    if (kind === 'directory') {
      if (!options.recursive) refuse('ERR_FS_EISDIR', `Recursive option not enabled, cannot copy a directory: ${from}`);
      if (there && there !== 'directory') refuse('ERR_FS_CP_DIR_TO_NON_DIR', `Cannot overwrite non-directory ${to} with directory ${from}`);
      // Listed before the folder is made.
      const names = list(from);
      if (!there) makeFolder(to);
      for (const [name] of names) copyTree(paths.join(from, name), paths.join(to, name), options);
      return;
    }
    if (there === 'directory') refuse('ERR_FS_CP_NON_DIR_TO_DIR', `Cannot overwrite directory ${to} with non-directory ${from}`);
    if (there && options.force === false) {
      if (options.errorOnExist) refuse('ERR_FS_CP_EEXIST', `Target already exists: ${to}`);
      return;
    }
    if (kind !== 'link') return writeFile(to, readFile(from), false, false);
    const target = readLink(from);
    if (there) removeFile(to);
    makeLink(target, to);
  }

  const constants = { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 };
  const synchronous = {
    readFileSync(path, options) {
      return decode(new Uint8Array(readFile(nameOf(path))), encodingOf(options));
    },
    writeFileSync(path, data, options) {
      save(path, data, options, false);
    },
    appendFileSync(path, data, options) {
      save(path, data, options, true);
    },
    existsSync(path) {
      try {
        stat(nameOf(path), true);
        return true;
      } catch {
        return false;
      }
    },
    accessSync(path) {
      stat(nameOf(path), true);
    },
    readdirSync(path, options) {
      return listFolder(nameOf(path), options);
    },
    statSync(path, options) {
      try {
        return new Stats(stat(nameOf(path), true));
      } catch (error) {
        if (options?.throwIfNoEntry === false && isMissing(error)) return undefined;
        throw error;
      }
    },
    lstatSync(path) {
      return new Stats(stat(nameOf(path), false));
    },
    mkdirSync(path, options) {
      if (!options?.recursive) return makeFolder(nameOf(path));
      let first;
      let folder = nameOf(path)[0] === '/' ? '/' : '';
      for (const part of paths.normalize(nameOf(path)).split('/').filter(Boolean)) {
        folder += folder === '' || folder === '/' ? part : `/${part}`;
        try {
          if (stat(folder, true)[0] === 'directory') continue;
        } catch (error) {
          if (error.code !== 'ENOENT') throw error;
        }
        makeFolder(folder);
        first ??= folder;
      }
      return first;
    },
    rmdirSync(path, options) {
      if (options?.recursive) removeTree(nameOf(path), false);
      else removeFolder(nameOf(path));
    },
    rmSync(path, options) {
      const name = nameOf(path);
      if (options?.recursive) removeTree(name, options.force);
      else if (synchronous.existsSync(name) || !options?.force) {
        if (stat(name, false)[0] === 'directory') {
          const error = new Error(`EISDIR: illegal operation on a directory, rm '${name}'`);
          error.code = 'EISDIR';
          throw error;
        }
        removeFile(name);
      }
    },
    unlinkSync(path) {
      removeFile(nameOf(path));
    },
    renameSync(from, to) {
      rename(nameOf(from), nameOf(to));
    },
    copyFileSync(from, to) {
      writeFile(nameOf(to), readFile(nameOf(from)), false, false);
    },
    cpSync(from, to, options) {
      const [source, target] = [paths.resolve(nameOf(from)), paths.resolve(nameOf(to))];
      if (target === source || target.startsWith(`${source}/`)) {
        refuse('ERR_FS_CP_EINVAL', `Cannot copy ${source} to itself or to a folder in it: ${target}`);
      }
      synchronous.mkdirSync(paths.dirname(target), { recursive: true });
      copyTree(source, target, options ?? {});
    },
    truncateSync(path, length = 0) {
      const bytes = new Uint8Array(Math.max(0, length));
      bytes.set(new Uint8Array(readFile(nameOf(path))).subarray(0, bytes.length));
      writeFile(nameOf(path), bytes, false, false);
    },
    symlinkSync(target, path) {
      makeLink(nameOf(target), nameOf(path));
    },
    readlinkSync(path) {
      return readLink(nameOf(path));
    },
  };

  // A function with a callback, which gets what `answers` makes of the result.
  const withCallback =
    (name, work, answers = (value) => [value]) =>
    (...values) => {
      const callback = values.pop();
      if (typeof callback !== 'function') throw new TypeError(`fs.${name} needs a callback; fs.${name}Sync does not`);
      (async () => work(...values))().then((value) => callback(null, ...answers(value, values)), callback);
    };

  const fs = { constants };
  const promises = { constants };
  // `readFileSync` and so on; `readFile` as a promise, and with a callback.
  function offer(functions) {
    for (const [name, work] of Object.entries(functions)) {
      const short = name.slice(0, -4);
      fs[name] = work;
      fs[short] = withCallback(short, work);
      promises[short] = async (...values) => work(...values);
    }
  }
  offer(synchronous);
  fs.promises = promises;
  shared.modules.fs = fs;
  shared.modules['fs/promises'] = promises;
  shared.files = { Dirent, Stats, decode, encode, encodingOf, offer, withCallback };
})
