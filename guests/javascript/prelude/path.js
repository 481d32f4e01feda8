// The module `path`, for POSIX paths.
(function (native, shared) {
  'use strict';
  const { currentFolder } = native;

  const text = (path, argument = 'path') => (typeof path === 'string' ? path : shared.library('internal/arguments').need('string', argument, path));

  function normalize(path) {
    if (text(path) === '') return '.';
    const absolute = path[0] === '/';
    const parts = [];
    for (const part of path.split('/')) {
      if (part === '' || part === '.') continue;
      if (part === '..' && parts.length && parts.at(-1) !== '..') parts.pop();
      else if (part !== '..' || !absolute) parts.push(part);
    }
    let result = parts.join('/');
    if (result && path.endsWith('/')) result += '/';
    return absolute ? `/${result}` : result || (path.endsWith('/') ? './' : '.');
  }

  function resolve(...paths) {
    let result = '';
    for (let i = paths.length - 1; i >= 0 && result[0] !== '/'; i--) {
      if (text(paths[i])) result = result ? `${paths[i]}/${result}` : paths[i];
    }
    if (result[0] !== '/') result = `${currentFolder()}/${result}`;
    const clean = normalize(result);
    return clean.length > 1 && clean.endsWith('/') ? clean.slice(0, -1) : clean;
  }

  const trimmed = (path) => text(path).replace(/(?<=.)\/+$/, '');

  function dirname(path) {
    const clean = trimmed(path);
    const slash = clean.lastIndexOf('/');
    if (slash < 0) return '.';
    return slash === 1 && clean[0] === '/' ? '//' : clean.slice(0, slash) || '/';
  }

  function basename(path, suffix) {
    const clean = trimmed(path);
    if (suffix !== undefined && text(suffix, 'suffix') === path) return '';
    const base = clean === '/' ? '' : clean.slice(clean.lastIndexOf('/') + 1);
    return suffix && base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
  }

  function extname(path) {
    const base = basename(path);
    const dot = base.lastIndexOf('.');
    return dot <= 0 || base === '..' ? '' : base.slice(dot);
  }

  const path = {
    sep: '/',
    delimiter: ':',
    normalize,
    resolve,
    dirname,
    basename,
    extname,
    join(...paths) {
      const joined = paths.filter((part) => text(part)).join('/');
      return joined ? normalize(joined) : '.';
    },
    isAbsolute(name) {
      return text(name)[0] === '/';
    },
    relative(from, to) {
      const left = resolve(text(from, 'from')).split('/').filter(Boolean);
      const right = resolve(text(to, 'to')).split('/').filter(Boolean);
      let same = 0;
      while (same < left.length && left[same] === right[same]) same++;
      return [...left.slice(same).map(() => '..'), ...right.slice(same)].join('/');
    },
    parse(name) {
      const base = basename(name);
      const ext = extname(name);
      const root = name[0] === '/' ? '/' : '';
      const dir = trimmed(name).includes('/') ? dirname(name) : '';
      return { root, dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
    },
    format: (parts) => formatted(parts, '/'),
    toNamespacedPath: (name) => name,
    _makeLong: (name) => name,
    matchesGlob: (name, pattern) => shared.library('internal/glob')(text(name), text(pattern, 'pattern')),
  };

  function formatted(parts, separator) {
    if (typeof parts !== 'object' || parts === null) throw shared.library('internal/arguments').wrongType('pathObject', 'of type object', parts);
    const { root, dir, base, name, ext } = parts;
    const folder = dir || root;
    const last = base || `${name || ''}${ext && ext[0] !== '.' ? '.' : ''}${ext || ''}`;
    if (!folder) return last;
    return folder === root ? folder + last : folder + separator + last;
  }
  shared.formatPath = formatted;
  path.posix = path;
  shared.modules.path = path;
})
