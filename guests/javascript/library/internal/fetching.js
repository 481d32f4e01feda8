// `fetch` (the Fetch standard).
'use strict';
const { Buffer } = require('buffer');
const { takeOver } = require('internal/body');
const decoding = require('internal/content_codings');
const { Request, Response, answer } = require('internal/fetch');
const { Headers, fix } = require('internal/headers');
const { STATUS_CODES } = require('internal/http_names');
const { Exchange, Incoming } = require('internal/network');

// Redirects that are followed.
const HOPS = 20;
const redirecting = new Set([301, 302, 303, 307, 308]);
const withoutBody = new Set([101, 103, 204, 205, 304]);
// What goes with a body, and what is not for another origin.
const ofBody = ['content-encoding', 'content-language', 'content-location', 'content-type', 'content-length'];
const ofOrigin = ['authorization', 'proxy-authorization', 'cookie', 'host'];

// --- What needs no network.

// What is there, and its type.
function find(url) {
  if (url.startsWith('data:')) return require('internal/data_url')(url);
  const blob = require('internal/object_urls').resolve(url);
  return blob && { type: blob.type, bytes: blob };
}

function answerOfUrl({ url }) {
  const found = find(url);
  if (!found) throw new Error(/^(data|blob):/.test(url) ? 'the URL has no data' : 'unknown scheme');
  const response = new Response(found.bytes, { headers: { 'content-type': found.type } });
  answer(response, { type: 'basic', url });
  return response;
}

// --- A request.

// As they are sent: names and values in turn.
function headersOf({ headers, method, parts, request, url }) {
  const list = [...headers].filter(([name]) => name !== 'content-length' || parts?.stream).flat();
  const add = (name, value) => {
    if (!headers.has(name)) list.push(name, value);
  };
  const cache = { 'no-cache': 'max-age=0', 'no-store': 'no-cache', reload: 'no-cache' }[request.cache];
  if (cache) add('cache-control', cache);
  if (cache === 'no-cache') add('pragma', 'no-cache');
  add('accept', '*/*');
  add('accept-language', '*');
  add('sec-fetch-mode', request.mode);
  add('user-agent', 'node');
  add('accept-encoding', headers.has('range') ? 'identity' : url.protocol === 'https:' ? 'br, gzip, deflate' : 'gzip, deflate');
  if (parts?.bytes) list.push('content-length', `${parts.bytes.length}`);
  else if (!parts && /^(POST|PUT)$/.test(method)) list.push('content-length', '0');
  return list;
}

// Sends a body. That it cannot be sent is told with the answer; what is wrong with the body ends the exchange.
async function send(going, { bytes, stream }) {
  const { exchange } = going;
  try {
    if (bytes) await exchange.write(bytes);
    else await sendStream(going, stream);
    await exchange.finish();
  } catch {
    // The answer tells.
  }
}

async function sendStream(going, stream) {
  const { exchange } = going;
  const reader = stream.getReader();
  going.leave = (reason) => reader.cancel(reason).catch(() => {});
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      if (!(value instanceof Uint8Array)) throw new TypeError('Received non-Uint8Array chunk');
      await exchange.write(value);
    }
  } catch (error) {
    exchange.close(error);
    going.leave(error);
    throw error;
  }
}

// Sends the request as it is now, and waits for the head of the answer.
async function ask(going) {
  const { method, parts, url } = going;
  const hasBody = Boolean(parts?.stream || parts?.bytes?.length);
  const sent = new URL(url);
  sent.username = sent.password = sent.hash = '';
  going.exchange = new Exchange({ method, url: sent, headers: headersOf(going), hasBody });
  if (hasBody) send(going, parts);
  const [status, raw] = await going.exchange.head();
  const headers = new Headers();
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at], raw[at + 1]);
  return { status, headers };
}

// --- Its answer.

// Whether it leads elsewhere; then the request is the next one.
function follow(going, { status, headers }) {
  const { request } = going;
  if (!redirecting.has(status) || request.redirect === 'manual') return false;
  if (request.redirect === 'error') throw new Error('unexpected redirect');
  const location = headers.get('location');
  if (location === null) return false;
  const url = new URL(Buffer.from(location, 'latin1').toString(), going.url);
  if (!/^https?:$/.test(url.protocol)) throw new Error('URL scheme must be a HTTP(S) scheme');
  if (going.hops++ === HOPS) throw new Error('redirect count exceeded');
  const isElsewhere = url.origin !== going.url.origin;
  if (request.mode === 'cors' && isElsewhere && (url.username || url.password)) throw new Error('cross origin not allowed for request mode "cors"');
  if (status !== 303 && going.parts?.stream) throw new Error('a redirect cannot be followed with a body that is a stream');
  if (!url.hash) url.hash = going.url.hash;
  const isPost = status <= 302 && going.method === 'POST';
  if (isPost || (status === 303 && going.method !== 'GET' && going.method !== 'HEAD')) {
    going.method = 'GET';
    going.parts = null;
    for (const name of ofBody) going.headers.delete(name);
  }
  if (isElsewhere) for (const name of ofOrigin) going.headers.delete(name);
  going.url = url;
  going.exchange.discard();
  return true;
}

function bodyOf(going, { status, headers }) {
  const { exchange, method, request } = going;
  if (method === 'HEAD' || withoutBody.has(status)) {
    exchange.discard();
    return null;
  }
  const told = (cause) => (request.signal.aborted ? request.signal.reason : new TypeError('terminated', { cause }));
  going.incoming = new Incoming(exchange, { decode: decoding(headers.get('content-encoding')), told });
  return going.incoming;
}

function responseOf(going, head, body) {
  const response = new Response(body, { headers: head.headers });
  const url = new URL(going.url);
  url.hash = '';
  answer(response, { status: head.status, statusText: STATUS_CODES[head.status] ?? '', type: 'basic', url: url.href, redirected: going.hops > 0 });
  fix(response.headers);
  return response;
}

// The body as a whole, if it is what the request says that it is (Subresource Integrity).
async function checked(response, integrity) {
  const strongest = ['sha512', 'sha384', 'sha256'].find((name) => integrity.includes(`${name}-`));
  const bytes = await response.bytes();
  const given = strongest && require('crypto').createHash(strongest).update(bytes).digest('base64');
  const wanted = integrity.split(/\s+/).flatMap((each) => (each.startsWith(`${strongest}-`) ? [each.slice(7).replace(/\?.*$/, '')] : []));
  if (strongest && !wanted.includes(given)) throw new Error('integrity mismatch');
  return bytes;
}

async function overNetwork(request) {
  const { method, signal } = request;
  const going = { request, method, url: new URL(request.url), headers: new Headers(request.headers), parts: takeOver(request), hops: 0 };
  const stop = () => {
    if (going.incoming) going.incoming.fail(signal.reason);
    else going.exchange.close(signal.reason);
    going.leave?.(signal.reason);
  };
  const forget = () => signal.removeEventListener('abort', stop);
  signal.addEventListener('abort', stop, { once: true, [shared.resists]: true });
  try {
    let head;
    do head = await ask(going);
    while (follow(going, head));
    const response = responseOf(going, head, bodyOf(going, head));
    if (going.exchange.isOver) forget();
    else going.exchange.onclose = forget;
    return request.integrity ? responseOf(going, head, await checked(response, request.integrity)) : response;
  } catch (cause) {
    forget();
    going.exchange?.close(cause);
    if (signal.aborted) throw signal.reason;
    throw cause;
  }
}

module.exports = async function fetch(resource, options) {
  const request = new Request(resource, options);
  const { signal } = request;
  signal.throwIfAborted();
  try {
    return await (/^https?:/.test(request.url) ? overNetwork(request) : answerOfUrl(request));
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw new TypeError('fetch failed', { cause });
  }
};
