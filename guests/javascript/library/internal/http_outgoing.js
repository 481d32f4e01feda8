// A message that goes out: its head, and its body in the form that the head tells.
'use strict';
const { Buffer } = require('buffer');
const { Writable } = require('stream');
const { error, wrongType } = require('internal/arguments');
const { hasInvalid, validateHeaderName, validateHeaderValue } = require('internal/http_common');

const headersOf = Symbol('headers');

// Without `new`, as old code extends it.
function OutgoingMessage() {
  // What is written to the end is not over: an answer is to come.
  Writable.call(this, { autoDestroy: false });
  Object.assign(this, { finished: false, sendDate: false, shouldKeepAlive: true, useChunkedEncodingByDefault: true, chunkedEncoding: false, socket: null, strictContentLength: false });
  Object.assign(this, { _header: null, _headerSent: false, _hasBody: true, _contentLength: null, _trailer: '', _removedConnection: false, _removedTE: false });
  this[headersOf] = new Map();
}
Object.setPrototypeOf(OutgoingMessage.prototype, Writable.prototype);
Object.setPrototypeOf(OutgoingMessage, Writable);

function checkUnsent(message, verb) {
  if (message._header) throw error(Error, 'ERR_HTTP_HEADERS_SENT', `Cannot ${verb} headers after they are sent to the client`);
}

function checkChunk(chunk) {
  if (chunk === null) throw error(TypeError, 'ERR_STREAM_NULL_VALUES', 'May not write null values to stream');
  if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) throw wrongType('chunk', 'of type string or an instance of Buffer or Uint8Array', chunk);
}

function checkAll(name, value) {
  for (const each of Array.isArray(value) ? value : [value]) validateHeaderValue(name, each);
}

// A message's head and body go to its socket, if there is one: a stand-in of the program, for there is no other.
function send(message, data, callback) {
  const head = message._headerSent || !message._header ? '' : message._header;
  message._headerSent ||= head !== '';
  const whole = head && data.length ? Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(data)]) : head || data;
  if (message.socket?.write) message.socket.write(whole, 'latin1', callback);
  else callback?.();
}

Object.assign(OutgoingMessage.prototype, {
  setHeader(name, value) {
    checkUnsent(this, 'set');
    validateHeaderName(name);
    checkAll(name, value);
    this[headersOf].set(name.toLowerCase(), [name, value]);
    return this;
  },
  setHeaders(headers) {
    checkUnsent(this, 'set');
    if (typeof headers?.[Symbol.iterator] !== 'function' || Array.isArray(headers) || typeof headers.get !== 'function') throw wrongType('headers', 'an instance of Headers or Map', headers);
    const cookies = [];
    for (const [name, value] of headers) {
      if (name === 'set-cookie') cookies.push(...[value].flat());
      else this.setHeader(name, value);
    }
    if (cookies.length) this.setHeader('set-cookie', cookies);
    return this;
  },
  appendHeader(name, value) {
    checkUnsent(this, 'append');
    const known = this.getHeader(name);
    return this.setHeader(name, known === undefined ? value : [known, value].flat());
  },
  getHeader(name) {
    return this[headersOf].get(needName(name))?.[1];
  },
  getHeaders() {
    return Object.assign(Object.create(null), Object.fromEntries([...this[headersOf]].map(([name, [, value]]) => [name, value])));
  },
  getHeaderNames() {
    return [...this[headersOf].keys()];
  },
  getRawHeaderNames() {
    return [...this[headersOf].values()].map(([name]) => name);
  },
  hasHeader(name) {
    return this[headersOf].has(needName(name));
  },
  removeHeader(name) {
    const key = needName(name);
    checkUnsent(this, 'remove');
    this[headersOf].delete(key);
    if (key === 'connection') this._removedConnection = true;
    if (key === 'transfer-encoding') this._removedTE = true;
    if (key === 'date') this.sendDate = false;
  },
  flushHeaders() {
    if (!this._header) this._implicitHeader();
    send(this, '');
  },
  addTrailers(headers) {
    for (const [name, value] of Array.isArray(headers) ? headers : Object.entries(headers)) {
      validateHeaderName(name, 'Trailer name');
      if (hasInvalid(value)) throw error(TypeError, 'ERR_INVALID_CHAR', `Invalid character in trailer content ["${name}"]`);
      this._trailer += `${name}: ${value}\r\n`;
    }
  },
  setTimeout(milliseconds, callback) {
    if (callback) this.on('timeout', callback);
    if (this.socket) this.socket.setTimeout(milliseconds);
    else this.once('socket', (socket) => socket.setTimeout(milliseconds));
    return this;
  },
  _implicitHeader() {
    throw error(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'The _implicitHeader() method is not implemented');
  },
  // The head of a message, of its first line and its headers; what tells how long the body is is added.
  _storeHeader(first) {
    const lines = [...this[headersOf].values()].flatMap(([name, value]) => {
      if (!Array.isArray(value)) return [`${name}: ${value}`];
      return name.toLowerCase() === 'cookie' ? [`${name}: ${value.join('; ')}`] : value.map((each) => `${name}: ${each}`);
    });
    if (this.sendDate && !this.hasHeader('date')) lines.push(`Date: ${new Date().toUTCString()}`);
    if (!this._removedConnection && !this.hasHeader('connection')) lines.push(`Connection: ${this.shouldKeepAlive ? 'keep-alive' : 'close'}`);
    this.chunkedEncoding = /\bchunked\b/i.test(this.getHeader('transfer-encoding') ?? '');
    if (this._hasBody && !this.hasHeader('content-length') && !this.hasHeader('transfer-encoding')) {
      if (this._contentLength !== null && this.useChunkedEncodingByDefault) lines.push(`Content-Length: ${this._contentLength}`);
      else if (this.useChunkedEncodingByDefault && !this._removedTE) {
        lines.push('Transfer-Encoding: chunked');
        this.chunkedEncoding = true;
      }
    }
    this._header = `${first}${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
  },
  write(chunk, encoding, callback) {
    checkChunk(chunk);
    if (!this._header && !this.destroyed) this._implicitHeader();
    return Writable.prototype.write.call(this, chunk, encoding, callback);
  },
  end(chunk, encoding, callback) {
    if (typeof chunk === 'function') [chunk, encoding, callback] = [undefined, undefined, chunk];
    if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding];
    const hasChunk = chunk !== undefined && chunk !== null;
    if (hasChunk) checkChunk(chunk);
    if (!this._header && !this.destroyed) {
      this._contentLength = !hasChunk ? 0 : typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.byteLength;
      this._implicitHeader();
    }
    this.finished = true;
    const values = hasChunk ? [chunk, encoding] : [];
    return Writable.prototype.end.call(this, ...values, callback);
  },
  _write(chunk, encoding, callback) {
    if (!this._hasBody) callback();
    else if (!this.chunkedEncoding) send(this, chunk, callback);
    else send(this, Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]), callback);
  },
  _final(callback) {
    send(this, this.chunkedEncoding && this._hasBody ? `0\r\n${this._trailer}\r\n` : '', callback);
  },
});

function needName(name) {
  if (typeof name !== 'string') throw wrongType('name', 'of type string', name);
  return name.toLowerCase();
}

// Properties that say, once, that they are of the past.
function old(name, get, set) {
  let isTold = false;
  const tell = () => {
    if (!isTold) process.emitWarning(`OutgoingMessage.prototype.${name} is deprecated`, 'DeprecationWarning', 'DEP0066');
    isTold = true;
  };
  Object.defineProperty(OutgoingMessage.prototype, name, {
    configurable: true,
    get() {
      tell();
      return get(this);
    },
    set(value) {
      tell();
      set(this, value);
    },
  });
}

function replace(message, pairs) {
  message[headersOf] = new Map(pairs.map(([name, value]) => [name.toLowerCase(), [name, value]]));
}

old('_headers', (message) => message.getHeaders(), (message, value) => replace(message, Object.entries(value ?? {})));
old(
  '_headerNames',
  (message) => Object.assign(Object.create(null), Object.fromEntries([...message[headersOf]].map(([key, [name]]) => [key, name]))),
  (message, value) => replace(message, Object.entries(value ?? {}).map(([key, name]) => [name, message.getHeader(key)])),
);
Object.defineProperties(OutgoingMessage.prototype, {
  headersSent: {
    configurable: true,
    enumerable: true,
    get() {
      return Boolean(this._header);
    },
  },
  connection: {
    configurable: true,
    get() {
      return this.socket;
    },
    set(socket) {
      this.socket = socket;
    },
  },
});

module.exports = { OutgoingMessage, checkUnsent, send };
