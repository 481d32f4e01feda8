// The module `util`.
'use strict';
const { received } = require('internal/received');
const { Buffer } = require('buffer');
const { format, inspect } = shared;
const { withoutEscapes } = shared.layout;
const isDeepEqual = require('internal/equal');
const types = require('util/types');

function refuse(Kind, code, message) {
  throw Object.assign(new Kind(message), { code });
}

function needFunction(name, value) {
  if (typeof value !== 'function') refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be of type function. Received ${received(value)}`);
}

function needString(name, value) {
  if (typeof value !== 'string') refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be of type string. Received ${received(value)}`);
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
  if (parent === undefined || parent === null) needFunction('superCtor', parent);
  if (parent.prototype === undefined) refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "superCtor.prototype" property must be of type object. Received ${received(parent.prototype)}`);
  Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

const told = new Set();
function deprecate(work, message, code) {
  if (code !== undefined) needString('code', code);
  let warned = false;
  const warn = () => {
    if (warned || process.noDeprecation || (code !== undefined && told.has(code))) return;
    warned = true;
    if (code !== undefined) told.add(code);
    process.emitWarning(message, 'DeprecationWarning', code, deprecated);
  };
  function deprecated(...values) {
    warn();
    return new.target ? Reflect.construct(work, values, new.target) : work.apply(this, values);
  }
  Object.setPrototypeOf(deprecated, work);
  if (work.prototype) deprecated.prototype = work.prototype;
  return Object.defineProperty(deprecated, 'length', { ...Object.getOwnPropertyDescriptor(work, 'length') });
}

function stripVTControlCharacters(text) {
  needString('str', text);
  return withoutEscapes(text);
}

function codesOf(name) {
  const codes = typeof name === 'string' ? inspect.colors[name] : undefined;
  if (codes) return codes;
  const known = Object.keys(inspect.colors).map((each) => `'${each}'`);
  refuse(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'format' must be one of: ${known.join(', ')}. Received ${inspect(name)}`);
}

const isStream = (value) => typeof value === 'object' && value !== null && (typeof value.write === 'function' || typeof value.pipe === 'function' || typeof value.getReader === 'function' || typeof value.getWriter === 'function');
function hasColours(stream) {
  const { FORCE_COLOR, NO_COLOR, NODE_DISABLE_COLORS } = process.env;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0';
  return Boolean(stream?.isTTY) && !NO_COLOR && !NODE_DISABLE_COLORS;
}

// A stream that is no terminal gets no colours, unless it is not looked at.
function styleText(style, text, { validateStream = true, stream = process.stdout } = {}) {
  needString('text', text);
  if (typeof validateStream !== 'boolean') refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "options.validateStream" property must be of type boolean. Received ${received(validateStream)}`);
  if (validateStream && !isStream(stream)) refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "stream" argument must be an instance of ReadableStream, WritableStream, or Stream. Received ${received(stream)}`);
  let [before, after] = ['', ''];
  for (const name of Array.isArray(style) ? style : [style]) {
    if (name === 'none') continue;
    const [start, end] = codesOf(name);
    before += `\u001b[${start}m`;
    after = `\u001b[${end}m${after}`;
  }
  return !validateStream || hasColours(stream) ? before + text + after : text;
}

function formatWithOptions(options, ...values) {
  if (typeof options !== 'object' || options === null) refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "inspectOptions" argument must be of type object. Received ${received(options)}`);
  return format(values, options);
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
function log(...values) {
  const now = new Date();
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map((each) => `${each}`.padStart(2, '0')).join(':');
  console.log('%s - %s', `${now.getDate()} ${months[now.getMonth()]} ${time}`, format(values));
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
  formatWithOptions,
  promisify,
  callbackify,
  inherits,
  deprecate,
  debuglog,
  debug: debuglog,
  log,
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
  needString('content', text);
  const result = {};
  const line = /^\s*(?:export\s+)?([\w.-]+)\s*=[^\S\n]*("(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`|[^\n#]*)/gm;
  for (const [, name, given] of `${text}`.matchAll(line)) {
    const value = given.trim();
    const quote = /^(["'`])([^]*)\1$/.exec(value);
    result[name] = !quote ? value : quote[1] === '"' ? quote[2].replaceAll('\\n', '\n') : quote[2];
  }
  return result;
}
