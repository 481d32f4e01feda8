// The module `url`: the classes of the web, and the older functions, which are the package `url`.
'use strict';
const { Buffer } = require('buffer');
const { error, missing, need, needObject, wrongType, wrongValue } = require('internal/arguments');
const paths = require('path');
const old = require('url/url.js');
const punycode = require('punycode');

// The package gives a query that was taken apart a prototype, and one that is not there an empty text.
function parse(given, withQuery, slashesDenoteHost) {
  if (typeof given !== 'string' && !(given instanceof old.Url)) throw wrongType('url', 'of type string', given);
  const url = old.parse(given, withQuery, slashesDenoteHost);
  if (!withQuery || typeof given !== 'string') return url;
  url.search ||= null;
  url.query = require('querystring').parse(url.search?.slice(1));
  return url;
}

function windowsPath({ hostname, pathname }) {
  if (/%2f|%5c/i.test(pathname)) throw error(TypeError, 'ERR_INVALID_FILE_URL_PATH', 'File URL path must not include encoded \\ or / characters');
  const path = decodeURIComponent(pathname.replaceAll('/', '\\'));
  if (hostname) return `\\\\${punycode.toUnicode(hostname)}${path}`;
  if (!/^\\[a-z]:/i.test(path)) throw error(TypeError, 'ERR_INVALID_FILE_URL_PATH', 'File URL path must be absolute');
  return path.slice(1);
}

function fileURLToPath(given, options = undefined) {
  const url = typeof given === 'string' ? new URL(given) : given;
  if (typeof url?.protocol !== 'string' || typeof url.href !== 'string') throw wrongType('path', 'of type string or an instance of URL', given);
  if (url.protocol !== 'file:') throw error(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
  if (options?.windows) return windowsPath(url);
  if (url.hostname) throw error(TypeError, 'ERR_INVALID_FILE_URL_HOST', 'File URL host must be "localhost" or empty on linux');
  if (/%2f/i.test(url.pathname)) throw error(TypeError, 'ERR_INVALID_FILE_URL_PATH', 'File URL path must not include encoded / characters');
  return decodeURIComponent(url.pathname);
}

const unsafe = /[%\n\r\t?#[\]^|~]/g;
const escapeIn = (path) => path.replace(unsafe, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

// What `\\\\host\\share` names on Windows.
function networkPath(path) {
  const [, host, rest] = /^\\\\([^\\]*)(\\?.*)$/s.exec(path);
  if (!rest) throw wrongValue('path', path, 'Missing UNC resource path');
  if (!host) throw wrongValue('path', path, 'Empty UNC servername');
  const url = new URL('file:///');
  url.hostname = hostOf(host);
  url.pathname = escapeIn(rest).replaceAll('\\', '/');
  return url;
}

function pathToFileURL(path, options = undefined) {
  need('string', 'path', path);
  const windows = Boolean(options?.windows);
  if (windows && /^\\\\(?!\?)|^\\\\\?\\UNC\\/i.test(path)) return networkPath(path.replace(/^\\\\\?\\UNC\\/i, '\\\\'));
  const { resolve } = windows ? paths.win32 : paths;
  const whole = resolve(windows ? path.replace(/^\\\\\?\\/, '') : path) + (windows ? (/.[/\\]$/.test(path) ? '\\' : '') : /.\/$/.test(path) ? '/' : '');
  const url = new URL('file:///');
  url.pathname = windows ? escapeIn(whole).replaceAll('\\', '/') : escapeIn(whole).replaceAll('\\', '%5C');
  return url;
}

function format(given, options = undefined) {
  if (typeof given === 'string') return old.format(given);
  if (typeof given !== 'object' || given === null) throw wrongType('urlObject', 'of type object or string', given);
  if (!(given instanceof URL)) return old.format(given);
  if (options !== undefined && options !== null) needObject('options', options);
  const { auth = true, fragment = true, search = true, unicode = false } = options ?? {};
  const url = new URL(given.href);
  if (!auth) url.username = url.password = '';
  if (!fragment) url.hash = '';
  if (!search) url.search = '';
  return unicode && url.hostname ? url.href.replace(url.hostname, () => punycode.toUnicode(url.hostname)) : url.href;
}

function urlToHttpOptions(url) {
  const { protocol, hostname, hash, search, pathname, href, port, username, password } = url;
  const options = { __proto__: null, ...url, protocol, hostname: hostname?.[0] === '[' ? hostname.slice(1, -1) : hostname, hash, search, pathname, path: `${pathname ?? ''}${search ?? ''}`, href };
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

function domainToASCII(domain) {
  if (arguments.length === 0) throw missing('domain');
  return hostOf(domain);
}

function domainToUnicode(domain) {
  if (arguments.length === 0) throw missing('domain');
  return punycode.toUnicode(hostOf(domain));
}

module.exports = {
  Url: old.Url,
  parse,
  resolve: old.resolve,
  resolveObject: old.resolveObject,
  format,
  URL,
  URLSearchParams,
  get URLPattern() {
    return globalThis.URLPattern;
  },
  domainToASCII,
  domainToUnicode,
  fileURLToPath,
  fileURLToPathBuffer: (given, options) => Buffer.from(fileURLToPath(given, options)),
  pathToFileURL,
  urlToHttpOptions,
};
