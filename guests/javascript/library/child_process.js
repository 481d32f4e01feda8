// The module `child_process`: there are no processes, and each function says so where a program looks for it that could not be
// started: in an event, to a callback, in an answer, or with an error.
'use strict';
const EventEmitter = require('events');
const { PassThrough } = require('stream');

const CODE = 'ENOSYS';

function failure(what, file, args) {
  const message = `no processes in this sandbox: child_process.${what} cannot start a program`;
  return Object.assign(new Error(message), { code: CODE, errno: -38, syscall: `spawn ${file}`, path: file, spawnargs: args });
}

// Which program is asked for with which arguments.
function asked(file, args) {
  if (typeof file !== 'string') throw Object.assign(new TypeError(`The "file" argument must be of type string. Received ${typeof file}`), { code: 'ERR_INVALID_ARG_TYPE' });
  return [file, Array.isArray(args) ? args : []];
}

// A program that did not start: it says so in a later turn.
class ChildProcess extends EventEmitter {
  pid = undefined;
  connected = false;
  killed = false;
  exitCode = null;
  signalCode = null;
  constructor(error) {
    super();
    this.spawnfile = error?.path;
    this.spawnargs = [error?.path, ...(error?.spawnargs ?? [])];
    [this.stdin, this.stdout, this.stderr] = this.stdio = [new PassThrough(), new PassThrough(), new PassThrough()];
    if (!error) return;
    process.nextTick(() => {
      this.exitCode = error.errno;
      this.stdin.destroy();
      for (const output of [this.stdout, this.stderr]) output.end();
      this.emit('error', error);
      this.emit('close', error.errno, null);
    });
  }
  kill() {
    return false;
  }
  send() {
    throw Object.assign(new Error('Channel closed'), { code: 'ERR_IPC_CHANNEL_CLOSED' });
  }
  disconnect() {}
  ref() {}
  unref() {}
}

const begin = (what) => (file, args) => new ChildProcess(failure(what, ...asked(file, args)));

// With a callback, which gets the error and no output.
function beginAndTell(what) {
  const start = (file, args, ...more) => {
    const child = begin(what)(file, args);
    const callback = [args, ...more].findLast((value) => typeof value === 'function');
    child.on('error', (error) => callback?.(Object.assign(error, { cmd: [file, ...error.spawnargs].join(' '), killed: false, stdout: '', stderr: '' }), '', ''));
    return child;
  };
  const value = (...values) => new Promise((resolve, reject) => start(...values, (error) => reject(error)));
  return Object.defineProperty(start, Symbol.for('nodejs.util.promisify.custom'), { value });
}

const refuse = (what) => (file, args) => {
  throw Object.assign(failure(what, ...asked(file, args)), { status: null, signal: null, stdout: null, stderr: null });
};

module.exports = {
  ChildProcess,
  spawn: begin('spawn'),
  fork: begin('fork'),
  exec: beginAndTell('exec'),
  execFile: beginAndTell('execFile'),
  execSync: refuse('execSync'),
  execFileSync: refuse('execFileSync'),
  spawnSync: (file, args) => ({ error: failure('spawnSync', ...asked(file, args)), status: null, signal: null, output: null, pid: 0, stdout: null, stderr: null }),
};
