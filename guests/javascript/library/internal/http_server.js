// Answers that a program writes, and servers, which cannot listen.
'use strict';
const net = require('net');
const { error } = require('internal/arguments');
const { hasInvalid, pairsOf } = require('internal/http_common');
const { STATUS_CODES } = require('internal/http_names');
const { OutgoingMessage, checkUnsent } = require('internal/http_outgoing');

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

module.exports = { Server, ServerResponse };
