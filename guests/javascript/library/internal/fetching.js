// `fetch`: what needs no network.
'use strict';
const { Request, Response, answer } = require('internal/fetch');
const dataOf = require('internal/data_url');
const objectUrls = require('internal/object_urls');

// What is there, and its type.
function find(url) {
  if (url.startsWith('data:')) return dataOf(url);
  const blob = objectUrls.resolve(url);
  return blob && { type: blob.type, bytes: blob };
}

function refusal(url) {
  const isHttp = /^https?:/.test(url);
  const cause = isHttp ? Object.assign(new Error('no network in this sandbox'), { code: 'ENETUNREACH', syscall: 'connect' }) : new Error(/^(data|blob):/.test(url) ? 'the URL has no data' : 'unknown scheme');
  return new TypeError('fetch failed', { cause });
}

module.exports = async function fetch(resource, options) {
  const request = new Request(resource, options);
  request.signal.throwIfAborted();
  const found = find(request.url);
  if (!found) throw refusal(request.url);
  const response = new Response(found.bytes, { headers: { 'content-type': found.type } });
  answer(response, { type: 'basic', url: request.url });
  return response;
};
