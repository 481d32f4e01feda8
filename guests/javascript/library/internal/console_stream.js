// Consoles that write to streams.
'use strict';
const { received } = require('internal/received');
const { console: globalConsole, consoleMethods, format, inspect } = shared;

const ignore = () => {};
const methodsOf = new WeakMap();

const refuse = (Kind, code, message) => {
  throw Object.assign(new Kind(message), { code });
};

// Unless errors are wanted, what goes wrong with the stream is nobody's concern.
function write(stream, text, depth, ignoresErrors) {
  const space = ' '.repeat(depth);
  const line = `${space}${depth ? text.replaceAll('\n', `\n${space}`) : text}\n`;
  if (!ignoresErrors) return void stream.write(line);
  const forgive = (error) => {
    if (error && !stream._writableState?.errorEmitted && stream.listenerCount('error') === 0) stream.once('error', ignore);
  };
  stream.once?.('error', ignore);
  try {
    stream.write(line, forgive);
  } catch (error) {
    if (error instanceof RangeError) throw error;
  } finally {
    stream.removeListener?.('error', ignore);
  }
}

function checkOptions({ stdout, stderr, colorMode, inspectOptions, groupIndentation }) {
  for (const [name, stream] of [['stdout', stdout], ['stderr', stderr]]) {
    if (typeof stream?.write !== 'function') refuse(TypeError, 'ERR_CONSOLE_WRITABLE_STREAM', `Console expects a writable stream instance for ${name}`);
  }
  if (colorMode !== 'auto' && typeof colorMode !== 'boolean') refuse(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'colorMode' must be one of: 'auto', true, false. Received ${inspect(colorMode)}`);
  if (typeof groupIndentation !== 'number') refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "groupIndentation" argument must be of type number. Received ${received(groupIndentation)}`);
  const range = !Number.isInteger(groupIndentation) ? 'an integer' : groupIndentation < 0 || groupIndentation > 1000 ? '>= 0 && <= 1000' : undefined;
  if (range) refuse(RangeError, 'ERR_OUT_OF_RANGE', `The value of "groupIndentation" is out of range. It must be ${range}. Received ${inspect(groupIndentation)}`);
  if (inspectOptions !== undefined && (typeof inspectOptions !== 'object' || inspectOptions === null)) refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "options.inspectOptions" property must be of type object. Received ${received(inspectOptions)}`);
}

const isColoured = (stream, colorMode) => (colorMode === 'auto' ? Boolean(stream.isTTY) && (typeof stream.getColorDepth !== 'function' || stream.getColorDepth() > 2) : colorMode);

function Console(given, ...others) {
  if (!new.target) return Reflect.construct(Console, arguments);
  const options = given && typeof given.write !== 'function' ? given : { stdout: given, stderr: others[0], ignoreErrors: others[1] };
  const { stdout, stderr = stdout, ignoreErrors = true, colorMode = 'auto', inspectOptions, groupIndentation = 2 } = options ?? {};
  checkOptions({ stdout, stderr, colorMode, inspectOptions, groupIndentation });
  if (inspectOptions?.colors !== undefined && options.colorMode !== undefined) refuse(TypeError, 'ERR_INCOMPATIBLE_OPTION_PAIR', 'Option "options.inspectOptions.color" cannot be used in combination with option "colorMode"');
  let depth = 0;
  const streamOf = (name) => this[`_${name}`];
  const shown = (name) => ({ colors: isColoured(streamOf(name), colorMode), ...inspectOptions });
  const { all, times } = consoleMethods({
    print: (name, values) => write(streamOf(name), format(values, shown(name)), depth, ignoreErrors),
    options: shown,
    move: (change) => void (depth = Math.min(1000, Math.max(0, depth + change))),
    streamOf,
    step: groupIndentation,
  });
  methodsOf.set(this, all);
  const hidden = { _stdout: stdout, _stderr: stderr, _times: times, _ignoreErrors: Boolean(ignoreErrors) };
  for (const [name, value] of Object.entries(hidden)) Object.defineProperty(this, name, { value, writable: true, configurable: true });
  // A class of its own may have other methods; all are bound.
  for (const name of Object.keys(all)) {
    const method = this[name] === Console.prototype[name] ? all[name] : this[name].bind(this);
    Object.defineProperty(this, name, { value: method, writable: true, enumerable: true, configurable: true });
  }
}

for (const name of Object.keys(globalConsole)) {
  if (name === 'Console') continue;
  const { [name]: method } = { [name](...values) { return (methodsOf.get(this) ?? globalConsole)[name](...values); } };
  Object.defineProperty(Console.prototype, name, { value: method, writable: true, enumerable: true, configurable: true });
}
Object.defineProperty(Console, Symbol.hasInstance, { value: (value) => value === globalConsole || methodsOf.has(value) });

module.exports = { Console, write };
