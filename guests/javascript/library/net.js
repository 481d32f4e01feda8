// The module `net`: addresses are told apart; there is no network.
'use strict';
const EventEmitter = require('events');
const { Duplex } = require('stream');

function isIPv4(text) {
  return /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text);
}

function isIPv6(text) {
  if (typeof text !== 'string' || !text.includes(':')) return false;
  const plain = text.replace(/%[\w.-]+$/, '');
  const tail = /(?<=:)\d+\.\d+\.\d+\.\d+$/.exec(plain)?.[0];
  if (tail && !isIPv4(tail)) return false;
  const groups = tail ? plain.replace(tail, '0:0') : plain;
  const halves = groups.split('::');
  if (halves.length > 2) return false;
  const parts = halves.flatMap((half) => (half ? half.split(':') : []));
  return parts.every((part) => /^[\da-f]{1,4}$/i.test(part)) && (halves.length === 2 ? parts.length < 8 : parts.length === 8);
}

const refusal = (what) => Object.assign(new Error('no network in this sandbox'), { code: 'ENETUNREACH', syscall: what });

// A socket that cannot be connected.
class Socket extends Duplex {
  connecting = false;
  bytesRead = 0;
  bytesWritten = 0;
  connect() {
    this.connecting = true;
    setImmediate(() => this.destroy(refusal('connect')));
    return this;
  }
  _read() {}
  _write(_chunk, _encoding, callback) {
    callback(refusal('write'));
  }
  address() {
    return {};
  }
}
for (const name of ['setTimeout', 'setNoDelay', 'setKeepAlive', 'ref', 'unref']) {
  Socket.prototype[name] = function () {
    return this;
  };
}

// A server that cannot listen.
class Server extends EventEmitter {
  listening = false;
  constructor(options, listener) {
    super();
    const handler = typeof options === 'function' ? options : listener;
    if (handler) this.on('connection', handler);
  }
  listen() {
    setImmediate(() => this.emit('error', refusal('listen')));
    return this;
  }
  close(callback) {
    const error = Object.assign(new Error('Server is not running.'), { code: 'ERR_SERVER_NOT_RUNNING' });
    setImmediate(() => callback?.(error));
    return this;
  }
  address() {
    return null;
  }
  getConnections(callback) {
    setImmediate(() => callback(null, 0));
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
}

const connect = (...values) => new Socket().connect(...values);

// How long a connection is tried by one address before the next one is, and whether it is. They can be set.
let attempt = 250;
let isSelected = true;

module.exports = {
  getDefaultAutoSelectFamily: () => isSelected,
  setDefaultAutoSelectFamily(value) {
    isSelected = Boolean(value);
  },
  getDefaultAutoSelectFamilyAttemptTimeout: () => attempt,
  setDefaultAutoSelectFamilyAttemptTimeout(value) {
    attempt = Math.max(10, value);
  },
  Socket,
  Stream: Socket,
  Server,
  connect,
  createConnection: connect,
  createServer: (options, listener) => new Server(options, listener),
  isIP: (text) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0),
  isIPv4,
  isIPv6,
  getDefaultAutoSelectFamily: () => true,
  setDefaultAutoSelectFamily() {},
};
