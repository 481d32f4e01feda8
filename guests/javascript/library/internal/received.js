// How messages of errors name a value that was given, as those of Node.js do.
'use strict';

function received(value) {
  if (value === null || value === undefined) return `${value}`;
  if (typeof value === 'function') return `function ${value.name}`;
  if (typeof value === 'object') return value.constructor?.name ? `an instance of ${value.constructor.name}` : shared.inspect(value, { depth: -1 });
  let shown = shared.inspect(value);
  if (shown.length > 28) shown = `${shown.slice(0, 25)}...`;
  return `type ${typeof value} (${shown})`;
}

module.exports = { received };
