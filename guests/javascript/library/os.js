// The module `os`: one quiet machine with one user.
'use strict';

// Linux's numbers.
const signals = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9, SIGUSR1: 10, SIGSEGV: 11, SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGCHLD: 17, SIGCONT: 18, SIGSTOP: 19, SIGTSTP: 20, SIGTTIN: 21, SIGTTOU: 22, SIGWINCH: 28, SIGIO: 29, SIGSYS: 31 };
const errors = { EPERM: 1, ENOENT: 2, EINTR: 4, EIO: 5, EBADF: 9, EAGAIN: 11, ENOMEM: 12, EACCES: 13, EBUSY: 16, EEXIST: 17, EXDEV: 18, ENODEV: 19, ENOTDIR: 20, EISDIR: 21, EINVAL: 22, EMFILE: 24, EFBIG: 27, ENOSPC: 28, ESPIPE: 29, EROFS: 30, EMLINK: 31, EPIPE: 32, ENAMETOOLONG: 36, ENOSYS: 38, ENOTEMPTY: 39, ELOOP: 40, ENOTSUP: 95, EADDRINUSE: 98, ECONNREFUSED: 111, ETIMEDOUT: 110, ECONNRESET: 104 };
const priority = { PRIORITY_LOW: 19, PRIORITY_BELOW_NORMAL: 10, PRIORITY_NORMAL: 0, PRIORITY_ABOVE_NORMAL: -7, PRIORITY_HIGH: -14, PRIORITY_HIGHEST: -20 };

// What a run is given at most, as the memory of an instance of 32 bits.
const MEMORY = 2 ** 32;

const home = () => process.env.HOME ?? '/tmp';

module.exports = {
  EOL: '\n',
  devNull: '/dev/null',
  constants: { UV_UDP_REUSEADDR: 4, signals, errno: errors, priority, dlopen: {} },
  arch: () => process.arch,
  platform: () => process.platform,
  type: () => 'Linux',
  release: () => '5.15.0-sandbox',
  version: () => '#1 SMP PREEMPT sandbox',
  machine: () => 'wasm32',
  hostname: () => process.env.HOSTNAME ?? 'dormouse',
  homedir: home,
  tmpdir: () => (process.env.TMPDIR ?? '/tmp').replace(/(?<=.)\/$/, ''),
  endianness: () => 'LE',
  cpus: () => [{ model: 'WebAssembly', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }],
  availableParallelism: () => 1,
  loadavg: () => [0, 0, 0],
  uptime: () => process.uptime(),
  totalmem: () => MEMORY,
  freemem: () => MEMORY - process.memoryUsage().rss,
  networkInterfaces: () => ({}),
  userInfo: () => ({ uid: 1000, gid: 1000, username: 'sandbox', homedir: home(), shell: '/bin/sh' }),
  getPriority: () => 0,
  setPriority() {},
};
