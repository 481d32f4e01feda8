// The module `net`: connections to the outside, and addresses. Nothing can listen.
'use strict';
const { Buffer } = require('buffer');
const EventEmitter = require('events');
const { Duplex } = require('stream');
const { error, missing, needFunction, wrongType } = require('internal/arguments');
const { refuseListening } = require('internal/refuse');

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

const isIP = (text) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0);

// Pieces that are read before others have their turn.
const AT_ONCE = 16;

// What `connect` was given: options, and a function.
function connectionOf(values) {
  const given = Array.isArray(values[0]) ? values[0] : values;
  const last = given.at(-1);
  const callback = typeof last === 'function' ? last : undefined;
  const [first, host] = given;
  if (typeof first === 'object' && first !== null) return [{ ...first }, callback];
  if (typeof first === 'string' && !/^\d+$/.test(first)) return [{ path: first }, callback];
  return [{ port: first, ...(typeof host === 'string' ? { host } : {}) }, callback];
}

function needPort(port) {
  if (typeof port !== 'number' && typeof port !== 'string') throw wrongType('options.port', 'one of type number or string', port);
  if (`${port}`.trim() !== '' && Number.isInteger(Number(port)) && port >= 0 && port <= 65535) return Number(port);
  throw error(RangeError, 'ERR_SOCKET_BAD_PORT', `options.port should be >= 0 and < 65536. Received ${require('internal/received').received(port)}.`);
}

class Socket extends Duplex {
  connecting = false;
  bytesRead = 0;
  bytesWritten = 0;
  timeout = 0;
  #connection;
  #isWaitedFor = true;
  #isReceiving = false;
  #timer;
  constructor(options = {}) {
    const { allowHalfOpen = false, highWaterMark, readableHighWaterMark, writableHighWaterMark, signal } = options ?? {};
    super({ allowHalfOpen, highWaterMark, readableHighWaterMark, writableHighWaterMark, signal, emitClose: false, decodeStrings: true });
  }
  connect(...values) {
    const [options, callback] = connectionOf(values);
    if (callback) this.once('connect', callback);
    this.connecting = true;
    if (options.path !== undefined) {
      process.nextTick(() => this.destroy(Object.assign(new Error(`connect EACCES ${options.path}: there are no sockets of files in this sandbox`), { code: 'EACCES', errno: -13, syscall: 'connect', address: options.path })));
      return this;
    }
    if (options.port === undefined) throw missing('options', 'port', 'path');
    const port = needPort(options.port);
    if (options.lookup !== undefined) needFunction('options.lookup', options.lookup);
    const host = options.host || 'localhost';
    if (typeof host !== 'string') throw wrongType('options.host', 'of type string', host);
    this._host = host;
    process.nextTick(() => this.#lookUp(host, options, (address) => this.#connect(address, port, options)));
    return this;
  }
  #lookUp(host, { lookup = require('dns').lookup, family = 0, hints = 0 }, callback) {
    if (this.destroyed) return;
    if (isIP(host)) return void callback(host);
    lookup(host, { family, hints, all: false }, (failure, address, kind) => {
      if (this.destroyed) return;
      this.emit('lookup', failure, address, kind, host);
      if (failure) this.destroy(failure);
      else callback(Array.isArray(address) ? address[0].address : address);
    });
  }
  #connect(address, port, options) {
    this.remoteAddress = address;
    this.remotePort = port;
    this.remoteFamily = isIPv6(address) ? 'IPv6' : 'IPv4';
    this._open(address, port, options, (failure, connection) => {
      if (this.destroyed || failure) connection?.close();
      if (failure) this.destroy(failure);
      else if (!this.destroyed) this._take(connection);
    });
  }
  // Calls back with an error, or with a connection.
  _open(address, port, _options, callback) {
    const { Connection } = require('internal/connection');
    let connection;
    try {
      // What is looked up as `localhost` is asked for by that name.
      connection = new Connection(address === '127.0.0.1' && this._host === 'localhost' ? 'localhost' : require('internal/names').nameOf(address), port);
    } catch (failure) {
      callback(failure);
      return;
    }
    callback(null, connection);
  }
  _take(connection) {
    this.#connection = connection;
    connection.waitFor(this.#isWaitedFor);
    this.connecting = false;
    this._act();
    this.emit('connect');
    this.emit('ready');
    if (this.isPaused?.() !== true) this.read(0);
  }
  // The connection, for who goes on with it.
  _give() {
    const connection = this.#connection;
    this.#connection = undefined;
    return connection;
  }
  #whenConnected(act) {
    if (this.#connection || !this.connecting) act();
    else this.once('connect', act);
  }
  _read() {
    if (this.#connection) this.#receive(AT_ONCE);
    else this.once('connect', () => this._read());
  }
  #receive(left) {
    if (this.#isReceiving || !this.#connection) return;
    this.#isReceiving = true;
    this.#connection.receive((failure, piece) => {
      this.#isReceiving = false;
      if (this.destroyed) return;
      this._act();
      if (failure) return void this.destroy(failure);
      this.bytesRead += piece?.length ?? 0;
      if (!this.push(piece) || piece === null) return;
      if (left > 1) this.#receive(left - 1);
      else setImmediate(() => this.#receive(AT_ONCE));
    });
  }
  _write(chunk, _encoding, callback) {
    this.#whenConnected(() => {
      this._act();
      if (!this.#connection) return void callback(error(Error, 'ERR_SOCKET_CLOSED', 'Socket is closed'));
      this.#connection.send(chunk, (failure) => {
        this._act();
        if (!failure) this.bytesWritten += chunk.length;
        callback(failure);
      });
    });
  }
  _writev(chunks, callback) {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'buffer', callback);
  }
  _final(callback) {
    this.#whenConnected(() => {
      this.#connection?.finish();
      callback();
    });
  }
  _destroy(failure, callback) {
    clearTimeout(this.#timer);
    this.connecting = false;
    this.#connection?.close();
    callback(failure);
    process.nextTick(() => this.emit('close', Boolean(failure)));
  }
  // Something happens: the time of silence begins anew.
  _act() {
    this.#timer?.refresh();
  }
  setTimeout(milliseconds, callback) {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.timeout = milliseconds;
    if (callback !== undefined) needFunction('callback', callback);
    if (milliseconds > 0) {
      this.#timer = setTimeout(() => this.emit('timeout'), milliseconds).unref();
      if (callback) this.once('timeout', callback);
    } else if (callback) this.removeListener('timeout', callback);
    return this;
  }
  ref() {
    this.#isWaitedFor = true;
    this.#connection?.waitFor(true);
    return this;
  }
  unref() {
    this.#isWaitedFor = false;
    this.#connection?.waitFor(false);
    return this;
  }
  setNoDelay() {
    return this;
  }
  setKeepAlive() {
    return this;
  }
  address() {
    return this.#connection ? { address: '0.0.0.0', family: 'IPv4', port: 0 } : {};
  }
  destroySoon() {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }
  resetAndDestroy() {
    return this.destroy();
  }
  get pending() {
    return !this.#connection;
  }
  get readyState() {
    if (this.connecting) return 'opening';
    if (this.readable) return this.writable ? 'open' : 'readOnly';
    return this.writable ? 'writeOnly' : 'closed';
  }
  get bufferSize() {
    return this.writableLength;
  }
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
    setImmediate(() => this.emit('error', refuseListening()));
    return this;
  }
  close(callback) {
    const failure = Object.assign(new Error('Server is not running.'), { code: 'ERR_SERVER_NOT_RUNNING' });
    setImmediate(() => callback?.(failure));
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

function connect(...values) {
  const [options] = connectionOf(values);
  const socket = new Socket(options);
  if (options.timeout) socket.setTimeout(options.timeout);
  return (shared.asides.value = socket.connect(...values));
}

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
  isIP,
  isIPv4,
  isIPv6,
};
