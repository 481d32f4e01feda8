// What of `process` is seldom asked for. The prelude calls it at its first use.
'use strict';
const { exit } = native;
const { received } = require('internal/received');
const { inspect } = shared;
const { console, performance, process } = globalThis;
const { nextTick } = process;

const USER = 1000;
const NAME = 'sandbox';

const failure = (Kind, code, message, more) => Object.assign(new Kind(message), { code, ...more });
const wrongType = (name, expected, value) => failure(TypeError, 'ERR_INVALID_ARG_TYPE', `The ${name} must be ${expected}. Received ${received(value)}`);
const outOfRange = (name, range, value) => failure(RangeError, 'ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be ${range}. Received ${inspect(value, { numericSeparator: true })}`);

function checkTime(time) {
  if (!Array.isArray(time)) throw wrongType('"time" argument', 'an instance of Array', time);
  if (time.length !== 2) throw outOfRange('time', '2', time.length);
}

const used = () => ({ user: Math.round(performance.now() * 1000), system: 0 });
function cpuUsage(before) {
  const now = used();
  if (!before) return now;
  if (typeof before !== 'object') throw wrongType('"prevValue" argument', 'of type object', before);
  for (const key of ['user', 'system']) if (typeof before[key] !== 'number') throw wrongType(`"prevValue.${key}" property`, 'of type number', before[key]);
  for (const key of ['user', 'system']) {
    if (!(before[key] >= 0 && before[key] <= Number.MAX_SAFE_INTEGER)) throw failure(RangeError, 'ERR_INVALID_ARG_VALUE', `The property 'prevValue.${key}' is invalid. Received ${inspect(before[key])}`);
  }
  return { user: now.user - before.user, system: now.system - before.system };
}

let mask = 0o22;
function umask(given) {
  const old = mask;
  if (given === undefined) return old;
  if (typeof given === 'string') {
    if (!/^[0-7]+$/.test(given)) throw failure(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'mask' must be a 32-bit unsigned integer or an octal string. Received ${inspect(given)}`);
    given = parseInt(given, 8);
  }
  if (typeof given !== 'number') throw wrongType('"mask" argument', 'of type number', given);
  if (!Number.isInteger(given)) throw outOfRange('mask', 'an integer', given);
  if (given < 0 || given > 4294967295) throw outOfRange('mask', '>= 0 && <= 4294967295', given);
  mask = given & 0o777;
  return old;
}

// The number of a user or a group, of which there is one each.
function idOf(name, value, kind) {
  if (typeof value === 'string') {
    if (value === NAME) return USER;
    throw failure(Error, 'ERR_UNKNOWN_CREDENTIAL', `${kind} identifier does not exist: ${value}`);
  }
  if (typeof value !== 'number') throw wrongType(`"${name}" argument`, 'one of type number or string', value);
  if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
  if (value < 0 || value > 4294967295) throw outOfRange(name, '>= 0 && <= 4294967295', value);
  return value;
}

const notPermitted = (syscall) => failure(Error, 'EPERM', `EPERM, Operation not permitted '${syscall}'`, { errno: -1, syscall });
function changeTo(syscall, kind) {
  return (id) => {
    if (idOf('id', id, kind) !== USER) throw notPermitted(syscall);
  };
}

function setgroups(groups) {
  if (!Array.isArray(groups)) throw wrongType('"groups" argument', 'an instance of Array', groups);
  groups.forEach((group, i) => idOf(`groups[${i}]`, group, 'Group'));
  throw notPermitted('setgroups');
}

function initgroups(user, group) {
  for (const [name, value] of [['user', user], ['extraGroup', group]]) if (typeof value !== 'string') idOf(name, value, 'User');
  idOf('extraGroup', group, 'Group');
  idOf('user', user, 'User');
  throw notPermitted('initgroups');
}

const MOST_SIGNALS = 64;
// The only process here is this one, which is its own group, too.
function sendSignal(pid, number) {
  if (number < 0 || number > MOST_SIGNALS) return 'EINVAL';
  if (pid !== process.pid && pid !== 0 && pid !== -1) return 'ESRCH';
  if (number === 0) return 0;
  const { signals } = require('os').constants;
  const name = Object.keys(signals).find((each) => signals[each] === number);
  if (!process.emit(name, name, number)) exit(128 + number);
  return 0;
}

function kill(pid, signal = 'SIGTERM') {
  if (pid != (pid | 0)) throw wrongType('"pid" argument', 'of type number', pid);
  const { errno, signals } = require('os').constants;
  const number = typeof signal === 'number' ? signal : Object.hasOwn(signals, signal) ? signals[signal] : undefined;
  if (number === undefined) throw failure(TypeError, 'ERR_UNKNOWN_SIGNAL', `Unknown signal: ${String(signal)}`);
  const code = process._kill(Number(pid), number);
  if (code) throw failure(Error, code, `kill ${code}`, { errno: -errno[code], syscall: 'kill' });
  return true;
}

function describe(warning) {
  const head = `(node:${process.pid}) ${warning.code ? `[${warning.code}] ` : ''}`;
  const text = typeof warning.toString === 'function' ? `${warning.toString()}` : Error.prototype.toString.call(warning);
  return head + text + (typeof warning.detail === 'string' ? `\n${warning.detail}` : '');
}

function tellOf(warning) {
  if (!(warning.name === 'DeprecationWarning' && process.noDeprecation)) console.error(describe(warning));
  process.emit('warning', warning);
}

function emitWarning(warning, type, code) {
  let detail;
  if (type !== null && typeof type === 'object' && !Array.isArray(type)) {
    ({ code, detail } = type);
    type = type.type || 'Warning';
  } else if (typeof type === 'function') {
    type = 'Warning';
    code = undefined;
  }
  if (type !== undefined && typeof type !== 'string') throw wrongType('"type" argument', 'of type string', type);
  if (typeof code === 'function') code = undefined;
  if (code !== undefined && typeof code !== 'string') throw wrongType('"code" argument', 'of type string', code);
  if (typeof warning === 'string') {
    warning = Object.assign(new Error(warning), { name: type || 'Warning' });
    if (code !== undefined) warning.code = code;
    if (typeof detail === 'string') warning.detail = detail;
  } else if (!(warning instanceof Error)) {
    throw wrongType('"warning" argument', 'of type string or an instance of Error', warning);
  }
  if (warning.name === 'DeprecationWarning') {
    if (process.noDeprecation) return;
    if (process.throwDeprecation) {
      nextTick(() => {
        throw warning;
      });
      return;
    }
  }
  nextTick(tellOf, warning);
}

function setSourceMapsEnabled(value) {
  if (typeof value !== 'boolean') throw wrongType('"val" argument', 'of type boolean', value);
}

function dlopen(module, path) {
  throw failure(Error, 'ERR_DLOPEN_FAILED', `${path}: native code does not run in this sandbox`);
}

let isAssertTold = false;
function assert(holds, message) {
  if (!isAssertTold) process.emitWarning('process.assert() is deprecated. Please use the `assert` module instead.', 'DeprecationWarning', 'DEP0100');
  isAssertTold = true;
  if (!holds) throw failure(Error, 'ERR_ASSERTION', message ?? 'assertion error');
}

function rejection(reason) {
  const text = inspect(reason, { depth: 0 });
  const message = `This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason "${text}".`;
  return Object.defineProperty(failure(Error, 'ERR_UNHANDLED_REJECTION', message), 'name', { value: 'UnhandledPromiseRejection', writable: true, configurable: true });
}

module.exports = {
  _kill: sendSignal,
  assert,
  checkTime,
  cpuUsage,
  dlopen,
  emitWarning,
  initgroups,
  kill,
  rejection,
  setSourceMapsEnabled,
  setegid: changeTo('setegid', 'Group'),
  seteuid: changeTo('seteuid', 'User'),
  setgid: changeTo('setgid', 'Group'),
  setgroups,
  setuid: changeTo('setuid', 'User'),
  umask,
  wrongType,
};
