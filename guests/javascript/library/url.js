// The module `url`: the classes of the web, and the older functions, which are the package `url`.
'use strict';
const { Buffer } = require('buffer');
const old = require('url/url.js');
const punycode = require('punycode');

function fail(code, message) {
  return Object.assign(new TypeError(message), { code });
}

function fileURLToPath(given) {
  const url = typeof given === 'string' ? new URL(given) : given;
  if (typeof url?.protocol !== 'string') throw fail('ERR_INVALID_ARG_TYPE', 'The "path" argument must be of type string or an instance of URL.');
  if (url.protocol !== 'file:') throw fail('ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
  if (/%2f/i.test(url.pathname)) throw fail('ERR_INVALID_FILE_URL_PATH', 'File URL path must not include encoded / characters');
  return decodeURIComponent(url.pathname);
}

function pathToFileURL(path) {
  const whole = require('path').resolve(path) + (/.\/$/.test(path) ? '/' : '');
  const url = new URL('file:///');
  url.pathname = whole.replace(/[%\\\n\r\t?#]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
  return url;
}

function format(given, { auth = true, fragment = true, search = true, unicode = false } = {}) {
  if (!(given instanceof URL)) return old.format(given);
  const url = new URL(given.href);
  if (!auth) url.username = url.password = '';
  if (!fragment) url.hash = '';
  if (!search) url.search = '';
  return unicode ? url.href.replace(url.hostname, punycode.toUnicode(url.hostname)) : url.href;
}

function urlToHttpOptions(url) {
  const { protocol, hostname, hash, search, pathname, href, port, username, password } = url;
  const options = { ...url, protocol, hostname: hostname.replace(/^\[|\]$/g, ''), hash, search, pathname, path: pathname + search, href };
  if (port !== '') options.port = Number(port);
  if (username || password) options.auth = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return options;
}

// A name that is no host's comes to nothing, as in Node.js.
function hostOf(domain) {
  try {
    return new URL(`http://${domain}`).hostname;
  } catch {
    return '';
  }
}

module.exports = {
  Url: old.Url,
  parse: old.parse,
  resolve: old.resolve,
  resolveObject: old.resolveObject,
  format,
  URL,
  URLSearchParams,
  get URLPattern() {
    return globalThis.URLPattern;
  },
  domainToASCII: hostOf,
  domainToUnicode: (domain) => punycode.toUnicode(hostOf(domain)),
  fileURLToPath,
  fileURLToPathBuffer: (given) => Buffer.from(fileURLToPath(given)),
  pathToFileURL,
  urlToHttpOptions,
};
