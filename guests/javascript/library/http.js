// The module `http`: messages as objects; requests and servers answer that there is no network.
'use strict';
const net = require('net');
const { Readable, Writable } = require('stream');

const METHODS = ['ACL', 'BIND', 'CHECKOUT', 'CONNECT', 'COPY', 'DELETE', 'GET', 'HEAD', 'LINK', 'LOCK', 'M-SEARCH', 'MERGE', 'MKACTIVITY', 'MKCALENDAR', 'MKCOL', 'MOVE', 'NOTIFY', 'OPTIONS', 'PATCH', 'POST', 'PROPFIND', 'PROPPATCH', 'PURGE', 'PUT', 'QUERY', 'REBIND', 'REPORT', 'SEARCH', 'SOURCE', 'SUBSCRIBE', 'TRACE', 'UNBIND', 'UNLINK', 'UNLOCK', 'UNSUBSCRIBE'];
const STATUS_CODES = {
  100: 'Continue', 101: 'Switching Protocols', 102: 'Processing', 103: 'Early Hints',
  200: 'OK', 201: 'Created', 202: 'Accepted', 203: 'Non-Authoritative Information', 204: 'No Content', 205: 'Reset Content', 206: 'Partial Content', 207: 'Multi-Status', 208: 'Already Reported', 226: 'IM Used',
  300: 'Multiple Choices', 301: 'Moved Permanently', 302: 'Found', 303: 'See Other', 304: 'Not Modified', 305: 'Use Proxy', 307: 'Temporary Redirect', 308: 'Permanent Redirect',
  400: 'Bad Request', 401: 'Unauthorized', 402: 'Payment Required', 403: 'Forbidden', 404: 'Not Found', 405: 'Method Not Allowed', 406: 'Not Acceptable', 407: 'Proxy Authentication Required', 408: 'Request Timeout', 409: 'Conflict', 410: 'Gone', 411: 'Length Required', 412: 'Precondition Failed', 413: 'Payload Too Large', 414: 'URI Too Long', 415: 'Unsupported Media Type', 416: 'Range Not Satisfiable', 417: 'Expectation Failed', 418: "I'm a Teapot", 421: 'Misdirected Request', 422: 'Unprocessable Entity', 423: 'Locked', 424: 'Failed Dependency', 425: 'Too Early', 426: 'Upgrade Required', 428: 'Precondition Required', 429: 'Too Many Requests', 431: 'Request Header Fields Too Large', 451: 'Unavailable For Legal Reasons',
  500: 'Internal Server Error', 501: 'Not Implemented', 502: 'Bad Gateway', 503: 'Service Unavailable', 504: 'Gateway Timeout', 505: 'HTTP Version Not Supported', 506: 'Variant Also Negotiates', 507: 'Insufficient Storage', 508: 'Loop Detected', 509: 'Bandwidth Limit Exceeded', 510: 'Not Extended', 511: 'Network Authentication Required',
};

function fail(Kind, code, message) {
  return Object.assign(new Kind(message), { code });
}

function validateHeaderName(name) {
  if (typeof name !== 'string' || !/^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/.test(name)) throw fail(TypeError, 'ERR_INVALID_HTTP_TOKEN', `Header name must be a valid HTTP token ["${name}"]`);
}

function validateHeaderValue(name, value) {
  if (value === undefined) throw fail(TypeError, 'ERR_HTTP_INVALID_HEADER_VALUE', `Invalid value "${value}" for header "${name}"`);
  if (/[^\t\x20-\x7e\x80-\xff]/.test(`${value}`)) throw fail(TypeError, 'ERR_INVALID_CHAR', `Invalid character in header content ["${name}"]`);
}

class IncomingMessage extends Readable {
  httpVersion = '1.1';
  httpVersionMajor = 1;
  httpVersionMinor = 1;
  complete = false;
  headers = {};
  rawHeaders = [];
  trailers = {};
  rawTrailers = [];
  url = '';
  method = null;
  statusCode = null;
  statusMessage = null;
  constructor(socket) {
    super();
    this.socket = this.connection = socket;
  }
  _read() {}
  setTimeout() {
    return this;
  }
}

// Without `new`, as old code extends it.
function OutgoingMessage() {
  // What is written to the end is not over: an answer is to come.
  Writable.call(this, { autoDestroy: false });
  this.headersSent = false;
  this.finished = false;
  this.sendDate = true;
  this._headers = new Map();
  this._hasBody = true;
}
Object.setPrototypeOf(OutgoingMessage.prototype, Writable.prototype);
Object.setPrototypeOf(OutgoingMessage, Writable);
Object.assign(OutgoingMessage.prototype, {
  setHeader(name, value) {
    if (this.headersSent) throw fail(Error, 'ERR_HTTP_HEADERS_SENT', 'Cannot set headers after they are sent to the client');
    validateHeaderName(name);
    validateHeaderValue(name, value);
    this._headers.set(name.toLowerCase(), [name, value]);
    return this;
  },
  setHeaders(headers) {
    for (const [name, value] of headers) this.setHeader(name, value);
    return this;
  },
  appendHeader(name, value) {
    const known = this.getHeader(name);
    return this.setHeader(name, known === undefined ? value : [known, value].flat());
  },
  getHeader(name) {
    return this._headers.get(`${name}`.toLowerCase())?.[1];
  },
  getHeaders() {
    return Object.assign(Object.create(null), Object.fromEntries([...this._headers].map(([name, [, value]]) => [name, value])));
  },
  getHeaderNames() {
    return [...this._headers.keys()];
  },
  getRawHeaderNames() {
    return [...this._headers.values()].map(([name]) => name);
  },
  hasHeader(name) {
    return this._headers.has(`${name}`.toLowerCase());
  },
  removeHeader(name) {
    this._headers.delete(`${name}`.toLowerCase());
  },
  flushHeaders() {
    this.headersSent = true;
  },
  addTrailers() {},
  setTimeout() {
    return this;
  },
  // What is written goes to a socket, if there is one: a stand-in of a test, for there is no other.
  _write(chunk, encoding, callback) {
    this.headersSent = true;
    if (this.socket?.write) this.socket.write(chunk, encoding, callback);
    else callback();
  },
  _final(callback) {
    this.headersSent = this.finished = true;
    callback();
  },
});

function ServerResponse(request) {
  OutgoingMessage.call(this);
  this.req = request;
  this._hasBody = request?.method !== 'HEAD';
  this.statusCode = 200;
  this.statusMessage = undefined;
}
Object.setPrototypeOf(ServerResponse.prototype, OutgoingMessage.prototype);
Object.setPrototypeOf(ServerResponse, OutgoingMessage);
Object.assign(ServerResponse.prototype, {
  assignSocket(socket) {
    this.socket = this.connection = socket;
  },
  detachSocket() {
    this.socket = this.connection = null;
  },
  writeHead(status, words, headers) {
    if (this.headersSent) throw fail(Error, 'ERR_HTTP_HEADERS_SENT', 'Cannot write headers after they are sent to the client');
    if (typeof words !== 'string') [words, headers] = [undefined, words];
    if (!(status >= 100 && status <= 999)) throw fail(RangeError, 'ERR_HTTP_INVALID_STATUS_CODE', `Invalid status code: ${status}`);
    this.statusCode = Math.trunc(status);
    this.statusMessage = words ?? this.statusMessage ?? STATUS_CODES[status] ?? 'unknown';
    const pairs = Array.isArray(headers) ? (Array.isArray(headers[0]) ? headers : headers.flatMap((name, at) => (at % 2 ? [] : [[name, headers[at + 1]]]))) : Object.entries(headers ?? {});
    for (const [name, value] of pairs) this.setHeader(name, value);
    this.headersSent = true;
    return this;
  },
  writeContinue() {},
  writeProcessing() {},
  writeEarlyHints() {},
});

function optionsOf(given, more) {
  const base = typeof given === 'string' ? new URL(given) : given;
  return { ...(base instanceof URL ? require('url').urlToHttpOptions(base) : base), ...(typeof more === 'object' ? more : {}) };
}

class ClientRequest extends OutgoingMessage {
  constructor(given, more, callback) {
    super();
    const options = optionsOf(given, more);
    this.method = (options.method ?? 'GET').toUpperCase();
    this.path = options.path ?? '/';
    this.host = options.host ?? options.hostname ?? 'localhost';
    this.protocol = options.protocol ?? 'http:';
    this.aborted = false;
    for (const [name, value] of Object.entries(options.headers ?? {})) this.setHeader(name, value);
    const listener = typeof more === 'function' ? more : callback;
    if (listener) this.once('response', listener);
    setImmediate(() => {
      if (!this.destroyed) this.destroy(Object.assign(fail(Error, 'ENETUNREACH', 'no network in this sandbox'), { syscall: 'connect', address: this.host }));
    });
  }
  _write(_chunk, _encoding, callback) {
    callback();
  }
  abort() {
    this.aborted = true;
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
  getName(options = {}) {
    return `${options.host ?? 'localhost'}:${options.port ?? ''}:${options.localAddress ?? ''}`;
  }
  createConnection(...values) {
    return net.connect(...values);
  }
  destroy() {}
}

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
  globalAgent: new Agent({ keepAlive: true }),
  maxHeaderSize: 16384,
  validateHeaderName,
  validateHeaderValue,
  setMaxIdleHTTPParsers() {},
};
