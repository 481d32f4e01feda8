// The text of console.table.
'use strict';
const { details } = native;
const { received } = require('internal/received');
const { inspect } = shared;
const { widthOf } = shared.layout;

function render(heads, columns) {
  const count = Math.max(0, ...columns.map((column) => column.length));
  const cells = columns.map((column) => Array.from({ length: count }, (_, i) => column[i] ?? ''));
  const widths = heads.map((head, i) => cells[i].reduce((widest, cell) => Math.max(widest, widthOf(cell)), widthOf(head)) + 2);
  const rule = (left, middle, right) => left + widths.map((width) => '─'.repeat(width)).join(middle) + right;
  const row = (texts) => `│${texts.map((text, i) => ` ${text}${' '.repeat(widths[i] - widthOf(text) - 1)}`).join('│')}│`;
  const rows = Array.from({ length: count }, (_, i) => row(cells.map((column) => column[i])));
  return [rule('┌', '┬', '┐'), row(heads), rule('├', '┼', '┤'), ...rows, rule('└', '┴', '┘')].join('\n');
}

// What an iterator, a map or a set has: whether in pairs, and its entries.
function entriesOf(rows) {
  const [kind, , pairs, rest] = details(rows);
  if (kind === 'map') return [true, [...Map.prototype.entries.call(rows)]];
  if (kind === 'set') return [false, [...Set.prototype.values.call(rows)]];
  if (!Array.isArray(rest) || kind !== 'iterator') return undefined;
  return [pairs, pairs ? rest.flatMap((_, i) => (i % 2 ? [] : [[rest[i], rest[i + 1]]])) : rest];
}

const isPrimitive = (value) => value === null || (typeof value !== 'object' && typeof value !== 'function');

function table(rows, properties, options) {
  if (properties !== undefined && !Array.isArray(properties)) throw Object.assign(new TypeError(`The "properties" argument must be an instance of Array. Received ${received(properties)}`), { code: 'ERR_INVALID_ARG_TYPE' });
  const show = (value) => {
    const isLarge = typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 2;
    return inspect(value, { maxArrayLength: 3, breakLength: Infinity, colors: false, ...options, depth: isLarge ? -1 : 0 });
  };
  const [pairs, entries] = entriesOf(rows) ?? [];
  if (entries) {
    const indexes = entries.map((_, i) => `${i}`);
    if (!pairs) return render(['(iteration index)', 'Values'], [indexes, entries.map(show)]);
    return render(['(iteration index)', 'Key', 'Values'], [indexes, entries.map(([key]) => show(key)), entries.map(([, value]) => show(value))]);
  }
  const columns = new Map();
  const values = [];
  const indexes = Object.keys(rows);
  indexes.forEach((index, i) => {
    const row = rows[index];
    if (properties === undefined && isPrimitive(row)) {
      values[i] = show(row);
      return;
    }
    for (const key of properties ?? Object.keys(row)) {
      if (!columns.has(key)) columns.set(key, []);
      columns.get(key)[i] = isPrimitive(row) || !Object.hasOwn(row, key) ? '' : show(row[key]);
    }
  });
  const last = values.length ? [['Values'], [values]] : [[], []];
  return render(['(index)', ...[...columns.keys()].map(String), ...last[0]], [indexes, ...columns.values(), ...last[1]]);
}

module.exports = table;
