// WebSocket (the WebSockets standard).
'use strict';
const { Buffer } = require('buffer');
const { Blob, blobOf, bytesOf } = require('internal/blob');
const { CloseEvent, ErrorEvent, MessageEvent, handlers } = require('internal/events');
const { FrameError, FrameReader, frame } = require('internal/websocket_frames');

// What a server hashes with the key of a client.
const MARK = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
// Milliseconds that a server has to close the connection.
const PATIENCE = 3000;

// Codes that a close frame may have (RFC 6455, 7.4, and the registry that it made).
const mayClose = (code) => (code >= 1000 && code <= 1014 && !(code >= 1004 && code <= 1006)) || (code >= 3000 && code <= 4999);

// The bytes, in a buffer that nobody else has.
const own = (bytes) => new Uint8Array(bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes);

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const syntax = (message) => new DOMException(message, 'SyntaxError');

function urlOf(given) {
  let url;
  try {
    url = new URL(`${given}`);
  } catch {
    throw syntax(`Invalid URL: ${given}`);
  }
  url.protocol = { 'http:': 'ws:', 'https:': 'wss:' }[url.protocol] ?? url.protocol;
  if (!/^wss?:$/.test(url.protocol)) throw syntax(`Expected a ws: or wss: protocol, got ${url.protocol}`);
  if (url.hash || url.href.endsWith('#')) throw syntax('Got fragment');
  return url;
}

function protocolsOf(given) {
  const list = typeof given === 'string' ? [given] : [...given].map(String);
  if (!list.every((name) => token.test(name)) || new Set(list.map((name) => name.toLowerCase())).size < list.length) throw syntax('Invalid Sec-WebSocket-Protocol value');
  return list;
}

class WebSocket extends EventTarget {
  #url;
  #state = WebSocket.CONNECTING;
  #protocol = '';
  #binaryType = 'blob';
  #buffered = 0;
  #request;
  #socket;
  #timer;
  // What the server said when it closed the connection.
  #closed = { wasClean: false, code: 1006, reason: '' };
  #hasSentClose = false;
  constructor(url, given = []) {
    super();
    const { protocols = given, headers = {} } = typeof given === 'object' && !Array.isArray(given) && given !== null ? { protocols: [], ...given } : {};
    this.#url = urlOf(url);
    this.#connect(protocolsOf(protocols), headers);
  }
  static {
    for (const [at, name] of ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED'].entries()) {
      for (const place of [this, this.prototype]) Object.defineProperty(place, name, { value: at, enumerable: true });
    }
  }
  #connect(protocols, more) {
    const { hostname, pathname, port, protocol, search } = this.#url;
    const key = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64');
    const headers = { ...more, connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': key, 'sec-websocket-version': '13' };
    if (protocols.length) headers['sec-websocket-protocol'] = protocols.join(', ');
    const client = require(protocol === 'wss:' ? 'https' : 'http');
    const options = { hostname: hostname.replace(/^\[|\]$/g, ''), path: pathname + search, headers };
    if (port) options.port = port;
    const request = client.request(options);
    this.#request = request;
    request.on('upgrade', (response, socket, head) => this.#begin(response.headers, socket, head, key, protocols));
    request.on('response', async (response) => {
      const told = await response.reduce((text, piece) => (text + piece).slice(0, 1000), '').catch(() => '');
      this.#fail(new Error(`${this.#url.host} answers with status ${response.statusCode}${told ? `: ${told.trim()}` : ''}`));
    });
    request.on('error', (error) => this.#fail(error));
    request.end();
  }
  #begin(headers, socket, head, key, protocols) {
    this.#socket = socket;
    const expected = require('crypto').createHash('sha1').update(key + MARK).digest('base64');
    const protocol = headers['sec-websocket-protocol'];
    if (headers.upgrade?.toLowerCase() !== 'websocket' || headers['sec-websocket-accept'] !== expected) return void this.#fail(new Error('the server does not answer as one of WebSocket'));
    if (headers['sec-websocket-extensions'] || (protocol !== undefined && !protocols.includes(protocol))) return void this.#fail(new Error('the server uses what nobody asked for'));
    this.#protocol = protocol ?? '';
    this.#state = WebSocket.OPEN;
    const reader = new FrameReader({
      text: (bytes) => this.#tell(this.#textOf(bytes)),
      binary: (bytes) => this.#tell(this.#binaryType === 'blob' ? blobOf(own(bytes)) : own(bytes).buffer),
      ping: (bytes) => this.#state === WebSocket.OPEN && socket.write(frame('pong', bytes)),
      pong() {},
      close: (bytes) => this.#end(bytes),
    });
    const read = (piece) => {
      try {
        reader.push(piece);
      } catch (error) {
        // Nothing more is read.
        socket.removeListener('data', read).resume();
        // Whatever else is thrown is for want of memory.
        this.#fail(error, error instanceof FrameError ? error.code : 1009);
      }
    };
    socket.on('data', read);
    socket.on('error', (error) => this.#fail(error));
    socket.on('end', () => socket.end());
    socket.on('close', () => this.#over());
    this.dispatchEvent(new Event('open'));
    if (head.length) read(head);
  }
  #textOf(bytes) {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (error) {
      throw error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? new FrameError(1007, 'a message is no UTF-8') : error;
    }
  }
  #tell(data) {
    if (this.#state === WebSocket.OPEN) this.dispatchEvent(new MessageEvent('message', { data, origin: this.#url.origin }));
  }
  // The server closes the connection.
  #end(bytes) {
    if (this.#closed.wasClean) return;
    if (bytes.length === 1) throw new FrameError(1002, 'a close frame has no whole code');
    const code = bytes.length ? (bytes[0] << 8) | bytes[1] : 1005;
    if (bytes.length && !mayClose(code)) throw new FrameError(1002, `a close frame has the code ${code}, which none may have`);
    this.#closed = { wasClean: true, code, reason: this.#textOf(bytes.subarray(2)) };
    this.#sendClose(bytes.subarray(0, 2));
    this.#state = WebSocket.CLOSING;
    this.#socket.end();
    this.#waitForEnd();
  }
  #sendClose(bytes) {
    if (!this.#hasSentClose) this.#socket.write(frame('close', bytes));
    this.#hasSentClose = true;
  }
  #waitForEnd() {
    this.#timer ??= setTimeout(() => this.#socket.destroy(), PATIENCE);
  }
  #fail(error, code) {
    if (this.#state === WebSocket.CLOSED) return;
    if (this.#socket && code !== undefined) {
      const bytes = Buffer.alloc(2);
      bytes.writeUInt16BE(code, 0);
      this.#sendClose(bytes);
      this.#closed = { wasClean: false, code, reason: '' };
    }
    const isKnown = this.#socket && this.#state === WebSocket.CLOSING && this.#closed.wasClean;
    this.#state = WebSocket.CLOSING;
    if (!isKnown) this.dispatchEvent(new ErrorEvent('error', { message: error.message, error }));
    if (this.#socket && !this.#socket.destroyed) {
      this.#socket.destroySoon();
      this.#waitForEnd();
    } else {
      this.#request.destroy();
      this.#over();
    }
  }
  #over() {
    clearTimeout(this.#timer);
    if (this.#state === WebSocket.CLOSED) return;
    this.#state = WebSocket.CLOSED;
    this.dispatchEvent(new CloseEvent('close', this.#closed));
  }
  send(data) {
    if (this.#state === WebSocket.CONNECTING) throw new DOMException('Sent before connected.', 'InvalidStateError');
    const isBinary = data instanceof Blob || data instanceof ArrayBuffer || ArrayBuffer.isView(data);
    const bytes = data instanceof Blob ? bytesOf(data) : data instanceof ArrayBuffer ? new Uint8Array(data) : isBinary ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(`${data}`);
    this.#buffered += bytes.length;
    if (this.#state !== WebSocket.OPEN) return;
    this.#socket.write(frame(isBinary ? 'binary' : 'text', bytes), () => {
      this.#buffered -= bytes.length;
    });
  }
  close(code = undefined, reason = undefined) {
    if (code !== undefined && code !== 1000 && !(code >= 3000 && code <= 4999)) throw new DOMException('invalid code', 'InvalidAccessError');
    const words = Buffer.from(reason === undefined ? '' : `${reason}`);
    if (words.length > 123) throw syntax('Reason must be less than 123 bytes');
    if (this.#state === WebSocket.CONNECTING) return void this.#fail(new Error('the connection was closed before it was made'));
    if (this.#state !== WebSocket.OPEN) return;
    this.#state = WebSocket.CLOSING;
    const head = Buffer.alloc(code === undefined && !words.length ? 0 : 2);
    if (head.length) head.writeUInt16BE(code ?? 1000, 0);
    this.#sendClose(Buffer.concat([head, words]));
    this.#waitForEnd();
  }
  get url() {
    return this.#url.href;
  }
  get readyState() {
    return this.#state;
  }
  get bufferedAmount() {
    return this.#buffered;
  }
  get extensions() {
    return '';
  }
  get protocol() {
    return this.#protocol;
  }
  get binaryType() {
    return this.#binaryType;
  }
  set binaryType(kind) {
    if (kind === 'blob' || kind === 'arraybuffer') this.#binaryType = kind;
  }
}
handlers(WebSocket, 'open', 'message', 'error', 'close');
Object.defineProperty(WebSocket.prototype, Symbol.toStringTag, { value: 'WebSocket', configurable: true });

module.exports = { WebSocket };
