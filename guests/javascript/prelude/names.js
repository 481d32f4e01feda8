// The module `fs`, of what has a name: folders, links, times and permissions; and, evaluated when they are first used, its streams.
(function (native, shared) {
  'use strict';
  // Those that are there now: a snippet may have others of these names.
  const { crypto, setImmediate } = globalThis;
  const { canBeWritten, hardLink, list, makeFolder, makeLink, readFile, readLink, removeFile, removeFolder, rename, setTimes, stat, writeFile } = native;
  const { checks, entryOf, isMissing, modeOf, nameOf, named, offer, optionsOf, statsOf, tryAs, warnOnce } = shared.files;
  const { fs, 'fs/promises': promises, path: paths } = shared.modules;
  const { R_OK, W_OK, X_OK, COPYFILE_EXCL } = fs.constants;

  const refusal = (code, words, syscall, path) => Object.assign(new Error(`${code}: ${words}, ${syscall} '${path}'`), { errno: -shared.modules.os.constants.errno[code], code, syscall, path });

  function refuse(code, message) {
    throw Object.assign(new Error(message), { code });
  }

  function listFolder(path, options, prefix = '') {
    const found = [];
    for (const [name, kind] of list(path).sort(([a], [b]) => (a < b ? -1 : 1))) {
      found.push(options.withFileTypes ? entryOf(named(name, options), kind, path) : named(prefix + name, options));
      if (options.recursive && kind === 'directory') found.push(...listFolder(paths.join(path, name), options, `${prefix}${name}/`));
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
    const about = stat(from, options.dereference === true);
    const [kind] = about;
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
    if (kind === 'link') {
      const target = readLink(from);
      if (there) removeFile(to);
      makeLink(target, to);
      return;
    }
    writeFile(to, readFile(from), false, false);
    if (options.preserveTimestamps) setTimes(to, about[3] / 1000, about[2] / 1000, true);
  }

  // Without a link in it, as far as the path leads.
  function real(path, left = 40) {
    let done = '/';
    const parts = paths.resolve(path).split('/').filter(Boolean);
    while (parts.length) {
      const next = paths.join(done, parts.shift());
      if (stat(next, false)[0] !== 'link') {
        done = next;
        continue;
      }
      if (left-- <= 0) throw refusal('ELOOP', 'too many symbolic links encountered', 'realpath', path);
      return real([paths.resolve(done, readLink(next)), ...parts].join('/'), left);
    }
    return done;
  }

  // Folders on the way are made, too; the first of them is the answer.
  function makeFolders(path) {
    let first;
    for (const part of path.matchAll(/[^/]+/g)) {
      const end = part.index + part[0].length;
      const folder = path.slice(0, end);
      const kind = kindAt(folder, true);
      if (kind === 'directory') continue;
      if (kind) throw /[^/]/.test(path.slice(end)) ? refusal('ENOTDIR', 'not a directory', 'mkdir', path) : refusal('EEXIST', 'file already exists', 'mkdir', path);
      makeFolder(folder);
      first ??= folder;
    }
    return first;
  }

  const digits = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

  function makeUnique(prefix) {
    for (;;) {
      const name = prefix + Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => digits[byte % digits.length]).join('');
      if (kindAt(name, false)) continue;
      tryAs(() => makeFolder(name), 'mkdtemp', `${prefix}XXXXXX`);
      return name;
    }
  }

  function removeAny(name, { recursive, force }) {
    if (recursive) return removeTree(name, force);
    const kind = force ? kindAt(name, false) : stat(name, false)[0];
    if (kind === 'directory') {
      const error = Object.assign(new Error(`Path is a directory: rm returned EISDIR (is a directory) ${name}`), { code: 'ERR_FS_EISDIR', errno: 21, syscall: 'rm', path: name });
      throw Object.defineProperty(error, 'name', { value: 'SystemError', configurable: true });
    }
    if (kind) removeFile(name);
  }

  const askingFor = (follow) => (path, options) => {
    const name = nameOf(path);
    return () => {
      try {
        return statsOf(stat(name, follow), options);
      } catch (error) {
        if (options?.throwIfNoEntry === false && isMissing(error)) return undefined;
        throw error;
      }
    };
  };

  const ofTwo = (syscall, act, first, second) => (from, to) => {
    const names = [nameOf(from, first), nameOf(to, second)];
    return () => tryAs(() => act(...names), syscall, ...names);
  };

  const timing = (follow) => (path, accessed, modified) => {
    const name = nameOf(path);
    const times = [checks().time(accessed, 'atime'), checks().time(modified, 'mtime')];
    return () => setTimes(name, ...times, follow);
  };

  // Files have no owner of their own here: what is there may be told so, and nothing changes.
  const owning = (follow) => (path, user, group) => {
    const name = nameOf(path);
    checks().owner(user, group);
    return () => void tryAs(() => stat(name, follow), follow ? 'chown' : 'lchown', name);
  };

  const linkKinds = [undefined, null, 'dir', 'file', 'junction'];

  offer({
    access(path, mode = 0) {
      const name = nameOf(path);
      const wanted = mode === null ? 0 : checks().number('mode', mode, R_OK | W_OK | X_OK);
      return () => {
        const [kind] = tryAs(() => stat(name, true), 'access', name);
        if (wanted & W_OK && !canBeWritten(name)) throw refusal('EACCES', 'permission denied', 'access', name);
        // What runs a file here looks at its first line, not at its permissions: none has one.
        if (wanted & X_OK && !(wanted & R_OK) && kind !== 'directory') throw refusal('EACCES', 'permission denied', 'access', name);
      };
    },
    stat: askingFor(true),
    lstat: askingFor(false),
    statfs(path, options) {
      const name = nameOf(path);
      return () => {
        tryAs(() => stat(name, true), 'statfs', name);
        const numbers = { type: 0, bsize: 4096, blocks: 0, bfree: 0, bavail: 0, files: 0, ffree: 0 };
        return options?.bigint ? Object.fromEntries(Object.entries(numbers).map(([key, value]) => [key, BigInt(value)])) : numbers;
      };
    },
    readdir(path, options) {
      const name = nameOf(path);
      const settings = optionsOf(options);
      if (settings.recursive !== undefined && typeof settings.recursive !== 'boolean') checks().boolean('options.recursive', settings.recursive);
      return () => listFolder(name, settings);
    },
    mkdir(path, options) {
      const name = nameOf(path);
      const { recursive, mode } = typeof options === 'object' && options !== null ? options : { mode: options };
      if (recursive !== undefined && typeof recursive !== 'boolean') checks().boolean('options.recursive', recursive);
      modeOf(mode);
      return () => (recursive ? makeFolders(name) : makeFolder(name));
    },
    mkdtemp(prefix, options) {
      const name = nameOf(prefix, 'prefix');
      const settings = optionsOf(options);
      if (name.endsWith('X')) warnOnce('mkdtemp() templates ending with X are not portable. For details see: https://nodejs.org/api/fs.html');
      return () => named(makeUnique(name), settings);
    },
    rmdir(path, options) {
      const name = nameOf(path);
      const isTree = options !== undefined && options !== null && checks().removal(options).recursive;
      if (isTree) warnOnce('In future versions of Node.js, fs.rmdir(path, { recursive: true }) will be removed. Use fs.rm(path, { recursive: true }) instead', 'DeprecationWarning', 'DEP0147');
      return () => (isTree && stat(name, false)[0] === 'directory' ? removeTree(name, false) : removeFolder(name));
    },
    rm(path, options) {
      const name = nameOf(path);
      const settings = options === undefined ? {} : checks().removal(options);
      return () => removeAny(name, settings);
    },
    unlink(path) {
      const name = nameOf(path);
      return () => removeFile(name);
    },
    rename: ofTwo('rename', rename, 'oldPath', 'newPath'),
    link: ofTwo('link', hardLink, 'existingPath', 'newPath'),
    symlink(target, path, type) {
      if (!linkKinds.includes(type)) throw Object.assign(new Error(`Symlink type must be one of "dir", "file", or "junction". Received "${type}"`), { code: 'ERR_FS_INVALID_SYMLINK_TYPE' });
      return ofTwo('symlink', makeLink, 'target', 'path')(target, path);
    },
    readlink(path, options) {
      const name = nameOf(path);
      const settings = optionsOf(options);
      return () => named(readLink(name), settings);
    },
    realpath(path, options) {
      const name = nameOf(path);
      const settings = optionsOf(options);
      return () => named(real(name), settings);
    },
    copyFile(from, to, mode) {
      const names = [nameOf(from, 'src'), nameOf(to, 'dest')];
      const isNew = mode !== undefined && mode !== null && checks().number('mode', mode, 7) & COPYFILE_EXCL;
      return () => tryAs(() => writeFile(names[1], readFile(names[0]), false, Boolean(isNew)), 'copyfile', ...names);
    },
    cp(from, to, options) {
      const [source, target] = [paths.resolve(nameOf(from, 'src')), paths.resolve(nameOf(to, 'dest'))];
      const settings = checks().object('options', options);
      return () => {
        if (target === source || target.startsWith(`${source}/`)) refuse('ERR_FS_CP_EINVAL', `Cannot copy ${source} to itself or to a folder in it: ${target}`);
        makeFolders(paths.dirname(target));
        copyTree(source, target, settings);
      };
    },
    utimes: timing(true),
    lutimes: timing(false),
    // As with owners.
    chmod(path, mode) {
      const name = nameOf(path);
      checks().mode(mode);
      return () => void tryAs(() => stat(name, true), 'chmod', name);
    },
    chown: owning(true),
    lchown: owning(false),
    opendir(path, options) {
      return shared.library('internal/folders').opening(nameOf(path), options);
    },
  });

  // Of a path that does not exist, no error.
  fs.existsSync = function existsSync(path) {
    try {
      stat(nameOf(path), true);
      return true;
    } catch {
      return false;
    }
  };
  fs.exists = function exists(path, callback) {
    checks().needFunction('cb', callback);
    setImmediate(() => callback(fs.existsSync(path)));
  };
  Object.defineProperty(fs.exists, Symbol.for('nodejs.util.promisify.custom'), { value: async (path) => fs.existsSync(path), configurable: true });
  fs.realpath.native = fs.realpath;
  fs.realpathSync.native = fs.realpathSync;
  fs.lchmod = fs.lchmodSync = undefined;
  promises.lchmod = async function lchmod() {
    refuse('ERR_METHOD_NOT_IMPLEMENTED', 'The lchmod() method is not implemented');
  };
  fs._toUnixTimestamp = (time, name) => checks().time(time, name);
  fs.openAsBlob = async function openAsBlob(path, options) {
    return new shared.modules.buffer.Blob([fs.readFileSync(path)], options);
  };

  const unwatched = () => Object.assign(new Error('files cannot be watched in this sandbox'), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' });
  fs.watch = fs.watchFile = () => {
    throw unwatched();
  };
  fs.unwatchFile = () => {};
  promises.watch = async function* () {
    throw unwatched();
  };

  for (const name of ['createReadStream', 'createWriteStream']) fs[name] = { [name]: (...values) => shared.library('internal/file_streams')[name](...values) }[name];
  // What is evaluated when it is first asked for, and may be replaced.
  function lazily(name, module, original) {
    const set = (value) => Object.defineProperty(fs, name, { value, writable: true, enumerable: true, configurable: true });
    Object.defineProperty(fs, name, { get: () => shared.library(module)[original], set, enumerable: true, configurable: true });
  }
  for (const name of ['ReadStream', 'WriteStream', 'FileReadStream', 'FileWriteStream']) lazily(name, 'internal/file_streams', name.replace('File', ''));
  lazily('Dir', 'internal/folders', 'Dir');
})
