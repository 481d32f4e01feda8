// console: text to the run's standard output and standard error.
(function (native, shared) {
  'use strict';
  const { format, inspect } = shared;
  const counts = new Map();
  const timers = new Map();
  const { log, error, indent, monotonic } = native;

  function duration(label) {
    const milliseconds = monotonic() - timers.get(label);
    if (milliseconds >= 1000) return `${label}: ${(milliseconds / 1000).toFixed(3)}s`;
    return `${label}: ${+milliseconds.toFixed(3)}ms`;
  }

  function table(rows, columns) {
    if (rows === null || typeof rows !== 'object') return log(rows);
    const isMap = rows instanceof Map;
    const entries = isMap || rows instanceof Set ? [...rows].map((row, i) => [i, row]) : Object.entries(rows);
    const index = isMap || rows instanceof Set ? '(iteration index)' : '(index)';
    const names = [];
    let values = false;
    for (const [, row] of entries) {
      if (row !== null && typeof row === 'object' && !isMap) {
        for (const name of Object.keys(row)) if (!names.includes(name)) names.push(name);
      } else {
        values = true;
      }
    }
    const shown = columns ?? names;
    const heads = [index, ...shown, ...(values ? ['Values'] : [])];
    const lines = entries.map(([key, row]) => {
      const object = row !== null && typeof row === 'object' && !isMap;
      const cells = shown.map((name) => (object && Object.hasOwn(row, name) ? inspect(row[name], { depth: 0 }) : ''));
      return [`${key}`, ...cells, ...(values ? [object ? '' : inspect(row, { depth: 1 })] : [])];
    });
    const widths = heads.map((head, i) => Math.max(head.length, ...lines.map((line) => line[i].length)) + 2);
    const rule = (left, middle, right) => left + widths.map((width) => '─'.repeat(width)).join(middle) + right;
    const row = (cells) => `│${cells.map((cell, i) => ` ${cell}`.padEnd(widths[i])).join('│')}│`;
    log([rule('┌', '┬', '┐'), row(heads), rule('├', '┼', '┤'), ...lines.map(row), rule('└', '┴', '┘')].join('\n'));
  }

  const console = {
    log,
    info: log,
    debug: log,
    warn: error,
    error,
    trace(...values) {
      const stack = new Error().stack.split('\n').filter((line) => line.startsWith('    at ') && !line.includes('(dormouse:'));
      error([values.length ? `Trace: ${format(values)}` : 'Trace', ...stack].join('\n'));
    },
    dir(value, options) {
      log(inspect(value, options));
    },
    dirxml: log,
    table,
    assert(condition, ...values) {
      if (condition) return;
      if (typeof values[0] === 'string') values[0] = `Assertion failed: ${values[0]}`;
      else values.unshift('Assertion failed');
      error(...values);
    },
    count(label = 'default') {
      const count = (counts.get(`${label}`) ?? 0) + 1;
      counts.set(`${label}`, count);
      log(`${label}: ${count}`);
    },
    countReset(label = 'default') {
      counts.delete(`${label}`);
    },
    time(label = 'default') {
      if (timers.has(`${label}`)) error(`Warning: Label '${label}' already exists for console.time()`);
      else timers.set(`${label}`, monotonic());
    },
    timeLog(label = 'default', ...values) {
      if (!timers.has(`${label}`)) error(`Warning: No such label '${label}' for console.timeLog()`);
      else log(duration(`${label}`), ...values);
    },
    timeEnd(label = 'default') {
      if (!timers.has(`${label}`)) {
        error(`Warning: No such label '${label}' for console.timeEnd()`);
        return;
      }
      log(duration(`${label}`));
      timers.delete(`${label}`);
    },
    group(...values) {
      if (values.length) log(...values);
      indent(2);
    },
    groupCollapsed(...values) {
      console.group(...values);
    },
    groupEnd() {
      indent(-2);
    },
  };
  Object.defineProperty(console, Symbol.toStringTag, { value: 'console', configurable: true });
  shared.define('console', console);
})
