// The module `path/win32`: what the package `path` has of it, and what Node.js has changed since.
'use strict';
const { win32 } = require('path/path.js');
const posix = require('path');
const { need } = require('internal/arguments');
const { formatPath } = shared;

const { join, normalize, relative, resolve } = win32;
const text = (path, name = 'path') => need('string', name, path);

// Of a share, a drive, or nothing but a separator.
const rootOf = (path) => /^(?:[\\/]{2}[^\\/]+[\\/]+[^\\/]+[\\/]?|[a-zA-Z]:[\\/]?|[\\/])?/.exec(path)[0];
const trimmed = (path) => path.replace(/[\\/]+$/, '');
const lastSeparator = (path) => Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'));

function dirname(path) {
  const root = rootOf(text(path));
  const rest = trimmed(path.slice(root.length));
  const cut = lastSeparator(rest);
  return cut < 0 ? root || '.' : root + rest.slice(0, cut);
}

function basename(path, suffix) {
  if (suffix !== undefined && text(suffix, 'suffix') === path) return '';
  const rest = trimmed(text(path).replace(/^[a-zA-Z]:/, ''));
  const base = rest.slice(lastSeparator(rest) + 1);
  return suffix && base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
}

const extname = (path) => posix.extname(basename(path));

function parse(path) {
  const root = rootOf(text(path));
  const rest = trimmed(path.slice(root.length));
  const cut = lastSeparator(rest);
  const base = rest.slice(cut + 1);
  const ext = posix.extname(base);
  return { root, dir: cut < 0 ? root : root + rest.slice(0, cut), base, ext, name: ext ? base.slice(0, -ext.length) : base };
}

// What begins with no root must not come to one, as by `x/../C:/y`.
function normalized(path) {
  const result = normalize(text(path));
  if (rootOf(path)) return result;
  return /^[a-zA-Z]:/.test(result) || /:(?:[\\/]|$)/.test(path) ? `.\\${result}` : result;
}

function toNamespacedPath(path) {
  if (typeof path !== 'string' || !path) return path;
  const whole = resolve(path);
  if (/^\\\\[^.?]/.test(whole)) return `\\\\?\\UNC\\${whole.slice(2)}`;
  return /^[a-zA-Z]:\\/.test(whole) ? `\\\\?\\${whole}` : whole;
}

// They go through `normalize` of the module.
Object.assign(win32, {
  normalize: normalized,
  join: (...paths) => join(...paths.map((path) => text(path))),
  resolve: (...paths) => resolve(...paths.map((path) => text(path))),
  relative: (from, to) => relative(text(from, 'from'), text(to, 'to')),
  isAbsolute: (path) => /^(?:[\\/]|[a-zA-Z]:[\\/])/.test(text(path)),
  dirname,
  basename,
  extname,
  parse,
  format: (parts) => formatPath(parts, '\\'),
  toNamespacedPath,
  _makeLong: toNamespacedPath,
  matchesGlob: (path, pattern) => posix.matchesGlob(text(path).replaceAll('\\', '/'), text(pattern, 'pattern').replaceAll('\\', '/')),
  posix,
  win32,
});
module.exports = win32;
