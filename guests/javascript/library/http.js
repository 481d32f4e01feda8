// The module `http`: messages as objects; requests and servers answer that there is no network.
'use strict';
const { Buffer } = require('buffer');
const net = require('net');
const { error, need, needInteger, outOfRange, wrongType } = require('internal/arguments');
const { hasInvalid, isToken, validateHeaderName, validateHeaderValue } = require('internal/http_common');
const { IncomingMessage } = require('internal/http_incoming');
const { OutgoingMessage, checkUnsent } = require('internal/http_outgoing');

const METHODS = ['ACL', 'BIND', 'CHECKOUT', 'CONNECT', 'COPY', 'DELETE', 'GET', 'HEAD', 'LINK', 'LOCK', 'M-SEARCH', 'MERGE', 'MKACTIVITY', 'MKCALENDAR', 'MKCOL', 'MOVE', 'NOTIFY', 'OPTIONS', 'PATCH', 'POST', 'PROPFIND', 'PROPPATCH', 'PURGE', 'PUT', 'QUERY', 'REBIND', 'REPORT', 'SEARCH', 'SOURCE', 'SUBSCRIBE', 'TRACE', 'UNBIND', 'UNLINK', 'UNLOCK', 'UNSUBSCRIBE'];
const STATUS_CODES = {
  100: 'Continue', 101: 'Switching Protocols', 102: 'Processing', 103: 'Early Hints',
  200: 'OK', 201: 'Created', 202: 'Accepted', 203: 'Non-Authoritative Information', 204: 'No Content', 205: 'Reset Content', 206: 'Partial Content', 207: 'Multi-Status', 208: 'Already Reported', 226: 'IM Used',
  300: 'Multiple Choices', 301: 'Moved Permanently', 302: 'Found', 303: 'See Other', 304: 'Not Modified', 305: 'Use Proxy', 307: 'Temporary Redirect', 308: 'Permanent Redirect',
  400: 'Bad Request', 401: 'Unauthorized', 402: 'Payment Required', 403: 'Forbidden', 404: 'Not Found', 405: 'Method Not Allowed', 406: 'Not Acceptable', 407: 'Proxy Authentication Required', 408: 'Request Timeout', 409: 'Conflict', 410: 'Gone', 411: 'Length Required', 412: 'Precondition Failed', 413: 'Payload Too Large', 414: 'URI Too Long', 415: 'Unsupported Media Type', 416: 'Range Not Satisfiable', 417: 'Expectation Failed', 418: "I'm a Teapot", 421: 'Misdirected Request', 422: 'Unprocessable Entity', 423: 'Locked', 424: 'Failed Dependency', 425: 'Too Early', 426: 'Upgrade Required', 428: 'Precondition Required', 429: 'Too Many Requests', 431: 'Request Header Fields Too Large', 451: 'Unavailable For Legal Reasons',
  500: 'Internal Server Error', 501: 'Not Implemented', 502: 'Bad Gateway', 503: 'Service Unavailable', 504: 'Gateway Timeout', 505: 'HTTP Version Not Supported', 506: 'Variant Also Negotiates', 507: 'Insufficient Storage', 508: 'Loop Detected', 509: 'Bandwidth Limit Exceeded', 510: 'Not Extended', 511: 'Network Authentication Required',
};

// Without `new`, as old code extends it.
function ServerResponse(request) {
  OutgoingMessage.call(this);
  this.req = request;
  this.sendDate = true;
  this._hasBody = request?.method !== 'HEAD';
  this.statusCode = 200;
  this.statusMessage = undefined;
  if (request?.httpVersionMajor < 1 || request?.httpVersionMinor < 1) {
    this.useChunkedEncodingByDefault = /\bchunked\b/i.test(request.headers?.te ?? '');
    this.shouldKeepAlive = false;
  }
}
Object.setPrototypeOf(ServerResponse.prototype, OutgoingMessage.prototype);
Object.setPrototypeOf(ServerResponse, OutgoingMessage);

// Pairs of names and values, from a list of both in turn, a list of pairs, or an object.
function pairsOf(headers) {
  if (!Array.isArray(headers)) return Object.entries(headers ?? {});
  if (Array.isArray(headers[0])) return headers;
  if (headers.length % 2) throw error(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'headers' is invalid. Received ${shared.inspect(headers)}`);
  return headers.flatMap((name, at) => (at % 2 ? [] : [[name, headers[at + 1]]]));
}

Object.assign(ServerResponse.prototype, {
  assignSocket(socket) {
    if (socket._httpMessage) throw error(Error, 'ERR_HTTP_SOCKET_ASSIGNED', 'Socket already assigned');
    socket._httpMessage = this;
    this.socket = socket;
    this.emit('socket', socket);
  },
  detachSocket(socket) {
    if (socket) socket._httpMessage = null;
    this.socket = null;
  },
  _implicitHeader() {
    this.writeHead(this.statusCode);
  },
  writeHead(given, words, headers) {
    checkUnsent(this, 'write');
    const status = Math.trunc(given);
    if (!(status >= 100 && status <= 999)) throw error(RangeError, 'ERR_HTTP_INVALID_STATUS_CODE', `Invalid status code: ${given}`);
    if (typeof words !== 'string') [words, headers] = [undefined, headers ?? words];
    const message = words ?? this.statusMessage ?? STATUS_CODES[status] ?? 'unknown';
    if (hasInvalid(message)) throw error(TypeError, 'ERR_INVALID_CHAR', 'Invalid character in statusMessage');
    this.statusCode = status;
    this.statusMessage = message;
    for (const [name, value] of pairsOf(headers)) this.setHeader(name, value);
    if (status === 204 || status === 304 || status < 200) this._hasBody = false;
    this._storeHeader(`HTTP/1.1 ${status} ${message}\r\n`);
    return this;
  },
  writeHeader(...values) {
    return this.writeHead(...values);
  },
  writeContinue() {},
  writeProcessing() {},
  writeEarlyHints() {},
});

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
  if (protocol !== null && protocol !== expected && !(agent === undefined && !options.defaultProtocol && protocol === 'https:')) {
    throw error(TypeError, 'ERR_INVALID_PROTOCOL', `Protocol "${protocol}" not supported. Expected "${expected}"`);
  }
  if (path && /[^\u0021-\u00ff]/.test(path)) throw error(TypeError, 'ERR_UNESCAPED_CHARACTERS', 'Request path contains unescaped characters');
  if (Array.isArray(headers?.host)) throw wrongType('options.headers.host', 'of type string', headers.host);
  if (insecureHTTPParser !== undefined) need('boolean', 'options.insecureHTTPParser', insecureHTTPParser);
  if (joinDuplicateHeaders !== undefined) need('boolean', 'options.joinDuplicateHeaders', joinDuplicateHeaders);
  if (options.maxHeaderSize !== undefined) needInteger('maxHeaderSize', options.maxHeaderSize, 0);
}

class ClientRequest extends OutgoingMessage {
  constructor(given, more, callback) {
    super();
    const options = optionsOf(given, more);
    checkRequest(options);
    this.host = needHost(options, 'hostname') || needHost(options, 'host') || 'localhost';
    this.method = needMethod(options);
    this.path = options.path || '/';
    this.protocol = options.protocol ?? options.defaultProtocol ?? 'http:';
    this.agent = options.agent ?? (options.agent === false ? new Agent() : globalAgent);
    this.aborted = this.reusedSocket = false;
    this.res = null;
    if (options.timeout !== undefined) this.timeout = needInteger('timeout', options.timeout, 0);
    this.useChunkedEncodingByDefault = !['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'].includes(this.method);
    for (const [name, value] of pairsOf(options.headers)) this.setHeader(name, value);
    this.#addDefaults(options);
    const listener = typeof more === 'function' ? more : callback;
    if (listener) this.once('response', listener);
    if (!this.#connect(options)) return;
    setImmediate(() => {
      if (!this.destroyed) this.destroy(Object.assign(new Error('no network in this sandbox'), { code: 'ENETUNREACH', syscall: 'connect', address: this.host }));
    });
  }
  // A connection that the program makes itself may tell an error of its own; an answer is read from none. False: there will be no connection.
  #connect(options) {
    const { agent } = this;
    const take = (error, socket) => {
      if (error) this.destroy(error);
      else if (socket) this.onSocket(socket);
    };
    if (typeof options.createConnection !== 'function') {
      if (typeof agent.createSocket === 'function') agent.createSocket(this, options, take);
      else if (agent.createConnection && agent.createConnection !== Agent.prototype.createConnection) take(null, agent.createConnection(options, take));
      return true;
    }
    const socket = options.createConnection(options, take);
    if (socket) this.onSocket(socket);
    return Boolean(socket);
  }
  onSocket(socket) {
    this.socket = socket;
    socket.on?.('error', (error) => this.destroy(error));
    process.nextTick(() => this.emit('socket', socket));
  }
  _destroy(error, callback) {
    const failure = error ?? (this.res ? null : Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
    callback(failure);
  }
  #addDefaults({ setHost = true, port, defaultPort, auth }) {
    if (setHost && !this.hasHeader('host')) {
      const isUsual = !port || Number(port) === (defaultPort ?? (this.protocol === 'https:' ? 443 : 80));
      const host = net.isIPv6(this.host) ? `[${this.host}]` : this.host;
      this.setHeader('Host', isUsual ? host : `${host}:${port}`);
    }
    if (auth && !this.hasHeader('authorization')) this.setHeader('Authorization', `Basic ${Buffer.from(auth).toString('base64')}`);
  }
  _implicitHeader() {
    this._storeHeader(`${this.method} ${this.path} HTTP/1.1\r\n`);
  }
  _write(_chunk, _encoding, callback) {
    callback();
  }
  _final(callback) {
    callback();
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

class Server extends net.Server {
  timeout = 0;
  keepAliveTimeout = 5000;
  requestTimeout = 300000;
  headersTimeout = 60000;
  maxHeadersCount = null;
  constructor(options, listener) {
    super();
    const handler = typeof options === 'function' ? options : listener;
    if (handler) this.on('request', handler);
  }
  setTimeout() {
    return this;
  }
  closeAllConnections() {}
  closeIdleConnections() {}
}

class Agent extends require('events') {
  sockets = {};
  freeSockets = {};
  requests = {};
  constructor(options = {}) {
    super();
    this.options = { ...options };
    this.keepAlive = options.keepAlive ?? false;
    this.maxSockets = options.maxSockets ?? Infinity;
    this.maxFreeSockets = options.maxFreeSockets ?? 256;
    this.protocol = 'http:';
    this.defaultPort = 80;
  }
  getName({ host, port, localAddress, family, socketPath } = {}) {
    const rest = `${family === 4 || family === 6 ? `:${family}` : ''}${socketPath ? `:${socketPath}` : ''}`;
    return `${host || 'localhost'}:${port || ''}:${localAddress || ''}${rest}`;
  }
  // What asks waits, for there is nothing that it could be given.
  addRequest(request, options, port, localAddress) {
    const name = this.getName(typeof options === 'string' ? { host: options, port, localAddress } : { ...options, ...this.options });
    (this.requests[name] ??= []).push(request);
  }
  createConnection(...values) {
    return net.connect(...values);
  }
  destroy() {}
}

const globalAgent = new Agent({ keepAlive: true });

const request = (...values) => new ClientRequest(...values);
function get(...values) {
  const made = request(...values);
  made.end();
  return made;
}

module.exports = {
  METHODS,
  STATUS_CODES,
  Agent,
  ClientRequest,
  IncomingMessage,
  OutgoingMessage,
  Server,
  ServerResponse,
  createServer: (options, listener) => new Server(options, listener),
  request,
  get,
  globalAgent,
  maxHeaderSize: 16384,
  validateHeaderName,
  validateHeaderValue,
  setMaxIdleHTTPParsers(max) {
    need('number', 'max', max);
    if (!Number.isInteger(max)) throw outOfRange('max', 'an integer', max);
    require('_http_common').parsers.max = needInteger('max', max, 1);
  },
};
