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
      known = { env: environment(), argv: ['javascript', ...given] };
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
    stdin: { fd: 0, isTTY: false },
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
    perf_hooks: { performance },
    crypto: { ...crypto, webcrypto: crypto },
  });
})
