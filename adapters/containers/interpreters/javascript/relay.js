// The relay of the JavaScript interpreter (src/interpreter.rs): starts the interpreter, whose program is its argument, and passes on
// what that says and writes, in frames, until it has ended.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');
const os = require('os');

const CHUNK = 65536;
const DRAINED = 4 << 20; // bytes of one stream that may go before a message
const buffer = Buffer.allocUnsafe(CHUNK);

// A file without a name: Node cannot change a descriptor, so standard input is one file, to which the interpreter adds.
function inputFile() {
  for (const folder of [os.tmpdir(), '/dev/shm', process.cwd()]) {
    try {
      const path = `${folder}/.stdin-${process.pid}-${process.hrtime.bigint()}`;
      const descriptor = fs.openSync(path, 'wx+', 0o600);
      fs.unlinkSync(path);
      return descriptor;
    } catch {
      // The next one.
    }
  }
  return 'ignore';
}

const program = "require('vm').runInThisContext(process.argv[1], { filename: 'dormouse:kernel' })(require)";
const flags = ['--expose-internals', '--experimental-vm-modules', '--no-warnings', '-e', program, '--', process.argv[1]];
const child = spawn(process.execPath, flags, { stdio: [inputFile(), 'pipe', 'pipe', 'pipe'], detached: true });
const messages = child.stdio[3];
const streams = [
  [1, child.stdout],
  [2, child.stderr],
];

function send(channel, data) {
  const head = Buffer.allocUnsafe(5);
  head.writeUInt32BE(data.length, 0);
  head[4] = channel;
  for (const part of [head, data]) {
    for (let at = 0; at < part.length; ) {
      try {
        at += fs.writeSync(1, part, at);
      } catch (error) {
        if (error.code === 'EAGAIN') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
        else end();
      }
    }
  }
}

function end() {
  child.kill('SIGKILL');
  process.exit(0);
}

// What was written before a message goes before it: read past the event loop, until there is nothing more.
function drain() {
  for (const [channel, stream] of streams) {
    const descriptor = stream._handle ? stream._handle.fd : -1;
    for (let left = DRAINED; descriptor >= 0 && left > 0; ) {
      let count = 0;
      try {
        count = fs.readSync(descriptor, buffer, 0, CHUNK, null);
      } catch {
        // Nothing there now.
      }
      if (!count) break;
      left -= count;
      send(channel, buffer.subarray(0, count));
    }
  }
}

function forward(channel, data) {
  for (let at = 0; at < data.length; at += CHUNK) send(channel, data.subarray(at, at + CHUNK));
}

for (const [channel, stream] of streams) stream.on('data', (data) => forward(channel, data));
messages.on('data', (data) => {
  drain();
  forward(3, data);
});
for (const stream of [child.stdout, child.stderr, messages]) stream.on('error', () => {});
process.stdin.on('error', end);
process.stdin.on('end', end);
process.stdin.pipe(messages);

child.on('error', () => process.exit(1));
let ended;
child.on('exit', (exit, signal) => {
  ended = signal ? { signal: os.constants.signals[signal] } : { exit };
  // What is still in the pipes comes first; a process that the snippet left behind may hold them open.
  setTimeout(finish, 200);
});
child.on('close', finish);

function finish() {
  drain();
  send(4, Buffer.from(JSON.stringify(ended || {})));
  process.exit(0);
}
