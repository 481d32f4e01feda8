// process, and the modules that are only other names for globals.
(function (native, shared) {
  'use strict';
  // Those that are there now: a snippet may have others of these names.
  const { console, performance, setTimeout } = globalThis;
  const { arguments: programArguments, changeFolder, currentFolder, environment, environmentAge, exit, exitCode, listenToRuns, monotonic, nextTick, setExitCode, write } =
    native;
  const { modules, define } = shared;
  // What this is like: packages ask for it before they use what it has.
  const VERSION = '22.12.0';
  // The workspace, or where a run without one may write.
  const home = () => (modules.fs.existsSync('/workspace') ? '/workspace' : '/tmp');
  const USER = 1000;
  let known;
  let age = -1;

  // The environment of the run; what a snippet changes lasts until a run brings another.
  function current() {
    if (age !== environmentAge()) {
      const given = programArguments();
      known = { env: { HOME: home(), ...environment() }, argv: ['javascript', ...given], stdin: undefined };
      age = environmentAge();
    }
    return known;
  }

  // What a run tells the listeners of `process`. They are those of one run: the next one is a program of its own.
  const ofRuns = ['beforeExit', 'exit', 'uncaughtException', 'unhandledRejection'];
  let isHeard = false;
  let isEnding = false;
  function tell(name, first, second) {
    if (name === 'end') {
      for (const each of ofRuns) process.removeAllListeners(each);
      isEnding = false;
      return false;
    }
    if (name === 'exit') isEnding = true;
    if (name === 'uncaughtException') {
      process.emit('uncaughtExceptionMonitor', first, name);
      second = name;
    }
    return process.emit(name, first, second);
  }

  // Of an emitter, on an object that is none until its first use.
  const listening = {};
  for (const name of ['on', 'once', 'off', 'addListener', 'removeListener', 'removeAllListeners', 'prependListener', 'prependOnceListener', 'emit', 'listeners', 'rawListeners', 'listenerCount', 'eventNames', 'setMaxListeners', 'getMaxListeners']) {
    listening[name] = function (...values) {
      if (!isHeard && this === process && ofRuns.includes(values[0])) {
        isHeard = true;
        listenToRuns(tell);
      }
      return modules.events.prototype[name].apply(this, values);
    };
  }

  const stream = (descriptor) =>
    Object.assign(Object.create(listening), {
      fd: descriptor,
      isTTY: false,
      writable: true,
      writableLength: 0,
      writableHighWaterMark: 16384,
      columns: undefined,
      write(chunk, encoding, callback) {
        write(descriptor, chunk);
        const done = typeof encoding === 'function' ? encoding : callback;
        if (done) queueMicrotask(() => done());
        return true;
      },
      end(chunk, encoding, callback) {
        if (chunk !== undefined && typeof chunk !== 'function') this.write(chunk);
        const done = [chunk, encoding, callback].find((each) => typeof each === 'function');
        if (done) queueMicrotask(() => done());
        return this;
      },
      cork() {},
      uncork() {},
      getColorDepth: () => 1,
      hasColors: () => false,
      getWindowSize: () => [80, 24],
      ref() {
        return this;
      },
      unref() {
        return this;
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
    platform: 'linux',
    arch: 'wasm32',
    version: `v${VERSION}`,
    versions: { node: VERSION, v8: '0.0.0', modules: '127', quickjs: '0.16.2' },
    release: { name: 'node' },
    config: { target_defaults: {}, variables: {} },
    features: { inspector: false, debug: false, uv: false, ipv6: false, tls: false, typescript: false },
    execPath: '/usr/bin/node',
    execArgv: [],
    argv0: 'node',
    title: 'node',
    pid: 1,
    ppid: 0,
    get stdin() {
      return (current().stdin ??= standardInput());
    },
    exit(status) {
      if (status !== undefined && status !== null) process.exitCode = status;
      if (!isEnding && isHeard) {
        isEnding = true;
        process.emit('exit', process.exitCode);
      }
      return exit(process.exitCode);
    },
    cwd: currentFolder,
    chdir: changeFolder,
    uptime() {
      return performance.now() / 1000;
    },
    nextTick(callback, ...values) {
      if (typeof callback !== 'function') throw Object.assign(new TypeError('The "callback" argument must be of type function.'), { code: 'ERR_INVALID_ARG_TYPE' });
      nextTick(callback, ...values);
    },
    hrtime: Object.assign(
      (since) => {
        const now = BigInt(Math.round(monotonic() * 1e6)) - (since ? BigInt(since[0]) * 1000000000n + BigInt(since[1]) : 0n);
        return [Number(now / 1000000000n), Number(now % 1000000000n)];
      },
      { bigint: () => BigInt(Math.round(monotonic() * 1e6)) },
    ),
    memoryUsage: Object.assign(() => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }), { rss: () => 0 }),
    constrainedMemory: () => 2 ** 32,
    availableMemory: () => 2 ** 32,
    cpuUsage: () => ({ user: Math.round(performance.now() * 1000), system: 0 }),
    resourceUsage: () => ({ userCPUTime: Math.round(performance.now() * 1000), systemCPUTime: 0, maxRSS: 0 }),
    getActiveResourcesInfo: () => [],
    umask: () => 0o22,
    getuid: () => USER,
    geteuid: () => USER,
    getgid: () => USER,
    getegid: () => USER,
    getgroups: () => [USER],
    abort() {
      return exit(134);
    },
    // The only process here is this one.
    kill(pid, signal = 'SIGTERM') {
      const error = (code, message) => Object.assign(new Error(message), { code, syscall: 'kill' });
      if (pid !== process.pid) throw error('ESRCH', `kill ESRCH`);
      const number = typeof signal === 'number' ? signal : modules.os.constants.signals[signal];
      if (number === undefined) throw error('ERR_UNKNOWN_SIGNAL', `Unknown signal: ${signal}`);
      if (number === 0 || process.emit(signal, signal, number)) return true;
      return exit(128 + number);
    },
    emitWarning(warning, type, code) {
      const [name, about] = typeof type === 'object' && type !== null ? [type.type, type.code] : [type, code];
      const error = warning instanceof Error ? warning : Object.assign(new Error(warning), { name: name ?? 'Warning' });
      if (typeof about === 'string') error.code = about;
      if (process.listenerCount('warning')) process.emit('warning', error);
      else if (!process.noDeprecation || error.name !== 'DeprecationWarning') console.error(`${error.code ? `[${error.code}] ` : ''}${error.name}: ${error.message}`);
    },
    setUncaughtExceptionCaptureCallback() {},
    hasUncaughtExceptionCaptureCallback: () => false,
    setSourceMapsEnabled() {},
    allowedNodeEnvironmentFlags: new Set(),
    report: {},
    stdout: stream(1),
    stderr: stream(2),
    binding(name) {
      throw Object.assign(new Error(`No such module: ${name}`), { code: 'ERR_INVALID_MODULE' });
    },
    getBuiltinModule: (name) => modules[`${name}`.replace(/^node:/, '')],
  };
  Object.setPrototypeOf(process, listening);
  Object.defineProperty(process, Symbol.toStringTag, { value: 'process', configurable: true });
  define('process', process);

  Object.assign(modules, {
    process,
    perf_hooks: { performance, PerformanceObserver: class PerformanceObserver { observe() {} disconnect() {} }, constants: {}, monitorEventLoopDelay: () => ({ enable() {}, disable() {}, min: 0, max: 0, mean: 0 }) },
  });
})
