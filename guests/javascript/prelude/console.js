// console: text to the run's standard output and standard error, or to the streams that a program puts in their place.
(function (native, shared) {
  'use strict';
  const { define, format, inspect, liveGetters } = shared;
  // Not by spreading: a program may have taken the iterator of arrays away.
  const { apply } = Reflect;
  const { error: nativeError, indent, log: nativeLog, monotonic } = native;

  const pad = (number, digits = 2) => `${number}`.padStart(digits, '0');
  function duration(milliseconds) {
    if (milliseconds < 1000) return `${+milliseconds.toFixed(3)}ms`;
    const seconds = milliseconds / 1000;
    if (seconds < 60) return `${seconds.toFixed(3)}s`;
    const rest = pad((seconds % 60).toFixed(3), 6);
    if (seconds < 3600) return `${Math.floor(seconds / 60)}:${rest} (m:ss.mmm)`;
    return `${Math.floor(seconds / 3600)}:${pad(Math.floor(seconds / 60) % 60)}:${rest} (h:mm:ss.mmm)`;
  }

  const warn = (message) => globalThis.process.emitWarning(message);

  // The methods of a console: `print(name, values)` writes a line to `stdout` or `stderr`, `options(name)` is what values are shown with there,
  // `move(change)` is for groups, and `streamOf(name)` is where lines go.
  function consoleMethods({ print, options, move, streamOf, step = 2 }) {
    const counts = new Map();
    const times = new Map();
    function since(label, method, values) {
      if (!times.has(label)) {
        warn(`No such label '${label}' for console.${method}()`);
        return false;
      }
      print('stdout', ['%s: %s', label, duration(monotonic() - times.get(label)), ...values]);
      return true;
    }
    const methods = {
      log(...values) {
        print('stdout', values);
      },
      warn(...values) {
        print('stderr', values);
      },
      dir(value, given) {
        print('stdout', [inspect(value, { customInspect: false, ...options('stdout'), ...given })]);
      },
      time(label = 'default') {
        label = `${label}`;
        if (times.has(label)) warn(`Label '${label}' already exists for console.time()`);
        else times.set(label, monotonic());
      },
      timeEnd(label = 'default') {
        label = `${label}`;
        if (since(label, 'timeEnd', [])) times.delete(label);
      },
      timeLog(label = 'default', ...values) {
        since(`${label}`, 'timeLog', values);
      },
      trace(...values) {
        const stack = new Error().stack.split('\n').filter((line) => line.startsWith('    at ') && !line.includes('(dormouse:'));
        print('stderr', ['%s', [values.length ? `Trace: ${format(values, options('stderr'))}` : 'Trace', ...stack].join('\n')]);
      },
      assert(holds, ...values) {
        if (holds) return;
        values[0] = `Assertion failed${values.length ? `: ${values[0]}` : ''}`;
        print('stderr', values);
      },
      clear() {
        const stream = streamOf('stdout');
        if (stream.isTTY && globalThis.process.env.TERM !== 'dumb') stream.write('\u001b[1;1H\u001b[0J');
      },
      count(label = 'default') {
        label = `${label}`;
        counts.set(label, (counts.get(label) ?? 0) + 1);
        print('stdout', [`${label}: ${counts.get(label)}`]);
      },
      countReset(label = 'default') {
        label = `${label}`;
        if (!counts.delete(label)) warn(`Count for '${label}' does not exist`);
      },
      group(...values) {
        if (values.length) print('stdout', values);
        move(step);
      },
      groupEnd() {
        move(-step);
      },
      table(rows, columns) {
        print('stdout', rows === null || typeof rows !== 'object' ? [rows] : [shared.library('internal/table')(rows, columns, options('stdout'))]);
      },
    };
    const { log, warn: error, group } = methods;
    const all = { log, warn: error, dir: methods.dir, ...methods, debug: log, info: log, dirxml: log, error, groupCollapsed: group };
    return { all, times };
  }

  // Streams that the program has put in the place of the standard ones.
  const replaced = {};
  const streamOf = (name) => replaced[name] ?? globalThis.process[name];
  const writers = { stdout: nativeLog, stderr: nativeError };
  function print(name, values) {
    const { standard } = shared;
    if (replaced[name] === undefined && standard[name].write === standard.write) apply(writers[name], undefined, values);
    else shared.library('internal/console_stream').write(streamOf(name), format(values), indent(0), true);
  }

  const { all, times } = consoleMethods({ print, options: () => undefined, move: (change) => void indent(change), streamOf });
  const console = { ...all };
  Object.defineProperty(console, Symbol.toStringTag, { value: 'console', configurable: true });
  for (const name of ['stdout', 'stderr']) Object.defineProperty(console, `_${name}`, { get: () => streamOf(name), set: (stream) => void (replaced[name] = stream), configurable: true });
  Object.defineProperty(console, '_times', { value: times, writable: true, configurable: true });
  const getClass = () => shared.library('internal/console_stream').Console;
  liveGetters.add(getClass);
  Object.defineProperty(console, 'Console', { get: getClass, set: (value) => void Object.defineProperty(console, 'Console', { value, writable: true }), enumerable: true, configurable: true });
  shared.consoleMethods = consoleMethods;
  shared.console = console;
  define('console', console);
})
