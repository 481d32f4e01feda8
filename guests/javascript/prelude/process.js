// process, and the modules that are only other names for globals.
(function (native, shared) {
  'use strict';
  const { arguments: programArguments, changeFolder, currentFolder, environment, environmentAge, exit, exitCode, monotonic, setExitCode, write } =
    native;
  const { modules, define } = shared;
  let known;
  let age = -1;

  // The environment of the run; what a snippet changes lasts until a run brings another.
  function current() {
    if (age !== environmentAge()) {
      const given = programArguments();
      known = { env: environment(), argv: ['javascript', ...given], stdin: undefined };
      age = environmentAge();
    }
    return known;
  }

  const stream = (descriptor) => ({
    fd: descriptor,
    isTTY: false,
    write(text) {
      return write(descriptor, text);
    },
  });

  // Standard input as a stream: its bytes are all there, so one chunk of text brings them to who listens.
  function standardInput() {
    const input = new modules.events();
    const { on, once } = input;
    let encoding = 'utf8';
    let left;
    let begun = false;
    const read = () => {
      left ??= modules.fs.readFileSync(0, encoding);
      const chunk = left;
      left = '';
      return chunk.length ? chunk : null;
    };
    const begin = () => {
      if (begun) return;
      begun = true;
      setTimeout(() => {
        if (input.listenerCount('readable')) input.emit('readable');
        const chunk = read();
        if (chunk !== null) input.emit('data', chunk);
        input.readableEnded = true;
        input.emit('end');
        input.emit('close');
      }, 0);
    };
    return Object.assign(input, {
      fd: 0,
      isTTY: false,
      readable: true,
      readableEnded: false,
      read,
      on(name, listener) {
        if (name === 'data' || name === 'readable') begin();
        return on.call(input, name, listener);
      },
      once(name, listener) {
        if (name === 'data' || name === 'readable') begin();
        return once.call(input, name, listener);
      },
      setEncoding(name) {
        encoding = name ?? 'utf8';
        return input;
      },
      resume() {
        begin();
        return input;
      },
      pause: () => input,
      ref: () => input,
      unref: () => input,
      pipe(target) {
        input.on('data', (chunk) => target.write(chunk));
        if (target !== process.stdout && target !== process.stderr) input.on('end', () => target.end?.());
        return target;
      },
      async *[Symbol.asyncIterator]() {
        const chunk = read();
        if (chunk !== null) yield chunk;
      },
    });
  }

  // The module `readline`, over a stream whose chunks are text.
  function createInterface(given) {
    const { input } = given?.input ? given : { input: given };
    const lines = new modules.events();
    let open = true;
    const close = () => {
      if (open) lines.emit('close');
      open = false;
    };
    const split = (text) => (text ? text.replace(/\r?\n$/, '').split(/\r?\n/) : []);
    setTimeout(() => {
      if (!open || !lines.listenerCount('line')) return;
      for (const line of split(input.read())) if (open) lines.emit('line', line);
      close();
    }, 0);
    return Object.assign(lines, {
      close,
      async *[Symbol.asyncIterator]() {
        yield* split(input.read());
        close();
      },
    });
  }

  const process = {
    get env() {
      return current().env;
    },
    set env(value) {
      current().env = value;
    },
    get argv() {
      return current().argv;
    },
    set argv(value) {
      current().argv = value;
    },
    get exitCode() {
      return exitCode();
    },
    set exitCode(status) {
      if (!Number.isInteger(Number(status ?? 0))) throw new TypeError('process.exitCode must be an integer');
      setExitCode(Number(status ?? 0));
    },
    platform: 'wasi',
    arch: 'wasm32',
    version: 'v0.0.0',
    versions: {},
    pid: 1,
    get stdin() {
      return (current().stdin ??= standardInput());
    },
    stdout: stream(1),
    stderr: stream(2),
    exit(status = process.exitCode ?? 0) {
      return exit(status);
    },
    cwd: currentFolder,
    chdir: changeFolder,
    uptime() {
      return performance.now() / 1000;
    },
    nextTick(callback, ...values) {
      queueMicrotask(() => callback(...values));
    },
    hrtime: Object.assign(
      (since) => {
        const now = BigInt(Math.round(monotonic() * 1e6)) - (since ? BigInt(since[0]) * 1000000000n + BigInt(since[1]) : 0n);
        return [Number(now / 1000000000n), Number(now % 1000000000n)];
      },
      { bigint: () => BigInt(Math.round(monotonic() * 1e6)) },
    ),
    memoryUsage() {
      return { rss: 0, heapTotal: 0, heapUsed: 0, external: 0 };
    },
    on() {
      return process;
    },
    emitWarning(warning) {
      console.error(`Warning: ${warning}`);
    },
  };
  Object.defineProperty(process, Symbol.toStringTag, { value: 'process', configurable: true });
  define('process', process);

  const later =
    (set) =>
    (delay, value, options) =>
      new Promise((resolve, reject) => {
        const timer = set(() => resolve(value), delay);
        options?.signal?.addEventListener('abort', () => {
          clearTimeout(timer);
          reject(options.signal.reason);
        });
      });

  Object.assign(modules, {
    process,
    url: {
      URL,
      URLSearchParams,
      fileURLToPath: (url) => decodeURIComponent(new URL(url).pathname),
      pathToFileURL: (path) => new URL(`file://${encodeURI(modules.path.resolve(path))}`),
    },
    timers: { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate },
    'timers/promises': { setTimeout: later(setTimeout), setImmediate: later((callback) => setImmediate(callback)) },
    readline: { createInterface },
    perf_hooks: { performance },
    crypto: { ...crypto, webcrypto: crypto },
  });
})
