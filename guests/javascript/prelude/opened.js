// The module `fs`, of open files: by their descriptors, and by the handles of `fs/promises`.
(function (native, shared) {
  'use strict';
  const { closeFile, openFile, readOpen, resizeOpen, statOpen, syncFile, writeOpen } = native;
  const { Stats, decode, encode, encodingOf, offer, withCallback } = shared.files;
  const { fs, 'fs/promises': promises } = shared.modules;
  // Of one read, where the caller has no place for the bytes.
  const PIECE = 16384;

  const [READ, WRITE, BOTH, CREATE, EXCLUSIVE, TRUNCATE, APPEND] = [0, 1, 2, 0o100, 0o200, 0o1000, 0o2000];
  Object.assign(fs.constants, { O_RDONLY: READ, O_WRONLY: WRITE, O_RDWR: BOTH, O_CREAT: CREATE });
  Object.assign(fs.constants, { O_EXCL: EXCLUSIVE, O_TRUNC: TRUNCATE, O_APPEND: APPEND });
  const kinds = { r: READ, w: WRITE | CREATE | TRUNCATE, a: WRITE | CREATE | APPEND };

  // Those that were opened here. A snippet can name them and the standard streams, and nothing of the interpreter's own.
  const opened = new Set();

  function refuse(Kind, code, message) {
    const error = new Kind(message);
    error.code = code;
    throw error;
  }

  // Of `r`, `w+`, `ax` and so on. `s` says that writing is to be waited for, as it is anyway.
  function flagsOf(flags) {
    if (typeof flags === 'number') return flags;
    const [, kind, more] = /^s?([rwa])([xs+]{0,3})$/.exec(flags) ?? [];
    if (!kind || (kind === 'r' && more.includes('x'))) {
      refuse(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'flags' is invalid. Received '${flags}'`);
    }
    const access = more.includes('+') ? (kinds[kind] & ~WRITE) | BOTH : kinds[kind];
    return more.includes('x') ? access | EXCLUSIVE : access;
  }

  function known(descriptor, operation) {
    if (opened.has(descriptor) || descriptor === 0 || descriptor === 1 || descriptor === 2) return descriptor;
    if (typeof descriptor !== 'number') {
      refuse(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "fd" argument must be of type number');
    }
    const error = new Error(`EBADF: bad file descriptor, ${operation}`);
    throw Object.assign(error, { errno: -9, code: 'EBADF', syscall: operation });
  }

  function within(name, value, most) {
    if (value >= 0 && value <= most) return value;
    const message = `The value of "${name}" is out of range. It must be >= 0 && <= ${most}. Received ${value}`;
    return refuse(RangeError, 'ERR_OUT_OF_RANGE', message);
  }

  // What a call names of a buffer.
  function part(view, offset, length) {
    if (!ArrayBuffer.isView(view)) {
      refuse(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "buffer" argument must be a TypedArray or a DataView');
    }
    const begin = within('offset', offset ?? 0, view.byteLength);
    const left = view.byteLength - begin;
    return new Uint8Array(view.buffer, view.byteOffset + begin, within('length', length ?? left, left));
  }

  // From where: nothing says that it is from where the file is.
  const place = (position) => (position === null || position < 0 ? undefined : position && Number(position));

  function writeWhole(descriptor, data, options) {
    const bytes = encode(data, encodingOf(options));
    const whole = ArrayBuffer.isView(bytes) ? part(bytes) : new Uint8Array(bytes);
    for (let at = 0; at < whole.length; ) at += writeOpen(known(descriptor, 'write'), whole.subarray(at));
  }

  function readWhole(descriptor) {
    const pieces = [];
    for (;;) {
      const piece = new Uint8Array(PIECE);
      const length = readOpen(known(descriptor, 'read'), piece);
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

  const { readFileSync, writeFileSync, appendFileSync } = fs;
  const isOpen = (path) => typeof path === 'number';
  offer({
    readFileSync(path, options) {
      return isOpen(path) ? decode(readWhole(path), encodingOf(options)) : readFileSync(path, options);
    },
    writeFileSync(path, data, options) {
      return isOpen(path) ? writeWhole(path, data, options) : writeFileSync(path, data, options);
    },
    appendFileSync(path, data, options) {
      return isOpen(path) ? writeWhole(path, data, options) : appendFileSync(path, data, options);
    },
  });

  const synchronous = {
    openSync(path, flags) {
      const descriptor = openFile(path instanceof URL ? decodeURIComponent(path.pathname) : path, flagsOf(flags ?? 'r'));
      opened.add(descriptor);
      return descriptor;
    },
    closeSync(descriptor) {
      known(descriptor, 'close');
      if (opened.delete(descriptor)) closeFile(descriptor);
    },
    fstatSync(descriptor) {
      return new Stats(statOpen(known(descriptor, 'fstat')));
    },
    ftruncateSync(descriptor, length = 0) {
      resizeOpen(known(descriptor, 'ftruncate'), Math.max(0, length));
    },
    fsyncSync(descriptor) {
      syncFile(known(descriptor, 'fsync'));
    },
    fdatasyncSync(descriptor) {
      syncFile(known(descriptor, 'fdatasync'));
    },
    readSync(descriptor, view, offset, length, position) {
      if (typeof offset === 'object') ({ offset, length, position } = offset ?? {});
      return readOpen(known(descriptor, 'read'), part(view, offset, length), place(position));
    },
    writeSync(descriptor, data, offset, length, position) {
      // Of a text: a position and an encoding.
      if (typeof data === 'string') return writeOpen(known(descriptor, 'write'), encode(data, length), place(offset));
      if (typeof offset === 'object') ({ offset, length, position } = offset ?? {});
      return writeOpen(known(descriptor, 'write'), part(data, offset, length), place(position));
    },
  };
  for (const [name, work] of Object.entries(synchronous)) {
    const short = name.slice(0, -4);
    const hasBuffer = short === 'read' || short === 'write';
    fs[name] = work;
    fs[short] = withCallback(short, work, hasBuffer ? (value, [, view]) => [value, view] : undefined);
  }

  class FileHandle {
    #descriptor;
    constructor(descriptor) {
      this.#descriptor = descriptor;
    }
    get fd() {
      return this.#descriptor;
    }
    async read(view, offset, length, position) {
      if (!ArrayBuffer.isView(view)) ({ buffer: view = new Uint8Array(PIECE), offset, length, position } = view ?? {});
      return { bytesRead: fs.readSync(this.#descriptor, view, offset, length, position), buffer: view };
    }
    async write(data, ...where) {
      return { bytesWritten: fs.writeSync(this.#descriptor, data, ...where), buffer: data };
    }
    async readFile(options) {
      return fs.readFileSync(this.#descriptor, options);
    }
    async writeFile(data, options) {
      writeWhole(this.#descriptor, data, options);
    }
    async appendFile(data, options) {
      writeWhole(this.#descriptor, data, options);
    }
    async *readLines(options) {
      const text = await this.readFile({ encoding: 'utf8', ...options });
      if (text) yield* text.replace(/\r?\n$/, '').split(/\r?\n/);
    }
    async stat() {
      return fs.fstatSync(this.#descriptor);
    }
    async truncate(length) {
      fs.ftruncateSync(this.#descriptor, length);
    }
    async sync() {
      fs.fsyncSync(this.#descriptor);
    }
    async datasync() {
      fs.fdatasyncSync(this.#descriptor);
    }
    async close() {
      if (this.#descriptor !== -1) fs.closeSync(this.#descriptor);
      this.#descriptor = -1;
    }
  }
  if (Symbol.asyncDispose) FileHandle.prototype[Symbol.asyncDispose] = FileHandle.prototype.close;

  promises.open = async (path, flags) => new FileHandle(fs.openSync(path, flags));
  for (const name of ['readFile', 'writeFile', 'appendFile']) {
    const byPath = promises[name];
    promises[name] = async (path, ...values) =>
      path instanceof FileHandle ? path[name](...values) : byPath(path, ...values);
  }
})
