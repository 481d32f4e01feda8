// Bodies of requests and answers: bytes, streams of them, or what comes over the network and is read when it is asked for.
'use strict';
const { Blob, bytesOf, join } = require('internal/blob');
const { FormData, multipart, parseMultipart } = require('internal/form_data');
const { Incoming } = require('internal/network');

const isStream = (value) => value?.[Symbol.toStringTag] === 'ReadableStream' && value instanceof require('internal/web_streams').ReadableStream;

// What a body is made of, taken from it for another.
class Parts {
  constructor(parts) {
    Object.assign(this, parts);
  }
}

// The bytes of what is given, or a stream of them, and the type that it implies.
function extract(body) {
  if (body === null || body === undefined) return {};
  if (body instanceof Parts) return body;
  if (body instanceof Incoming) return { incoming: body };
  if (typeof body === 'string') return { bytes: new TextEncoder().encode(body), type: 'text/plain;charset=UTF-8' };
  if (body instanceof URLSearchParams) return { bytes: new TextEncoder().encode(`${body}`), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
  if (body instanceof FormData) return multipart(body);
  if (body instanceof Blob) return { bytes: bytesOf(body), type: body.type || undefined };
  if (body instanceof ArrayBuffer) return { bytes: new Uint8Array(body.slice(0)) };
  if (ArrayBuffer.isView(body)) return { bytes: new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice() };
  if (isStream(body)) {
    if (body.locked || isDisturbed(body)) throw new TypeError('Response body object should not be disturbed or locked');
    return { stream: body };
  }
  if (typeof body[Symbol.asyncIterator] === 'function') return { stream: require('internal/web_streams').ReadableStream.from(body) };
  return { bytes: new TextEncoder().encode(`${body}`), type: 'text/plain;charset=UTF-8' };
}

const isDisturbed = (stream) => Boolean(stream[Symbol.for('nodejs.stream.disturbed')]);

function streamOf(incoming) {
  const { ReadableStream } = require('internal/web_streams');
  const source = {
    type: 'bytes',
    start(controller) {
      incoming.onfailure = (reason) => controller.error(reason);
    },
    async pull(controller) {
      const piece = await incoming.read();
      if (piece) {
        controller.enqueue(piece);
      } else {
        controller.close();
        controller.byobRequest?.respond(0);
      }
    },
    cancel: (reason) => incoming.cancel(reason),
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

let takeOver;

class Body {
  #bytes;
  #incoming;
  #stream;
  #used = false;
  #headers;
  constructor(given, headers) {
    const { bytes, incoming, stream, type } = extract(given);
    this.#bytes = bytes;
    this.#incoming = incoming;
    this.#stream = stream;
    this.#headers = headers;
    if (type && !headers.has('content-type')) headers.set('content-type', type);
  }
  static {
    // A body for who uses it instead; null: there is none.
    takeOver = (body) => {
      if (body.#isUnusable) throw new TypeError('Cannot construct a Request with a Request object that has already been used.');
      if (body.#isNone) return null;
      const parts = new Parts({ bytes: body.#bytes, incoming: body.#incoming, stream: body.#stream });
      body.#used = true;
      return parts;
    };
  }
  get #isNone() {
    return !this.#bytes && !this.#incoming && !this.#stream;
  }
  get #isUnusable() {
    return this.bodyUsed || Boolean(this.#stream?.locked);
  }
  get headers() {
    return this.#headers;
  }
  get body() {
    if (this.#isNone) return null;
    this.#stream ??= this.#bytes ? new Blob([this.#bytes]).stream() : streamOf(this.#incoming);
    return this.#stream;
  }
  get bodyUsed() {
    return this.#used || Boolean(this.#stream && isDisturbed(this.#stream));
  }
  // All of it. `isOwn`: nobody else has these bytes.
  async #take(isOwn = false) {
    if (this.#isUnusable) throw new TypeError('Body is unusable: Body has already been read');
    if (this.#isNone) return new Uint8Array(0);
    this.#used = true;
    if (this.#bytes) return isOwn ? this.#bytes.slice() : this.#bytes;
    const pieces = [];
    if (this.#stream) {
      for await (const chunk of this.#stream) {
        if (!(chunk instanceof Uint8Array)) throw new TypeError('Received non-Uint8Array chunk');
        pieces.push(chunk);
      }
    } else {
      for (let piece; (piece = await this.#incoming.read()); ) pieces.push(piece);
    }
    return pieces.length === 1 && !isOwn ? pieces[0] : join(pieces);
  }
  // Another body of the same, for clones.
  split(kind) {
    if (this.#isUnusable) throw new TypeError(`${kind}.clone: Body has already been consumed.`);
    if (this.#isNone) return null;
    if (this.#bytes) return new Parts({ bytes: this.#bytes });
    const [left, stream] = this.body.tee();
    this.#stream = left;
    return new Parts({ stream });
  }
  async arrayBuffer() {
    return (await this.#take(true)).buffer;
  }
  async bytes() {
    return this.#take(true);
  }
  async blob() {
    return new Blob([await this.#take()], { type: this.#headers.get('content-type') ?? '' });
  }
  async text() {
    return new TextDecoder().decode(await this.#take());
  }
  async json() {
    return JSON.parse(await this.text());
  }
  async formData() {
    const type = this.#headers.get('content-type') ?? '';
    const boundary = /^multipart\/form-data\s*;.*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(type);
    if (boundary) return parseMultipart(await this.#take(), boundary[1] ?? boundary[2]);
    if (!/^application\/x-www-form-urlencoded/i.test(type)) throw new TypeError('The body is no form');
    const form = new FormData();
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(await this.#take());
    for (const [name, value] of new URLSearchParams(text.replace(/^\?/, '%3F'))) form.append(name, value);
    return form;
  }
}

module.exports = { Body, isStream, takeOver: (body) => takeOver(body) };
