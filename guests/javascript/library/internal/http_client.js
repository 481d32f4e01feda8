// Requests of the modules `http` and `https`.
'use strict';
const { Buffer } = require('buffer');
const net = require('net');
const { error, need, needInteger, wrongType } = require('internal/arguments');
const { globalAgent } = require('internal/http_agent');
const { isToken, pairsOf } = require('internal/http_common');
const { begin, isStandIn } = require('internal/http_exchange');
const { OutgoingMessage } = require('internal/http_outgoing');

function optionsOf(given, more) {
  const base = typeof given === 'string' ? new URL(given) : given;
  return { ...(base instanceof URL ? require('url').urlToHttpOptions(base) : base), ...(typeof more === 'object' ? more : {}) };
}

function needHost(options, name) {
  const host = options[name];
  if (host !== null && host !== undefined && typeof host !== 'string') throw wrongType(`options.${name}`, 'of type string or one of undefined or null', host);
  return host;
}

function needMethod({ method }) {
  if (method === null || method === undefined || method === '') return 'GET';
  if (!isToken(need('string', 'options.method', method))) throw error(TypeError, 'ERR_INVALID_HTTP_TOKEN', `Method must be a valid HTTP token ["${method}"]`);
  return method.toUpperCase();
}

function checkRequest(options) {
  const { agent, path, headers, insecureHTTPParser, joinDuplicateHeaders } = options;
  if (agent !== undefined && agent !== null && agent !== false && typeof agent.addRequest !== 'function') throw wrongType('options.agent', 'one of Agent-like Object, undefined, or false', agent);
  const expected = agent?.protocol ?? options.defaultProtocol ?? 'http:';
  const { protocol = expected } = options;
  const isKnown = protocol === expected || protocol === options.defaultProtocol;
  if (protocol !== null && !isKnown && !(agent === undefined && !options.defaultProtocol && protocol === 'https:')) {
    throw error(TypeError, 'ERR_INVALID_PROTOCOL', `Protocol "${protocol}" not supported. Expected "${expected}"`);
  }
  if (path && /[^\u0021-\u00ff]/.test(path)) throw error(TypeError, 'ERR_UNESCAPED_CHARACTERS', 'Request path contains unescaped characters');
  if (Array.isArray(headers?.host)) throw wrongType('options.headers.host', 'of type string', headers.host);
  if (insecureHTTPParser !== undefined) need('boolean', 'options.insecureHTTPParser', insecureHTTPParser);
  if (joinDuplicateHeaders !== undefined) need('boolean', 'options.joinDuplicateHeaders', joinDuplicateHeaders);
  if (options.maxHeaderSize !== undefined) needInteger('maxHeaderSize', options.maxHeaderSize, 0);
}

const usualPort = (protocol) => (protocol === 'https:' ? 443 : 80);
const hangUp = () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });

// Calls back when a promise is settled. What cannot be sent is told with the answer.
function settle(promise, callback) {
  const tell = () => process.nextTick(callback);
  promise.then(tell, tell);
}

class ClientRequest extends OutgoingMessage {
  // What is to be done once there is a socket.
  #waiting = [];
  #isReady = false;
  // Whether the host has the head.
  #isBegun = false;
  #listeners = {
    error: (reason) => this.destroy(reason),
    close: () => this.#lose(),
    timeout: () => {
      this.emit('timeout');
      this.res?.emit('timeout');
    },
  };
  constructor(given, more, callback) {
    super();
    const options = optionsOf(given, more);
    checkRequest(options);
    this.host = needHost(options, 'hostname') || needHost(options, 'host') || 'localhost';
    this.method = needMethod(options);
    this.path = options.path || '/';
    this.protocol = options.protocol ?? options.agent?.protocol ?? options.defaultProtocol ?? 'http:';
    this.port = Number(options.port || options.defaultPort) || usualPort(this.protocol);
    const usualAgent = options._defaultAgent ?? globalAgent;
    this.agent = options.agent === false ? new usualAgent.constructor() : (options.agent ?? usualAgent);
    this.aborted = this.reusedSocket = false;
    this.res = this.maxHeadersCount = null;
    this.joinDuplicateHeaders = options.joinDuplicateHeaders;
    if (options.timeout !== undefined) this.timeout = needInteger('timeout', options.timeout, 0);
    this.useChunkedEncodingByDefault = !['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'].includes(this.method);
    for (const [name, value] of pairsOf(options.headers)) this.setHeader(name, value);
    this.#addDefaults(options);
    const listener = typeof more === 'function' ? more : callback;
    if (listener) this.once('response', listener);
    if (options.signal) this.#follow(options.signal);
    if (this.hasHeader('expect')) this.flushHeaders();
    this.#connect({ ...options, protocol: this.protocol, host: this.host, port: this.port });
  }
  #follow(signal) {
    const stop = () => this.destroy(Object.assign(new Error('The operation was aborted', { cause: signal.reason }), { name: 'AbortError', code: 'ABORT_ERR' }));
    if (signal.aborted) process.nextTick(stop);
    else signal.addEventListener('abort', stop, { once: true, [shared.resists]: true });
    this.once('close', () => signal.removeEventListener('abort', stop));
  }
  #addDefaults({ setHost = true, auth, defaultPort }) {
    if (setHost && !this.hasHeader('host')) {
      const host = net.isIPv6(this.host) ? `[${this.host}]` : this.host;
      this.setHeader('Host', this.port === (defaultPort ?? usualPort(this.protocol)) ? host : `${host}:${this.port}`);
    }
    if (auth && !this.hasHeader('authorization')) this.setHeader('Authorization', `Basic ${Buffer.from(auth).toString('base64')}`);
  }
  // Whether another protocol is asked for, which the program speaks itself.
  get _upgrades() {
    return this.method === 'CONNECT' || (this.hasHeader('upgrade') && /\bupgrade\b/i.test(`${this.getHeader('connection') ?? ''}`));
  }
  #connect(options) {
    const { createConnection, socketPath } = options;
    if (socketPath) {
      const failure = Object.assign(new Error(`connect EACCES ${socketPath}: there are no sockets of files in this sandbox`), { code: 'EACCES', errno: -13, syscall: 'connect', address: socketPath });
      process.nextTick(() => this.onSocket(null, failure));
    } else if (typeof createConnection === 'function') {
      let isTaken = false;
      const take = (failure, socket) => {
        if (isTaken || (!failure && !socket)) return;
        isTaken = true;
        this.onSocket(socket, failure);
      };
      take(null, createConnection({ ...options, path: undefined }, take));
    } else this.agent.addRequest(this, options);
  }
  onSocket(socket, failure) {
    if (failure || this.destroyed) {
      if (failure) this.destroy(failure);
      socket?.destroy?.();
      return;
    }
    this.socket = socket;
    for (const [event, listener] of Object.entries(this.#listeners)) socket.on?.(event, listener);
    if (this.timeout) socket.setTimeout?.(this.timeout);
    if (!isStandIn(socket)) require('internal/http_socket').listen(this, socket);
    process.nextTick(() => {
      if (this.destroyed) return;
      this.#isReady = true;
      this.emit('socket', socket);
      for (const act of this.#waiting.splice(0)) act();
    });
  }
  // The socket goes on without the request.
  _leave() {
    for (const [event, listener] of Object.entries(this.#listeners)) this.socket.removeListener(event, listener);
    this.socket = null;
  }
  #lose() {
    if (!this.res) this.destroy();
    else if (!this.res.complete) this.res._abort(hangUp());
  }
  #whenReady(act) {
    if (this.#isReady) act();
    else this.#waiting.push(act);
  }
  #begin(hasBody) {
    if (this.#isBegun) return;
    this.#isBegun = true;
    begin(this, hasBody);
    if (this.hasHeader('expect')) process.nextTick(() => this.emit('continue'));
  }
  _write(chunk, encoding, callback) {
    this.#whenReady(() => {
      if (!isStandIn(this.socket)) return void super._write(chunk, encoding, callback);
      if (chunk.length) this.#begin(true);
      this.socket._act();
      if (chunk.length) settle(this.socket.exchange.write(chunk), callback);
      else callback();
    });
  }
  _final(callback) {
    this.#whenReady(() => {
      if (!isStandIn(this.socket)) return void super._final(callback);
      this.#begin(false);
      settle(this.socket.exchange.finish(), callback);
    });
  }
  flushHeaders() {
    if (!this._header) this._implicitHeader();
    const length = Number(this.getHeader('content-length') ?? NaN);
    const mayHaveBody = length > 0 || this.hasHeader('transfer-encoding') || (length !== 0 && this.useChunkedEncodingByDefault);
    this.#whenReady(() => {
      if (isStandIn(this.socket)) this.#begin(mayHaveBody);
      else super.flushHeaders();
    });
  }
  end(...values) {
    super.end(...values);
    return (shared.asides.value = this);
  }
  // The answer is there.
  _answer(response) {
    if (this.destroyed) return;
    this.res = response;
    response.req = this;
    response.once('end', () => {
      if (this.writableFinished || isStandIn(this.socket)) this.destroy();
      else this.once('finish', () => this.destroy());
    });
    if (!this.emit('response', response)) response._dump();
  }
  _destroy(failure, callback) {
    this.#waiting = [];
    const { res } = this;
    this.socket?.destroy?.();
    if (res && !res.complete) res._abort(failure ?? hangUp());
    callback(failure ?? (res || this._isUpgraded ? null : hangUp()));
  }
  _implicitHeader() {
    this._storeHeader(`${this.method} ${this.path} HTTP/1.1\r\n`);
  }
  abort() {
    if (this.aborted) return;
    this.aborted = true;
    process.nextTick(() => this.emit('abort'));
    this.destroy();
  }
  setNoDelay() {}
  setSocketKeepAlive() {}
}

module.exports = { ClientRequest };
