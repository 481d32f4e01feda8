// A message that comes in.
'use strict';
const { Readable } = require('stream');

// Of these there is one; the first counts.
const single = new Set('age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since last-modified location max-forwards proxy-authorization referer retry-after server user-agent'.split(' '));

// Without `new`, as old code extends it.
function IncomingMessage(socket) {
  Readable.call(this, socket?.readableHighWaterMark === undefined ? undefined : { highWaterMark: socket.readableHighWaterMark });
  Object.assign(this, {
    httpVersion: null,
    httpVersionMajor: null,
    httpVersionMinor: null,
    complete: false,
    headers: {},
    rawHeaders: [],
    trailers: {},
    rawTrailers: [],
    joinDuplicateHeaders: false,
    aborted: false,
    upgrade: null,
    url: '',
    method: null,
    statusCode: null,
    statusMessage: null,
    client: socket,
    socket,
  });
}
Object.setPrototypeOf(IncomingMessage.prototype, Readable.prototype);
Object.setPrototypeOf(IncomingMessage, Readable);

function distinct(raw) {
  const result = Object.create(null);
  for (let at = 0; at < raw.length; at += 2) (result[raw[at].toLowerCase()] ??= []).push(raw[at + 1]);
  return result;
}

Object.assign(IncomingMessage.prototype, {
  _read() {},
  // Takes what the head of an answer has.
  _fill({ major, minor, status, message, raw }) {
    Object.assign(this, { httpVersionMajor: major, httpVersionMinor: minor, httpVersion: `${major}.${minor}`, statusCode: status, statusMessage: message, rawHeaders: raw });
    for (let at = 0; at < raw.length; at += 2) this._addHeaderLine(raw[at], raw[at + 1], this.headers);
  },
  // Its end will not come.
  _abort(failure) {
    if (this.destroyed || this.complete) return;
    this.aborted = true;
    this.emit('aborted');
    this.destroy(failure.code === 'ECONNRESET' ? Object.assign(new Error('aborted'), { code: 'ECONNRESET' }) : failure);
  },
  // An error is told to those who listen for it, and thrown at nobody.
  _destroy(failure, callback) {
    if (!this.complete && !this.aborted && this.req) {
      this.aborted = true;
      this.emit('aborted');
    }
    if (this.aborted && !this.socket?.destroyed) this.socket?.destroy?.(failure);
    process.nextTick(() => callback(this.listenerCount('error') ? failure : null));
  },
  setTimeout(milliseconds, callback) {
    if (callback) this.on('timeout', callback);
    this.socket?.setTimeout?.(milliseconds);
    return this;
  },
  _addHeaderLine(field, value, dest) {
    const name = field.toLowerCase();
    if (name === 'set-cookie') {
      if (dest[name]) dest[name].push(value);
      else dest[name] = [value];
    } else if (dest[name] === undefined) dest[name] = value;
    else if (!single.has(name)) dest[name] += `${name === 'cookie' ? '; ' : ', '}${value}`;
    else if (this.joinDuplicateHeaders) dest[name] += `, ${value}`;
  },
  _dump() {
    this.resume();
  },
});
Object.defineProperties(IncomingMessage.prototype, {
  connection: {
    get() {
      return this.socket;
    },
    set(socket) {
      this.socket = socket;
    },
  },
  headersDistinct: {
    get() {
      return distinct(this.rawHeaders);
    },
  },
  trailersDistinct: {
    get() {
      return distinct(this.rawTrailers);
    },
  },
});

module.exports = { IncomingMessage };
