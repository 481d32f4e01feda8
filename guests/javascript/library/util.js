// The module `util`.
'use strict';
const { received } = require('internal/received');
const { Buffer } = require('buffer');
const { format, inspect } = shared;
const isDeepEqual = require('internal/equal');
const types = require('util/types');

function refuse(Kind, code, message) {
  throw Object.assign(new Kind(message), { code });
}

function needFunction(name, value) {
  if (typeof value !== 'function') refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be of type function. Received ${received(value)}`);
}

const promisified = Symbol.for('nodejs.util.promisify.custom');
function promisify(callback) {
  needFunction('original', callback);
  if (callback[promisified]) {
    needFunction('util.promisify.custom', callback[promisified]);
    return Object.defineProperty(callback[promisified], promisified, { value: callback[promisified], configurable: true });
  }
  const asked = function (...values) {
    return new Promise((resolve, reject) => {
      callback.call(this, ...values, (error, value) => (error ? reject(error) : resolve(value)));
    });
  };
  Object.setPrototypeOf(asked, Object.getPrototypeOf(callback));
  Object.defineProperty(asked, promisified, { value: asked, configurable: true });
  return Object.defineProperties(asked, Object.getOwnPropertyDescriptors(callback));
}
promisify.custom = promisified;

function callbackify(work) {
  needFunction('original', work);
  return function (...values) {
    const callback = values.pop();
    needFunction('last argument', callback);
    const failed = (reason) => {
      const error = reason || Object.assign(new Error('Promise was rejected with falsy value'), { reason, code: 'ERR_FALSY_VALUE_REJECTION' });
      queueMicrotask(() => callback.call(this, error));
    };
    work.apply(this, values).then((value) => queueMicrotask(() => callback.call(this, null, value)), failed);
  };
}

function inherits(constructor, parent) {
  needFunction('ctor', constructor);
  needFunction('superCtor', parent);
  Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

const told = new Set();
function deprecate(work, message, code) {
  if (process.noDeprecation) return work;
  let warned = false;
  return function (...values) {
    if (!warned && !told.has(code ?? message)) {
      warned = true;
      told.add(code ?? message);
      process.emitWarning(message, 'DeprecationWarning', code);
    }
    return new.target ? Reflect.construct(work, values, new.target) : work.apply(this, values);
  };
}

// Escapes of a terminal: colours, and what moves the cursor.
const escapes = /[\u001b\u009b](?:\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[[\]()#;?]*(?:\d{1,4}(?:[;:]\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~])/g;
function stripVTControlCharacters(text) {
  if (typeof text !== 'string') refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "str" argument must be of type string. Received ${received(text)}`);
  return text.replace(escapes, '');
}

inspect.colors ??= Object.assign(Object.create(null), {
  reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25], inverse: [7, 27], hidden: [8, 28], strikethrough: [9, 29], doubleunderline: [21, 24],
  black: [30, 39], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39], gray: [90, 39], grey: [90, 39],
  bgBlack: [40, 49], bgRed: [41, 49], bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49], bgMagenta: [45, 49], bgCyan: [46, 49], bgWhite: [47, 49], bgGray: [100, 49],
  redBright: [91, 39], greenBright: [92, 39], yellowBright: [93, 39], blueBright: [94, 39], magentaBright: [95, 39], cyanBright: [96, 39], whiteBright: [97, 39],
  framed: [51, 54], overlined: [53, 55],
});
inspect.styles ??= Object.assign(Object.create(null), { special: 'cyan', number: 'yellow', bigint: 'yellow', boolean: 'yellow', undefined: 'grey', null: 'bold', string: 'green', symbol: 'green', date: 'magenta', regexp: 'red', module: 'underline' });

// A stream that is no terminal gets no colours, unless it is not looked at.
function styleText(style, text, { validateStream = true, stream = process.stdout } = {}) {
  if (typeof text !== 'string') refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "text" argument must be of type string. Received ${received(text)}`);
  let [before, after] = ['', ''];
  for (const name of [style].flat()) {
    if (name === 'none') continue;
    const codes = inspect.colors[name];
    if (!codes) refuse(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'format' must be one of: ${Object.keys(inspect.colors).join(', ')}. Received ${inspect(name)}`);
    before += `\u001b[${codes[0]}m`;
    after = `\u001b[${codes[1]}m${after}`;
  }
  const colours = !validateStream || (process.env.FORCE_COLOR && process.env.FORCE_COLOR !== '0') || (stream?.isTTY && !process.env.NO_COLOR);
  return colours ? before + text + after : text;
}

function debuglog(section) {
  const enabled = () => (process.env.NODE_DEBUG ?? '').split(',').some((each) => new RegExp(`^${RegExp.escape?.(each) ?? each}$`.replaceAll('\\*', '.*'), 'i').test(section) && each);
  const log = (...values) => {
    if (enabled()) console.error(`${section.toUpperCase()} ${process.pid}: ${format(values)}`);
  };
  return Object.defineProperty(log, 'enabled', { get: () => Boolean(enabled()) });
}

const { errno } = require('os').constants;
const errorNames = new Map(Object.entries(errno).map(([name, number]) => [-number, name]));

class MIMEParams extends Map {
  toString() {
    return [...this].map(([name, value]) => `${name}=${/^[\w!#$%&'*+.^`|~-]+$/.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`).join(';');
  }
}

class MIMEType {
  constructor(text) {
    const [, type, subtype, rest] = /^\s*([\w!#$%&'*+.^`|~-]+)\/([\w!#$%&'*+.^`|~-]+)\s*((?:;.*)?)$/s.exec(`${text}`) ?? refuse(TypeError, 'ERR_INVALID_MIME_SYNTAX', `The MIME syntax for "${text}" is invalid`);
    this.type = type.toLowerCase();
    this.subtype = subtype.toLowerCase();
    this.params = new MIMEParams();
    for (const [, name, quoted, plain] of rest.matchAll(/;\s*([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^;]*))/g)) {
      if (!this.params.has(name.toLowerCase())) this.params.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? plain.trimEnd());
    }
  }
  get essence() {
    return `${this.type}/${this.subtype}`;
  }
  toString() {
    const params = this.params.toString();
    return params ? `${this.essence};${params}` : this.essence;
  }
  toJSON() {
    return this.toString();
  }
}

module.exports = {
  inspect,
  format: (...values) => format(values),
  formatWithOptions: (_options, ...values) => format(values),
  promisify,
  callbackify,
  inherits,
  deprecate,
  debuglog,
  debug: debuglog,
  isDeepStrictEqual: (left, right) => isDeepEqual(left, right, true),
  stripVTControlCharacters,
  styleText,
  types,
  TextEncoder,
  TextDecoder,
  MIMEType,
  MIMEParams,
  parseArgs: (options) => require('@pkgjs/parseargs/index.js').parseArgs({ args: process.argv.slice(2), ...options }),
  toUSVString: (text) => `${text}`.toWellFormed(),
  getSystemErrorName: (number) => errorNames.get(number),
  getSystemErrorMap: () => new Map([...errorNames].map(([number, name]) => [number, [name, name]])),
  aborted: (signal) => new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }))),
  transferableAbortController: () => new AbortController(),
  transferableAbortSignal: (signal) => signal,
  getCallSites: () => [],
  parseEnv,
  isArray: Array.isArray,
  isBoolean: (value) => typeof value === 'boolean',
  isBuffer: (value) => Buffer.isBuffer(value),
  isDate: types.isDate,
  isError: (value) => value instanceof Error || types.isNativeError(value),
  isFunction: (value) => typeof value === 'function',
  isNull: (value) => value === null,
  isNullOrUndefined: (value) => value === null || value === undefined,
  isNumber: (value) => typeof value === 'number',
  isObject: (value) => typeof value === 'object' && value !== null,
  isPrimitive: (value) => value === null || (typeof value !== 'object' && typeof value !== 'function'),
  isRegExp: types.isRegExp,
  isString: (value) => typeof value === 'string',
  isSymbol: (value) => typeof value === 'symbol',
  isUndefined: (value) => value === undefined,
  _extend: (target, source) => (typeof source === 'object' && source !== null ? Object.assign(target, source) : target),
};

function parseEnv(text) {
  const result = {};
  const line = /^\s*(?:export\s+)?([\w.-]+)\s*=[^\S\n]*("(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`|[^\n#]*)/gm;
  for (const [, name, given] of `${text}`.matchAll(line)) {
    const value = given.trim();
    const quote = /^(["'`])([^]*)\1$/.exec(value);
    result[name] = !quote ? value : quote[1] === '"' ? quote[2].replaceAll('\\n', '\n') : quote[2];
  }
  return result;
}
