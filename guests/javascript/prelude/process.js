// process, and the modules that are only other names for globals.
(function (native, shared) {
  'use strict';
  // Those that are there now: a snippet may have others of these names.
  const { console, performance } = globalThis;
  const { activeTimers, arguments: programArguments, changeFolder, currentFolder, environment, environmentAge, exit, exitCode, listenToRuns, monotonic, nextTick, programName, runNumber, setExitCode, write } =
    native;
  const { modules, define } = shared;
  // What this is like: packages ask for it before they use what it has.
  const VERSION = '22.12.0';
  // The workspace, or where a run without one may write.
  const home = () => (modules.fs.existsSync('/workspace') ? '/workspace' : '/tmp');
  const USER = 1000;
  let known;
  let age = -1;

  // Its values are texts.
  const ofEnvironment = {
    set(variables, name, value) {
      if (typeof name === 'symbol' || typeof value === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
      variables[name] = `${value}`;
      return true;
    },
    defineProperty(variables, name, descriptor) {
      const { configurable, enumerable, get, set, value, writable } = descriptor;
      const refuse = (message) => {
        throw Object.assign(new TypeError(`'process.env' ${message}`), { code: 'ERR_INVALID_OBJECT_DEFINE_PROPERTY' });
      };
      if (get || set) refuse('does not accept an accessor(getter/setter) descriptor');
      if (!configurable || !enumerable || !writable) refuse('only accepts a configurable, writable, and enumerable data descriptor');
      return ofEnvironment.set(variables, name, value);
    },
  };

  // A program that is a file is called by its path.
  const ownFile = () => (programName()[0] === '/' ? [programName()] : []);

  // The environment of the run; what a snippet changes lasts until a run brings another, or, of the arguments, is another file.
  function current() {
    if (age !== environmentAge()) {
      known = { env: new Proxy({ HOME: home(), ...environment() }, ofEnvironment) };
      age = environmentAge();
    }
    if (known.program !== programName()) {
      const given = programArguments();
      known.argv = ['javascript', ...(given.length ? given : ownFile())];
      known.program = programName();
    }
    if (known.run !== runNumber()) {
      known.input = undefined;
      known.run = runNumber();
    }
    return known;
  }

  // What a run tells the listeners of `process`. They are those of one run: the next one is a program of its own.
  const ofRuns = ['beforeExit', 'exit', 'rejectionHandled', 'uncaughtException', 'uncaughtExceptionMonitor', 'unhandledRejection'];
  let isHeard = false;
  let isEnding = false;
  let capture = null;
  // A rejection that nobody listens for, while it is an exception.
  let rejected;
  function tell(name, first, second) {
    if (name === 'end') {
      for (const each of ofRuns) process.removeAllListeners(each);
      isEnding = false;
      capture = null;
      return false;
    }
    if (name === 'exit') isEnding = true;
    if (name === 'uncaughtException') return tellException(first);
    if (process.emit(name, first, second)) return true;
    if (name === 'unhandledRejection') rejected = { reason: first };
    return false;
  }

  function tellException(error) {
    const isRejection = rejected !== undefined && Object.is(rejected.reason, error);
    rejected = undefined;
    if (isRejection && !(error instanceof Error)) error = rare().rejection(error);
    const origin = isRejection ? 'unhandledRejection' : 'uncaughtException';
    process.emit('uncaughtExceptionMonitor', error, origin);
    if (!capture) return process.emit('uncaughtException', error, origin);
    capture(error);
    return true;
  }

  function hear() {
    if (isHeard) return;
    isHeard = true;
    listenToRuns(tell);
  }

  // Of an emitter, on an object that is none until its first use.
  const listening = {};
  for (const name of ['on', 'once', 'off', 'addListener', 'removeListener', 'removeAllListeners', 'prependListener', 'prependOnceListener', 'emit', 'listeners', 'rawListeners', 'listenerCount', 'eventNames', 'setMaxListeners', 'getMaxListeners']) {
    listening[name] = function (...values) {
      if (this === process && ofRuns.includes(values[0])) hear();
      return modules.events.prototype[name].apply(this, values);
    };
  }

  function writeTo(chunk, encoding, callback) {
    write(this.fd, chunk);
    const done = typeof encoding === 'function' ? encoding : callback;
    if (done) queueMicrotask(() => done());
    return true;
  }
  // Standard output and standard error, until the module `stream` makes streams of its class of them.
  const standardOutput = Object.assign(Object.create(listening), {
    isTTY: false,
    writable: true,
    writableLength: 0,
    writableHighWaterMark: 16384,
    columns: undefined,
    write: writeTo,
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
  const stream = (fd) => Object.assign(Object.create(standardOutput), { fd });

  const rare = () => shared.library('internal/process');
  // Functions that are evaluated when they are first called.
  const seldom = (...names) => Object.fromEntries(names.map((name) => [name, { [name](...values) { return rare()[name](...values); } }[name]]));

  const process = {
    get _exiting() {
      return isEnding;
    },
    ...seldom('_kill', 'assert', 'cpuUsage', 'dlopen', 'emitWarning', 'initgroups', 'kill', 'setSourceMapsEnabled', 'setegid', 'seteuid', 'setgid', 'setgroups', 'setuid', 'umask'),
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
    config: Object.freeze({ target_defaults: {}, variables: {} }),
    features: Object.defineProperty({ inspector: false, debug: false, uv: false, ipv6: false, tls_alpn: false, tls_sni: false, tls_ocsp: false, tls: false, cached_builtins: true, require_module: true }, 'typescript', { value: false }),
    execPath: '/usr/bin/node',
    execArgv: [],
    argv0: 'node',
    title: 'node',
    pid: 1,
    ppid: 0,
    get stdin() {
      const now = current();
      now.input ??= shared.library('internal/standard_streams').input();
      return now.input;
    },
    set stdin(stream) {
      current().input = stream;
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
    chdir(folder) {
      if (typeof folder !== 'string') throw rare().wrongType('"directory" argument', 'of type string', folder);
      try {
        changeFolder(folder);
      } catch (error) {
        if (!error.code) throw error;
        const path = currentFolder();
        throw Object.assign(new Error(error.message.replace(/, chdir .*$/s, `, chdir '${path}' -> '${folder}'`)), { errno: error.errno, code: error.code, syscall: 'chdir', path, dest: folder });
      }
    },
    uptime() {
      return performance.now() / 1000;
    },
    nextTick(callback, ...values) {
      if (typeof callback !== 'function') throw rare().wrongType('"callback" argument', 'of type function', callback);
      if (isEnding) return;
      if (shared.hooks) nextTick(shared.hooks.tick(callback, values));
      else nextTick(callback, ...values);
    },
    hrtime: Object.assign(
      (since) => {
        if (since !== undefined) rare().checkTime(since);
        const now = BigInt(Math.round(monotonic() * 1e6)) - (since ? BigInt(since[0]) * 1000000000n + BigInt(since[1]) : 0n);
        const part = ((now % 1000000000n) + 1000000000n) % 1000000000n;
        return [Number((now - part) / 1000000000n), Number(part)];
      },
      { bigint: () => BigInt(Math.round(monotonic() * 1e6)) },
    ),
    memoryUsage: Object.assign(() => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }), { rss: () => 0 }),
    constrainedMemory: () => 2 ** 32,
    availableMemory: () => 2 ** 32,
    resourceUsage: () => ({ userCPUTime: Math.round(performance.now() * 1000), systemCPUTime: 0, maxRSS: 0 }),
    getActiveResourcesInfo() {
      const [timeouts, immediates] = activeTimers();
      return [...Array(timeouts + (shared.timers.isFiring() ? 1 : 0)).fill('Timeout'), ...Array(immediates).fill('Immediate')];
    },
    _getActiveRequests: () => [],
    _getActiveHandles: () => [],
    getuid: () => USER,
    geteuid: () => USER,
    getgid: () => USER,
    getegid: () => USER,
    getgroups: () => [USER],
    abort() {
      return exit(134);
    },
    setUncaughtExceptionCaptureCallback(listener) {
      if (listener !== null && typeof listener !== 'function') throw rare().wrongType('"fn" argument', 'of type function or null', listener);
      if (listener && capture) throw Object.assign(new Error('`process.setupUncaughtExceptionCapture()` was called while a capture callback was already active'), { code: 'ERR_UNCAUGHT_EXCEPTION_CAPTURE_ALREADY_SET' });
      capture = listener;
      hear();
    },
    hasUncaughtExceptionCaptureCallback: () => capture !== null,
    allowedNodeEnvironmentFlags: new Set(),
    report: {},
    stdout: stream(1),
    stderr: stream(2),
    binding(name) {
      throw Object.assign(new Error(`No such module: ${name}`), { code: 'ERR_INVALID_MODULE' });
    },
    getBuiltinModule: (name) => modules[`${name}`.replace(/^node:/, '')],
  };
  shared.standard = { stdout: process.stdout, stderr: process.stderr, write: writeTo, prototype: standardOutput };
  Object.defineProperty(listening, 'constructor', { value: Object.defineProperty(function () {}, 'name', { value: 'process' }), writable: true, configurable: true });
  listening.constructor.prototype = listening;
  shared.processPrototype = listening;
  Object.setPrototypeOf(process, listening);
  Object.defineProperty(process, Symbol.toStringTag, { value: 'process', configurable: true });
  define('process', process);

  modules.process = process;
  for (const name of ['clearMarks', 'clearMeasures', 'clearResourceTimings', 'markResourceTiming', 'setResourceTimingBufferSize', 'eventLoopUtilization', 'getEntries', 'getEntriesByName', 'getEntriesByType', 'mark', 'measure', 'timerify']) {
    performance[name] = { [name](...values) { return shared.library('internal/timeline').methods[name](...values); } }[name];
  }
  Object.defineProperty(performance, 'nodeTiming', { get: () => shared.library('internal/timeline').methods.nodeTiming, enumerable: true, configurable: true });
})
