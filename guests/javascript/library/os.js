// The module `os`: one quiet machine with one user.
'use strict';

// Linux's numbers.
const signals = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9, SIGUSR1: 10, SIGSEGV: 11, SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGCHLD: 17, SIGCONT: 18, SIGSTOP: 19, SIGTSTP: 20, SIGTTIN: 21, SIGTTOU: 22, SIGWINCH: 28, SIGIO: 29, SIGSYS: 31 };
const errors = { EPERM: 1, ENOENT: 2, EINTR: 4, EIO: 5, EBADF: 9, EAGAIN: 11, ENOMEM: 12, EACCES: 13, EBUSY: 16, EEXIST: 17, EXDEV: 18, ENODEV: 19, ENOTDIR: 20, EISDIR: 21, EINVAL: 22, EMFILE: 24, EFBIG: 27, ENOSPC: 28, ESPIPE: 29, EROFS: 30, EMLINK: 31, EPIPE: 32, ENAMETOOLONG: 36, ENOSYS: 38, ENOTEMPTY: 39, ELOOP: 40, ENOTSUP: 95, EADDRINUSE: 98, ECONNREFUSED: 111, ETIMEDOUT: 110, ECONNRESET: 104 };
const priority = { PRIORITY_LOW: 19, PRIORITY_BELOW_NORMAL: 10, PRIORITY_NORMAL: 0, PRIORITY_ABOVE_NORMAL: -7, PRIORITY_HIGH: -14, PRIORITY_HIGHEST: -20 };

// What a run is given at most, as the memory of an instance of 32 bits.
const MEMORY = 2 ** 32;

const home = () => process.env.HOME ?? '/tmp';

const refuse = (Kind, code, message, more) => {
  throw Object.assign(new Kind(message), { code, ...more });
};
function checkInteger(name, value, least, most) {
  const { received } = require('internal/received');
  if (typeof value !== 'number') refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be of type number. Received ${received(value)}`);
  const range = !Number.isInteger(value) ? 'an integer' : value < least || value > most ? `>= ${least} && <= ${most}` : undefined;
  if (range) refuse(RangeError, 'ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be ${range}. Received ${shared.inspect(value, { numericSeparator: true })}`);
}

// Of the one process; nothing comes of it.
let ownPriority = 0;
function checkProcess(pid, syscall) {
  checkInteger('pid', pid, -(2 ** 31), 2 ** 31 - 1);
  if (pid === 0 || pid === process.pid) return;
  const info = { errno: -3, code: 'ESRCH', message: 'no such process', syscall };
  refuse(Error, 'ERR_SYSTEM_ERROR', `A system error occurred: ${syscall} returned ESRCH (no such process)`, { name: 'SystemError', info, errno: -3, syscall });
}
function getPriority(pid = 0) {
  checkProcess(pid, 'uv_os_getpriority');
  return ownPriority;
}
function setPriority(pid, given) {
  if (given === undefined) [pid, given] = [0, pid];
  checkInteger('pid', pid, -(2 ** 31), 2 ** 31 - 1);
  checkInteger('priority', given, priority.PRIORITY_HIGHEST, priority.PRIORITY_LOW);
  checkProcess(pid, 'uv_os_setpriority');
  ownPriority = given;
}

function userInfo(options) {
  const user = { uid: 1000, gid: 1000, username: 'sandbox', homedir: home(), shell: '/bin/sh' };
  if (options?.encoding !== 'buffer') return user;
  return Object.fromEntries(Object.entries(user).map(([name, value]) => [name, typeof value === 'string' ? Buffer.from(value) : value]));
}

const temporary = () => process.env.TMPDIR || process.env.TMP || process.env.TEMP || '/tmp';

module.exports = {
  constants: { UV_UDP_REUSEADDR: 4, signals, errno: errors, priority, dlopen: {} },
  arch: () => process.arch,
  platform: () => process.platform,
  type: () => 'Linux',
  release: () => '5.15.0-sandbox',
  version: () => '#1 SMP PREEMPT sandbox',
  machine: () => 'wasm32',
  hostname: () => process.env.HOSTNAME ?? 'dormouse',
  homedir: home,
  tmpdir: () => temporary().replace(/(?<=.)\/$/, ''),
  endianness: () => 'LE',
  cpus: () => [{ model: 'WebAssembly', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }],
  availableParallelism: () => 1,
  loadavg: () => [0, 0, 0],
  uptime: () => process.uptime(),
  totalmem: () => MEMORY,
  freemem: () => MEMORY - process.memoryUsage().rss,
  networkInterfaces: () => ({}),
  userInfo,
  getPriority,
  setPriority,
};
for (const [name, value] of [['EOL', '\n'], ['devNull', '/dev/null']]) Object.defineProperty(module.exports, name, { value, enumerable: true, configurable: true });
// As texts and numbers they are what they would give.
for (const name of ['arch', 'platform', 'type', 'release', 'version', 'machine', 'hostname', 'homedir', 'tmpdir', 'endianness', 'availableParallelism', 'uptime', 'totalmem', 'freemem']) {
  const { [name]: ask } = module.exports;
  Object.defineProperty(ask, Symbol.toPrimitive, { value: () => ask(), configurable: true });
}
