// Request and Response (the Fetch standard).
'use strict';
const custom = Symbol.for('nodejs.util.inspect.custom');
const { Body, isStream, takeOver } = require('internal/body');
const { FormData } = require('internal/form_data');
const { Headers, token } = require('internal/headers');

function urlOf(given) {
  let url;
  try {
    url = new URL(`${given}`);
  } catch (cause) {
    throw new TypeError(`Failed to parse URL from ${given}`, { cause });
  }
  if (url.username || url.password) throw new TypeError(`Request cannot be constructed from a URL that includes credentials: ${given}`);
  return url.href;
}

function signalOf(given) {
  if (given === undefined || given === null) return new AbortController().signal;
  if (typeof given.aborted !== 'boolean' || typeof given.addEventListener !== 'function') throw new TypeError("Failed to construct 'Request': member signal is not of type AbortSignal.");
  return given;
}

function redirectOf(given) {
  if (!['follow', 'error', 'manual'].includes(given)) throw new TypeError(`'${given}' is no way to take redirects: 'follow', 'error' and 'manual' are`);
  return given;
}

class Request extends Body {
  [custom](_depth, options) {
    const { method, url, headers, destination, referrer, referrerPolicy, mode, credentials, cache, redirect, integrity, keepalive, signal } = this;
    const shown = { method, url, headers, destination, referrer, referrerPolicy, mode, credentials, cache, redirect, integrity, keepalive, isReloadNavigation: false, isHistoryNavigation: false, signal };
    return `Request ${shared.inspect(shown, options)}`;
  }
  #about;
  constructor(input, given = undefined) {
    const options = given ?? {};
    const from = input instanceof Request ? input : undefined;
    const url = from ? from.url : urlOf(input);
    const asked = `${options.method ?? from?.method ?? 'GET'}`;
    const method = /^(delete|get|head|options|post|put)$/i.test(asked) ? asked.toUpperCase() : asked;
    if (!token.test(method) || /^(connect|trace|track)$/i.test(method)) throw new TypeError(`'${method}' is not a valid HTTP method.`);
    const isGiven = options.body !== undefined && options.body !== null;
    if ((method === 'GET' || method === 'HEAD') && isGiven) throw new TypeError('Request with GET/HEAD method cannot have body.');
    const isStreamed = isGiven && (isStream(options.body) || typeof options.body[Symbol.asyncIterator] === 'function');
    if (isStreamed && options.duplex === undefined) throw new TypeError('RequestInit: duplex option is required when sending a body.');
    const body = options.body ?? (from && options.body === undefined ? takeOver(from) : null);
    super(body, new Headers(options.headers ?? from?.headers));
    const pick = (name, preset) => options[name] ?? from?.[name] ?? preset;
    this.#about = { url, method, mode: pick('mode', 'cors'), credentials: pick('credentials', 'same-origin'), cache: pick('cache', 'default'), redirect: redirectOf(pick('redirect', 'follow')), referrer: pick('referrer', 'about:client'), referrerPolicy: pick('referrerPolicy', ''), integrity: pick('integrity', ''), keepalive: pick('keepalive', false), signal: signalOf(options.signal === undefined ? from?.signal : options.signal), duplex: 'half', destination: '' };
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
    return new Request(this, { body: this.split('Request'), duplex: 'half' });
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
    const copy = new Response(this.split('Response'), { statusText: this.statusText, headers: this.headers });
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
