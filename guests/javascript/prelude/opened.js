// The module `fs`, of what is in files: whole, and by descriptors of open ones.
(function (native, shared) {
  'use strict';
  const { URL } = globalThis;
  const { closeFile, openFile, readFile, readOpen, resizeOpen, setOpenTimes, statOpen, syncFile, writeFile, writeOpen } = native;
  const { checks, decode, encode, modeOf, nameOf, offer, offerOpen, optionsOf, statsOf, tryAs, warnOnce, withCallback } = shared.files;
  const { fs, 'fs/promises': promises } = shared.modules;
  // Of one read, where the caller has no place for the bytes.
  const PIECE = 16384;
  const MOST_INT32 = 2 ** 31 - 1;

  const { O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_SYNC } = fs.constants;
  const flagNames = Object.assign(Object.create(null), { r: O_RDONLY, 'r+': O_RDWR });
  for (const [name, more] of Object.entries({ w: O_CREAT | O_TRUNC, a: O_CREAT | O_APPEND })) {
    for (const each of [name, `${name}x`, `x${name}`]) {
      const flags = more | (each === name ? 0 : O_EXCL);
      flagNames[each] = O_WRONLY | flags;
      flagNames[`${each}+`] = O_RDWR | flags;
    }
  }
  for (const name of ['r', 'a']) {
    for (const end of ['', '+']) flagNames[`${name}s${end}`] = flagNames[`s${name}${end}`] = flagNames[name + end] | O_SYNC;
  }

  // Those that were opened here. A snippet can name them and the standard streams, and nothing of the interpreter's own.
  const opened = new Set();

  const flagsOf = (flags) => (flags === undefined || flags === null ? O_RDONLY : (flagNames[typeof flags === 'string' ? flags : ''] ?? checks().flags(flags)));

  const fileOf = (given) => (typeof given === 'number' && given >= 0 && given <= MOST_INT32 && given % 1 === 0 ? given : checks().descriptor(given));

  // A descriptor that may be used.
  function known(descriptor, operation) {
    if (opened.has(descriptor) || descriptor <= 2) return descriptor;
    const error = new Error(`EBADF: bad file descriptor, ${operation}`);
    throw Object.assign(error, { errno: -9, code: 'EBADF', syscall: operation });
  }

  const isWhole = (value) => typeof value === 'number' && value >= 0 && Number.isSafeInteger(value);
  const bytesOf = (view, offset, length) => new Uint8Array(view.buffer, view.byteOffset + offset, length);
  // From where: nothing says that it is from where the file is.
  const toRead = (position, length) => (position === undefined || position === null || isWhole(position) ? (position ?? undefined) : checks().position(position, length));
  const toWrite = (position) => (typeof position === 'number' || typeof position === 'bigint' ? (position < 0 ? undefined : Number(position)) : undefined);

  const isOptions = (value) => typeof value === 'object' && value !== null;

  function reading(file, view, offset, length, position) {
    fileOf(file);
    if (!ArrayBuffer.isView(view)) checks().view(view);
    if (isOptions(offset)) ({ offset, length, position } = checks().object('options', offset));
    const begin = offset ?? 0;
    const most = view.byteLength;
    const count = length !== undefined && length !== null ? length | 0 : isWhole(begin) ? most - begin : 0;
    if (!isWhole(begin) || count < 0 || !most || begin + count > most) checks().readPart(begin, count, most, view);
    const place = toRead(position, count);
    return () => (count === 0 ? 0 : readOpen(known(file, 'read'), bytesOf(view, begin, count), place));
  }

  function writingView(file, view, offset, length, position) {
    if (isOptions(offset)) ({ offset, length, position } = checks().object('options', offset));
    const begin = offset ?? 0;
    const most = view.byteLength;
    const count = typeof length === 'number' ? length : isWhole(begin) ? most - begin : 0;
    if (!isWhole(begin) || !isWhole(count) || begin + count > most) checks().writePart(begin, count, most);
    const place = toWrite(position);
    return () => writeOpen(known(file, 'write'), bytesOf(view, begin, count), place);
  }

  function writing(file, data, ...where) {
    fileOf(file);
    if (ArrayBuffer.isView(data)) return writingView(file, data, ...where);
    if (typeof data !== 'string') throw checks().noData('buffer', data);
    const [position, encoding] = where;
    checks().text(data, encoding);
    const bytes = encode(data, encoding);
    return () => writeOpen(known(file, 'write'), bytes, toWrite(position));
  }

  // Several buffers after one another: as many as the file gives or takes.
  function each(move, operation, file, views, position) {
    fileOf(file);
    checks().views(views);
    const begin = toWrite(position);
    return () => {
      let moved = 0;
      for (const view of views) {
        if (!view.byteLength) continue;
        const count = move(known(file, operation), bytesOf(view, 0, view.byteLength), begin === undefined ? undefined : begin + moved);
        moved += count;
        if (count < view.byteLength) break;
      }
      return moved;
    };
  }

  function writeAll(file, bytes) {
    for (let at = 0; at < bytes.length; ) at += writeOpen(known(file, 'write'), bytes.subarray(at));
  }

  function readAll(file) {
    const pieces = [];
    for (;;) {
      const piece = new Uint8Array(PIECE);
      const length = readOpen(known(file, 'read'), piece);
      if (!length) break;
      pieces.push(piece.subarray(0, length));
    }
    const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  function openAs(name, flags) {
    const file = openFile(name, flags);
    opened.add(file);
    return file;
  }

  // What is done with a file that is open for its time alone.
  function during(name, flags, work) {
    const file = openAs(name, flags);
    try {
      return work(file);
    } finally {
      close(file);
    }
  }

  function close(file) {
    known(file, 'close');
    if (opened.delete(file)) closeFile(file);
  }

  function readingWhole(path, options) {
    const settings = optionsOf(options);
    const flags = flagsOf(settings.flag);
    if (typeof path === 'number') {
      const file = fileOf(path);
      return () => decode(readAll(file), settings.encoding);
    }
    const name = nameOf(path);
    if (flags === O_RDONLY) return () => decode(new Uint8Array(readFile(name)), settings.encoding);
    return () => decode(during(name, flags, readAll), settings.encoding);
  }

  // Flags that the host does in one go: whether to append, and whether the file must be new.
  const direct = { w: [false, false], wx: [false, true], xw: [false, true], a: [true, false], ax: [true, true], xa: [true, true] };

  function writingWhole(path, data, options, usual) {
    const settings = optionsOf(options);
    const flag = settings.flag || usual;
    const flags = flagsOf(flag);
    modeOf(settings.mode);
    const flush = settings.flush !== undefined && checks().flush(settings.flush);
    const bytes = encode(data, settings.encoding);
    if (typeof path === 'number') {
      const file = fileOf(path);
      return () => writeAll(file, bytes);
    }
    const name = nameOf(path);
    const how = !flush && typeof flag === 'string' && direct[flag];
    if (how) return () => writeFile(name, bytes, ...how);
    return () =>
      during(name, flags, (file) => {
        writeAll(file, bytes);
        if (flush) fs.fsyncSync(file);
      });
  }

  offer({
    readFile: readingWhole,
    writeFile: (path, data, options) => writingWhole(path, data, options, 'w'),
    appendFile: (path, data, options) => writingWhole(path, data, options, 'a'),
    truncate(path, length = 0) {
      if (typeof path === 'number') {
        warnOnce('Using fs.truncate with a file descriptor is deprecated. Please use fs.ftruncate with a file descriptor instead.', 'DeprecationWarning', 'DEP0081');
        return truncating(path, length);
      }
      const name = nameOf(path);
      const size = checks().lengthOf(length);
      return () => during(name, O_RDWR, (file) => tryAs(() => resizeOpen(file, size), 'ftruncate'));
    },
  });

  function truncating(given, length = 0) {
    const file = fileOf(given);
    const size = checks().lengthOf(length);
    return () => resizeOpen(known(file, 'ftruncate'), size);
  }

  // What is done with an open file and has no arguments of its own.
  const plainly = (operation, act) => (given) => {
    const file = fileOf(given);
    return () => act(known(file, operation));
  };

  offerOpen({
    open(path, flags, mode) {
      const name = nameOf(path);
      const how = flagsOf(flags);
      modeOf(mode);
      return () => openAs(name, how);
    },
    fstat(given, options) {
      const file = fileOf(given);
      return () => statsOf(statOpen(known(file, 'fstat')), options);
    },
    ftruncate: truncating,
    fsync: plainly('fsync', syncFile),
    fdatasync: plainly('fdatasync', (file) => tryAs(() => syncFile(file), 'fdatasync')),
    // Files have no permissions and no owner of their own here: what is there may be told so, and nothing changes.
    fchmod(given, mode) {
      const file = fileOf(given);
      checks().mode(mode);
      return () => void known(file, 'fchmod');
    },
    fchown(given, user, group) {
      const file = fileOf(given);
      checks().owner(user, group);
      return () => void known(file, 'fchown');
    },
    futimes(given, accessed, modified) {
      const file = fileOf(given);
      const times = [checks().time(accessed, 'atime'), checks().time(modified, 'mtime')];
      return () => setOpenTimes(known(file, 'futime'), ...times);
    },
  });

  const closing = (given) => {
    const file = fileOf(given);
    return () => close(file);
  };
  fs.closeSync = function closeSync(file) {
    closing(file)();
  };
  fs.close = withCallback('close', closing, undefined, (error) => {
    if (error) throw error;
  });

  fs.readSync = function readSync(file, view, ...where) {
    // A number after the buffer is an offset, with a length after it.
    if (where.length === 1 && where[0] !== undefined) where[0] = checks().object('options', where[0]);
    return reading(file, view, ...where)();
  };
  fs.writeSync = function writeSync(file, data, ...where) {
    return writing(file, data, ...where)();
  };
  fs.readvSync = function readvSync(file, views, position) {
    return each(readOpen, 'read', file, views, position)();
  };
  fs.writevSync = function writevSync(file, views, position) {
    return each(writeOpen, 'write', file, views, position)();
  };

  // The buffer may be left out: then there is a new one.
  function withBuffer(given) {
    if (ArrayBuffer.isView(given[1])) {
      if (given.length === 3 && given[2] !== undefined) given[2] = checks().object('options', given[2]);
      return given;
    }
    if (given.length > 2) return given;
    const [file, options] = given;
    const { buffer = shared.modules.buffer.Buffer.alloc(PIECE) } = options === undefined ? {} : typeof options === 'object' ? checks().object('options', options) : { buffer: options };
    return [file, buffer, options];
  }

  // Of callbacks that get a buffer besides a count, and of what `promisify` makes of such a function.
  function offerMoving(name, work, place) {
    const call = withCallback(name, work, (value, values) => [value, values[1]]);
    fs[name] = name === 'read' ? { read: (...values) => call(...prepared(values)) }.read : call;
    const asked = {
      [name]: (...values) =>
        new Promise((resolve, reject) => {
          fs[name](...values, (error, count, buffer) => (error ? reject(error) : resolve({ [place]: count, [name.endsWith('v') ? 'buffers' : 'buffer']: buffer })));
        }),
    }[name];
    Object.defineProperty(fs[name], Symbol.for('nodejs.util.promisify.custom'), { value: asked, configurable: true });
  }
  function prepared(values) {
    const callback = values.length > 1 && typeof values[values.length - 1] === 'function' ? [values.pop()] : [];
    fileOf(values[0]);
    return [...withBuffer(values), ...callback];
  }
  offerMoving('read', reading, 'bytesRead');
  offerMoving('write', writing, 'bytesWritten');
  offerMoving('readv', (...values) => each(readOpen, 'read', ...values), 'bytesRead');
  offerMoving('writev', (...values) => each(writeOpen, 'write', ...values), 'bytesWritten');

  // Handles are evaluated when the first of them is asked for.
  const handles = () => shared.library('internal/file_handle');
  promises.open = async function open(path, flags, mode) {
    return handles().open(path, flags, mode);
  };
  for (const name of ['readFile', 'writeFile', 'appendFile']) {
    const byPath = promises[name];
    promises[name] = {
      async [name](path, ...values) {
        const isPlain = typeof path === 'string' || path instanceof URL;
        const hasText = name === 'readFile' || typeof values[0] === 'string' || ArrayBuffer.isView(values[0]);
        return isPlain && hasText ? byPath(path, ...values) : handles()[name](byPath, path, ...values);
      },
    }[name];
  }
})
