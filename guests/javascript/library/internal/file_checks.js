// What the functions of `fs` do not take: evaluated when an argument is not of the plain kind that they know themselves.
'use strict';
const { error, need, needFunction, needInteger, outOfRange, wrongType, wrongValue } = require('internal/arguments');

const buffers = () => require('buffer').Buffer;
const MOST_INT32 = 2 ** 31 - 1;
const MOST_UINT32 = 2 ** 32 - 1;
const BUFFER = 'an instance of Buffer, TypedArray, or DataView';

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isLocation = (value) => isObject(value) && typeof value.href === 'string' && typeof value.protocol === 'string' && value.auth === undefined && value.path === undefined;

// A path as a text, of what may stand for one.
function path(given, name = 'path') {
  let text = isLocation(given) ? fromLocation(given) : given;
  if (text instanceof Uint8Array) text = buffers().from(text.buffer, text.byteOffset, text.byteLength).toString();
  if (typeof text !== 'string') throw wrongType(name, 'of type string or an instance of Buffer or URL', given);
  if (text.includes('\0')) throw wrongValue(name, given, 'must be a string, Uint8Array, or URL without null bytes');
  return text;
}

function fromLocation(url) {
  if (url.protocol === 'file:' && url.hostname) throw error(TypeError, 'ERR_INVALID_FILE_URL_HOST', 'File URL host must be "localhost" or empty on linux');
  return require('url').fileURLToPath(url);
}

function options(given, name = 'options') {
  const settings = typeof given === 'string' ? { encoding: given } : given;
  if (typeof settings !== 'object') throw wrongType(name, 'of type string or an instance of Object', given);
  const { encoding, signal } = settings;
  if (encoding && encoding !== 'buffer' && !buffers().isEncoding(encoding)) throw wrongValue('encoding', encoding, 'is invalid encoding');
  if (signal !== undefined && typeof signal?.aborted !== 'boolean') throw wrongType('options.signal', 'an instance of AbortSignal', signal);
  return settings;
}

function boolean(name, value) {
  return need('boolean', name, value);
}

// Whether what was written is to be brought to the disk.
const flush = (value) => (value === undefined || value === null ? false : boolean('flush', value));

// A whole object of options, which may be missing.
function object(name, value) {
  if (value !== undefined && value !== null && !isObject(value)) throw wrongType(name, 'of type object', value);
  return value ?? {};
}

const descriptor = (given) => needInteger('fd', given, 0, MOST_INT32);

function flags(given) {
  if (typeof given === 'number') return needInteger('flags', given, -(2 ** 31), MOST_INT32);
  throw wrongValue('flags', given);
}

// Of permissions: a number, or a text of octal digits.
function mode(given, name = 'mode') {
  if (typeof given !== 'string') return needInteger(name, given, 0, MOST_UINT32);
  if (!/^[0-7]+$/.test(given)) throw wrongValue(name, given, 'must be a 32-bit unsigned integer or an octal string');
  return needInteger(name, parseInt(given, 8), 0, MOST_UINT32);
}

function owner(user, group) {
  needInteger('uid', user, -1, MOST_UINT32);
  needInteger('gid', group, -1, MOST_UINT32);
}

// In seconds.
function time(given, name = 'time') {
  // eslint-disable-next-line eqeqeq
  if (typeof given === 'string' && +given == given) return +given;
  if (Number.isFinite(given)) return given < 0 ? Date.now() / 1000 : given;
  if (given instanceof Date) return given.getTime() / 1000;
  throw wrongType(name, 'an instance of Date or of type number or string', given);
}

function view(given, name = 'buffer') {
  if (!ArrayBuffer.isView(given)) throw wrongType(name, BUFFER, given);
  return given;
}

function views(given, name = 'buffers') {
  if (!Array.isArray(given) || !given.every((each) => ArrayBuffer.isView(each))) throw wrongType(name, 'an instance of ArrayBufferView[]', given);
  return given;
}

const noData = (name, given) => wrongType(name, `of type string or ${BUFFER}`, given);

// What is to be written as a text, in an encoding that has whole bytes of it.
function text(given, encoding) {
  if (`${encoding}`.toLowerCase() === 'hex' && given.length % 2) throw wrongValue('encoding', encoding, `is invalid for data of length ${given.length}`);
}

// A part of a buffer of so many bytes that is read into.
function readPart(offset, length, size, given) {
  needInteger('offset', offset, 0);
  if (length === 0) return;
  if (size === 0) throw wrongValue('buffer', given, 'is empty and cannot be written');
  if (length < 0) throw outOfRange('length', '>= 0', length);
  if (offset + length > size) throw outOfRange('length', `<= ${size - offset}`, length);
}

// One that is written.
function writePart(offset, length, size) {
  needInteger('offset', offset, 0);
  if (offset > size) throw outOfRange('offset', `<= ${size}`, offset);
  if (length > size - offset) throw outOfRange('length', `<= ${size - offset}`, length);
  needInteger('length', length, 0, MOST_INT32);
}

// From where to read so many bytes; undefined: from where the file is.
function position(given, length) {
  if (typeof given !== 'bigint') {
    if (typeof given !== 'number') throw wrongType('position', 'of type integer or bigint', given);
    return needInteger('position', given, -1) < 0 ? undefined : given;
  }
  const most = 2n ** 63n - 1n - BigInt(length);
  if (given < -1n || given > most) throw outOfRange('position', `>= -1n && <= ${most}n`, given);
  return given < 0n ? undefined : Number(given);
}

// The number of an operation of `copyFile` or `access`.
const number = (name, given, most) => needInteger(name, given, 0, most);

function lengthOf(given, name = 'len') {
  return Math.max(0, needInteger(name, given));
}

function removal(given) {
  const settings = object('options', given);
  const { recursive = false, force = false, retryDelay = 100, maxRetries = 0 } = settings;
  for (const [name, value] of Object.entries({ recursive, force })) boolean(`options.${name}`, value);
  needInteger('options.retryDelay', retryDelay, 0, MOST_INT32);
  needInteger('options.maxRetries', maxRetries, 0, MOST_UINT32);
  return { recursive, force };
}

const aborted = (signal) => Object.assign(new Error('The operation was aborted', { cause: signal.reason }), { name: 'AbortError', code: 'ABORT_ERR' });

// The same name in another encoding.
function named(name, encoding) {
  const bytes = buffers().from(name);
  return encoding === 'buffer' ? bytes : bytes.toString(encoding);
}

module.exports = {
  aborted, boolean, descriptor, flags, flush, lengthOf, mode, named, needFunction, noData, number, object, options, owner, path, position, readPart, removal, text, time, view, views, writePart,
};
