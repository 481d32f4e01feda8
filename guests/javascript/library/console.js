// The module `console`: the global, and consoles that write to streams.
'use strict';
const { format } = shared;
const { inspect } = require('util');

// What of a console's methods only prints.
class Console {
  constructor(given, given2) {
    const { stdout, stderr = stdout } = typeof given?.write === 'function' ? { stdout: given, stderr: given2 ?? given } : given ?? {};
    if (typeof stdout?.write !== 'function') throw Object.assign(new TypeError('Console expects a writable stream instance for stdout'), { code: 'ERR_CONSOLE_WRITABLE_STREAM' });
    let indent = '';
    const counts = new Map();
    const timers = new Map();
    const to = (stream) => (...values) => void stream.write(`${indent}${format(values).replaceAll('\n', `\n${indent}`)}\n`);
    const [out, error] = [to(stdout), to(stderr)];
    const since = (label) => `${label}: ${(performance.now() - timers.get(label)).toFixed(3)}ms`;
    Object.assign(this, {
      log: out,
      info: out,
      debug: out,
      dirxml: out,
      error,
      warn: error,
      dir: (value, options) => out(inspect(value, options)),
      trace: (...values) => error(`Trace: ${format(values)}`),
      table: (value) => out(value),
      assert: (holds, ...values) => void (holds || error(values.length ? `Assertion failed: ${format(values)}` : 'Assertion failed')),
      count(label = 'default') {
        counts.set(label, (counts.get(label) ?? 0) + 1);
        out(`${label}: ${counts.get(label)}`);
      },
      countReset: (label = 'default') => void counts.delete(label),
      time: (label = 'default') => void timers.set(label, performance.now()),
      timeLog: (label = 'default', ...values) => out(since(label), ...values),
      timeEnd(label = 'default') {
        out(since(label));
        timers.delete(label);
      },
      group(...values) {
        if (values.length) out(...values);
        indent += '  ';
      },
      groupEnd: () => void (indent = indent.slice(2)),
    });
    this.groupCollapsed = this.group;
  }
}

module.exports = Object.assign(Object.create(console), { Console });
for (const name of Object.keys(console)) module.exports[name] = console[name];
