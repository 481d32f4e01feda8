// Headers, FormData, Request and Response (the Fetch standard), without a network: what `fetch` will take and give.
'use strict';
const custom = Symbol.for('nodejs.util.inspect.custom');
const { Buffer } = require('buffer');
const { Blob, File, bytesOf } = require('internal/blob');
const { ReadableStream } = require('internal/web_streams');

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

function nameOf(name) {
  if (!token.test(name)) throw new TypeError(`Header name must be a valid HTTP token ["${name}"]`);
  return `${name}`.toLowerCase();
}

function valueOf(value) {
  const text = `${value}`.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  if (/[\0\n\r]|[^\0-\xff]/.test(text)) throw new TypeError(`Invalid header value ${JSON.stringify(text)}`);
  return text;
}

class Headers {
  [custom](_depth, options) {
    return `Headers ${shared.inspect(Object.fromEntries(this), options)}`;
  }
  // By the name in small letters; those of cookies stay apart.
  #values = new Map();
  constructor(given = undefined) {
    if (given === undefined || given === null) return;
    if (typeof given !== 'object') throw new TypeError('Headers are an object, or pairs of a name and a value');
    if (typeof given[Symbol.iterator] === 'function') {
      for (const pair of given) {
        const [name, value, ...more] = pair;
        if (value === undefined || more.length) throw new TypeError('Each header pair must be a name and a value');
        this.append(name, value);
      }
    } else for (const name of Object.keys(given)) this.append(name, given[name]);
  }
  append(name, value) {
    const key = nameOf(name);
    this.#values.set(key, [...(this.#values.get(key) ?? []), valueOf(value)]);
  }
  set(name, value) {
    this.#values.set(nameOf(name), [valueOf(value)]);
  }
  get(name) {
    return this.#values.get(nameOf(name))?.join(', ') ?? null;
  }
  has(name) {
    return this.#values.has(nameOf(name));
  }
  delete(name) {
    this.#values.delete(nameOf(name));
  }
  getSetCookie() {
    return [...(this.#values.get('set-cookie') ?? [])];
  }
  forEach(callback, self) {
    for (const [name, value] of this) callback.call(self, value, name, this);
  }
  *entries() {
    for (const name of [...this.#values.keys()].sort()) {
      if (name === 'set-cookie') for (const value of this.#values.get(name)) yield [name, value];
      else yield [name, this.#values.get(name).join(', ')];
    }
  }
  *keys() {
    for (const [name] of this) yield name;
  }
  *values() {
    for (const [, value] of this) yield value;
  }
  get [Symbol.toStringTag]() {
    return 'Headers';
  }
}
Headers.prototype[Symbol.iterator] = Headers.prototype.entries;

class FormData {
  [custom](_depth, options) {
    return `FormData ${shared.inspect([...this], options)}`;
  }
  #entries = [];
  constructor(form) {
    if (form !== undefined) throw new TypeError('There are no forms of documents here');
  }
  static #entry(name, value, filename) {
    if (!(value instanceof Blob)) return [`${name}`, `${value}`];
    const file = value instanceof File && filename === undefined ? value : new File([value], filename ?? value.name ?? 'blob', { type: value.type });
    return [`${name}`, file];
  }
  append(name, value, filename) {
    this.#entries.push(FormData.#entry(name, value, filename));
  }
  set(name, value, filename) {
    const at = this.#entries.findIndex(([each]) => each === `${name}`);
    const entry = FormData.#entry(name, value, filename);
    if (at < 0) this.#entries.push(entry);
    else this.#entries = this.#entries.filter(([each], place) => place <= at || each !== `${name}`).with(at, entry);
  }
  get(name) {
    return this.#entries.find(([each]) => each === `${name}`)?.[1] ?? null;
  }
  getAll(name) {
    return this.#entries.filter(([each]) => each === `${name}`).map(([, value]) => value);
  }
  has(name) {
    return this.#entries.some(([each]) => each === `${name}`);
  }
  delete(name) {
    this.#entries = this.#entries.filter(([each]) => each !== `${name}`);
  }
  forEach(callback, self) {
    for (const [name, value] of this) callback.call(self, value, name, this);
  }
  *entries() {
    yield* this.#entries;
  }
  *keys() {
    for (const [name] of this.#entries) yield name;
  }
  *values() {
    for (const [, value] of this.#entries) yield value;
  }
  get [Symbol.toStringTag]() {
    return 'FormData';
  }
}
FormData.prototype[Symbol.iterator] = FormData.prototype.entries;

// --- Bodies.

const quoted = (text) => text.replace(/\r\n|\r|\n/g, '%0D%0A').replaceAll('"', '%22');

function multipart(form) {
  const boundary = `----formdata-${crypto.randomUUID()}`;
  const parts = [];
  for (const [name, value] of form) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
    if (typeof value === 'string') parts.push(`${head}\r\n\r\n${value.replace(/\r\n|\r|\n/g, '\r\n')}\r\n`);
    else parts.push(`${head}; filename="${quoted(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}\r\n\r\n`, value, '\r\n');
  }
  parts.push(`--${boundary}--\r\n`);
  return { bytes: bytesOf(new Blob(parts)), type: `multipart/form-data; boundary=${boundary}` };
}

function parseMultipart(bytes, boundary) {
  const form = new FormData();
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  for (const part of text.split(`--${boundary}`).slice(1, -1)) {
    const at = part.indexOf('\r\n\r\n');
    if (at < 0) throw new TypeError('The body is no multipart/form-data');
    const head = Buffer.from(part.slice(2, at), 'latin1').toString();
    const content = Buffer.from(part.slice(at + 4, -2), 'latin1');
    const name = /;\s*name="([^"]*)"/i.exec(head)?.[1];
    const filename = /;\s*filename="([^"]*)"/i.exec(head)?.[1];
    if (name === undefined) throw new TypeError('A part of the body has no name');
    if (filename === undefined) form.append(name, content.toString());
    else form.append(name, new File([content], filename, { type: /content-type:\s*(.+)/i.exec(head)?.[1].trim() ?? '' }));
  }
  return form;
}

// The bytes of what is given, or a stream of them, and the type that it implies.
function extract(body) {
  if (body === null || body === undefined) return { bytes: null };
  if (typeof body === 'string') return { bytes: new TextEncoder().encode(body), type: 'text/plain;charset=UTF-8' };
  if (body instanceof URLSearchParams) return { bytes: new TextEncoder().encode(`${body}`), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
  if (body instanceof FormData) return multipart(body);
  if (body instanceof Blob) return { bytes: bytesOf(body), type: body.type || undefined };
  if (body instanceof ArrayBuffer) return { bytes: new Uint8Array(body.slice(0)) };
  if (ArrayBuffer.isView(body)) return { bytes: new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice() };
  if (body instanceof ReadableStream) return { stream: body };
  if (typeof body[Symbol.asyncIterator] === 'function') return { stream: ReadableStream.from?.(body) ?? require('stream').Readable.toWeb(require('stream').Readable.from(body)) };
  return { bytes: new TextEncoder().encode(`${body}`), type: 'text/plain;charset=UTF-8' };
}

class Body {
  #bytes;
  #stream;
  #used = false;
  #headers;
  constructor(given, headers) {
    const { bytes = null, stream = null, type } = extract(given);
    this.#bytes = bytes;
    this.#stream = stream;
    this.#headers = headers;
    if (type && !headers.has('content-type')) headers.set('content-type', type);
  }
  get headers() {
    return this.#headers;
  }
  get body() {
    if (this.#bytes) this.#stream ??= new Blob([this.#bytes]).stream();
    return this.#stream;
  }
  get bodyUsed() {
    return this.#used || Boolean(this.#stream?.locked);
  }
  async #take() {
    if (this.bodyUsed) throw new TypeError('Body is unusable: Body has already been read');
    if (this.#bytes === null && !this.#stream) return new Uint8Array(0);
    this.#used = true;
    if (this.#bytes) return this.#bytes;
    const pieces = [];
    for await (const chunk of this.#stream) pieces.push(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk);
    return bytesOf(new Blob(pieces));
  }
  // Two bodies of one, for clones.
  split() {
    if (this.bodyUsed) throw new TypeError('Response.clone: Body has already been consumed.');
    if (this.#bytes || !this.#stream) return this.#bytes;
    const [left, right] = this.#stream.tee();
    this.#stream = left;
    return right;
  }
  async arrayBuffer() {
    return (await this.#take()).slice().buffer;
  }
  async bytes() {
    return (await this.#take()).slice();
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

function urlOf(given) {
  try {
    return new URL(`${given}`).href;
  } catch (cause) {
    throw new TypeError(`Failed to parse URL from ${given}`, { cause });
  }
}

class Request extends Body {
  [custom](_depth, options) {
    const { method, url, headers, destination, referrer, referrerPolicy, mode, credentials, cache, redirect, integrity, keepalive, signal } = this;
    const shown = { method, url, headers, destination, referrer, referrerPolicy, mode, credentials, cache, redirect, integrity, keepalive, isReloadNavigation: false, isHistoryNavigation: false, signal };
    return `Request ${shared.inspect(shown, options)}`;
  }
  #about;
  constructor(input, options = {}) {
    const from = input instanceof Request ? input : undefined;
    const url = from ? from.url : urlOf(input);
    const given = `${options.method ?? from?.method ?? 'GET'}`;
    const method = /^(delete|get|head|options|post|put)$/i.test(given) ? given.toUpperCase() : given;
    if (!token.test(method) || /^(connect|trace|track)$/i.test(method)) throw new TypeError(`'${method}' is not a valid HTTP method.`);
    const body = options.body ?? (from && options.body === undefined ? from.split() : null);
    if ((method === 'GET' || method === 'HEAD') && options.body !== undefined && options.body !== null) throw new TypeError('Request with GET/HEAD method cannot have body.');
    super(body, new Headers(options.headers ?? from?.headers));
    const pick = (name, preset) => options[name] ?? from?.[name] ?? preset;
    this.#about = { url, method, mode: pick('mode', 'cors'), credentials: pick('credentials', 'same-origin'), cache: pick('cache', 'default'), redirect: pick('redirect', 'follow'), referrer: pick('referrer', 'about:client'), referrerPolicy: pick('referrerPolicy', ''), integrity: pick('integrity', ''), keepalive: pick('keepalive', false), signal: pick('signal') ?? new AbortController().signal, duplex: 'half', destination: '' };
  }
  static {
    for (const name of ['url', 'method', 'mode', 'credentials', 'cache', 'redirect', 'referrer', 'referrerPolicy', 'integrity', 'keepalive', 'signal', 'duplex', 'destination']) {
      Object.defineProperty(this.prototype, name, {
        get() {
          return this.#about[name];
        },
        enumerable: true,
        configurable: true,
      });
    }
  }
  clone() {
    return new Request(this);
  }
  get [Symbol.toStringTag]() {
    return 'Request';
  }
}

const withoutBody = new Set([101, 103, 204, 205, 304]);
let answer;

class Response extends Body {
  [custom](_depth, options) {
    const { status, statusText, headers, body, bodyUsed, ok, redirected, type, url } = this;
    return `Response ${shared.inspect({ status, statusText, headers, body, bodyUsed, ok, redirected, type, url }, options)}`;
  }
  #about;
  constructor(body = null, { status = 200, statusText = '', headers } = {}) {
    if (!(Number(status) >= 200 && Number(status) <= 599)) throw new RangeError(`init["status"] must be in the range of 200 to 599, inclusive.`);
    if (body !== null && withoutBody.has(Number(status))) throw new TypeError(`Response constructor: Invalid response status code ${status}`);
    super(body, new Headers(headers));
    this.#about = { status: Math.trunc(status), statusText: `${statusText}`, type: 'default', url: '', redirected: false };
  }
  static {
    answer = (response, about) => Object.assign(response.#about, about);
    for (const name of ['status', 'statusText', 'type', 'url', 'redirected']) {
      Object.defineProperty(this.prototype, name, {
        get() {
          return this.#about[name];
        },
        enumerable: true,
        configurable: true,
      });
    }
  }
  get ok() {
    return this.status >= 200 && this.status <= 299;
  }
  clone() {
    const copy = new Response(this.split(), { statusText: this.statusText, headers: this.headers });
    answer(copy, this.#about);
    return copy;
  }
  static error() {
    const response = new Response();
    answer(response, { status: 0, type: 'error' });
    return response;
  }
  static json(value, options = {}) {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError('The value is not JSON serializable');
    const headers = new Headers(options.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new Response(text, { ...options, headers });
  }
  static redirect(url, status = 302) {
    if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`Invalid status code ${status}`);
    const response = new Response(null, { headers: { location: new URL(`${url}`).href } });
    answer(response, { status });
    return response;
  }
  get [Symbol.toStringTag]() {
    return 'Response';
  }
}

module.exports = { Headers, FormData, Request, Response, answer: (response, about) => answer(response, about) };
