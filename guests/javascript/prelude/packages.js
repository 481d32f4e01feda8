// Packages: where a name that is imported or required lies in `node_modules`, and modules of the older kind (CommonJS).
(function (native, shared) {
  'use strict';
  // Those that are there now: a snippet may have others of these names.
  const { TextDecoder, URL } = globalThis;
  const { callerName, checkModule, compile, compileTypeScript, currentFolder, programName, readFile, requireModule, stat } = native;
  const { modules } = shared;
  const { dirname, join } = modules.path;

  const importing = new Set(['node', 'import', 'module-sync', 'default']);
  const requiring = new Set(['node', 'require', 'module-sync', 'default']);

  function fail(code, message, Kind = Error) {
    throw Object.assign(new Kind(message), { code });
  }

  function kindAt(path) {
    try {
      return stat(path, true)[0];
    } catch {
      return undefined;
    }
  }

  const textOf = (path) => new TextDecoder().decode(new Uint8Array(readFile(path)));

  // What a folder's package.json says, read once; null where there is none.
  const descriptions = new Map();
  function descriptionOf(folder) {
    let known = descriptions.get(folder);
    if (known !== undefined) return known;
    const file = join(folder, 'package.json');
    known = null;
    if (kindAt(file) === 'file') {
      try {
        known = JSON.parse(textOf(file));
      } catch (error) {
        fail('ERR_INVALID_PACKAGE_CONFIG', `Invalid package config ${file}: ${error.message}`);
      }
      known = Object.assign(Object.create(null), known);
    }
    descriptions.set(folder, known);
    return known;
  }

  // The folder and the description of the package that a file belongs to.
  function packageOf(path) {
    for (let folder = dirname(path); ; folder = dirname(folder)) {
      const description = descriptionOf(folder);
      if (description) return { folder, description };
      if (folder === '/' || folder === '.') return undefined;
    }
  }

  // How files may end whose names leave it out; a tool may add its own.
  function endings() {
    return [...Object.keys(extensions).filter((each) => each !== '.node'), '.mjs', '.cjs'];
  }

  // Files of TypeScript, by how they end. Those of packages are not compiled, as in Node.js.
  const written = ['.ts', '.tsx', '.mts', '.cts', '.jsx'];
  const isTypeScript = (path) => written.some((ending) => path.endsWith(ending));
  const sourceOf = (path) => (isTypeScript(path) ? compileTypeScript(textOf(path), path) : textOf(path));

  // The file that a path means to another, which may leave its ending out, or have that of what it would be compiled to.
  function asFile(path, base = '') {
    if (kindAt(path) === 'file') return path;
    const isPlain = path.includes('/node_modules/');
    const plain = endings().filter((ending) => !written.includes(ending));
    const tried = isPlain ? plain : isTypeScript(base) ? [...written, ...plain] : [...plain, ...written];
    const ending = tried.find((ending) => kindAt(path + ending) === 'file');
    if (ending || isPlain) return ending && path + ending;
    const [, stem, compiled] = /^(.*)(\.[cm]?jsx?)$/s.exec(path) ?? [];
    const others = compiled === '.js' ? ['.ts', '.tsx'] : compiled ? [compiled.replace('j', 't')] : [];
    return others.map((ending) => stem + ending).find((each) => kindAt(each) === 'file');
  }

  function asFolder(path, base = '') {
    if (kindAt(path) !== 'directory') return undefined;
    const main = descriptionOf(path)?.main;
    const named = typeof main === 'string' ? join(path, main) : undefined;
    const found = named && (asFile(named) ?? asFile(join(named, 'index')));
    if (found) return found;
    const index = asFile(join(path, 'index'), base);
    if (named && index) {
      const message = `Invalid 'main' field in '${join(path, 'package.json')}' of '${main}'. Please either fix that or report it to the module author`;
      globalThis.process.emitWarning(message, 'DeprecationWarning', 'DEP0128');
    }
    return index;
  }

  // What an entry of `exports` or `imports` leads to under the conditions; undefined when to nothing.
  function target(entry, folder, conditions, star) {
    if (typeof entry === 'string') {
      const name = entry.replaceAll('*', star);
      return name.startsWith('./') ? join(folder, name) : resolve(name, join(folder, 'package.json'), conditions);
    }
    if (Array.isArray(entry)) {
      for (const each of entry) {
        const found = target(each, folder, conditions, star);
        if (found) return found;
      }
    } else if (typeof entry === 'object' && entry !== null) {
      for (const condition of Object.keys(entry)) {
        if (!conditions.has(condition)) continue;
        const found = target(entry[condition], folder, conditions, star);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  // The entry of a table for a name: the same, or the pattern with the longest beginning.
  function lookUp(table, name, folder, conditions) {
    if (Object.hasOwn(table, name) && !name.includes('*')) return target(table[name], folder, conditions, '');
    let best;
    for (const pattern of Object.keys(table)) {
      const [head, tail, more] = pattern.split('*');
      if (tail === undefined || more !== undefined || (best && head.length <= best.head.length)) continue;
      if (name.length > head.length + tail.length && name.startsWith(head) && name.endsWith(tail)) best = { pattern, head, tail };
    }
    if (!best) return undefined;
    const star = name.slice(best.head.length, name.length - best.tail.length);
    return target(table[best.pattern], folder, conditions, star);
  }

  function exported(folder, { exports, name }, subpath, conditions) {
    const isTable = typeof exports === 'object' && exports !== null && Object.keys(exports)[0]?.startsWith('.');
    const found = lookUp(isTable ? exports : { '.': exports }, subpath, folder, conditions);
    if (found) return found;
    return fail('ERR_PACKAGE_PATH_NOT_EXPORTED', `Package subpath '${subpath}' is not exported by ${name ?? folder}`);
  }

  function inPackage(home, parts, subpath, conditions) {
    const description = descriptionOf(home);
    if (description?.exports !== undefined && description.exports !== null) return exported(home, description, subpath, conditions);
    const path = join(home, ...parts);
    return (parts.length ? asFile(path) : undefined) ?? asFolder(path);
  }

  // The file of a package by its name, as seen from a file; undefined when there is none.
  function inPackages(name, base, conditions) {
    const parts = name.split('/');
    const title = parts.splice(0, name[0] === '@' ? 2 : 1).join('/');
    const subpath = ['.', ...parts].join('/');
    const own = packageOf(base);
    if (own && own.description.name === title && own.description.exports !== undefined) {
      return exported(own.folder, own.description, subpath, conditions);
    }
    for (let folder = dirname(base); ; folder = dirname(folder)) {
      if (folder.endsWith('/node_modules')) continue;
      const home = join(folder, 'node_modules', title);
      const found = kindAt(home) === 'directory' ? inPackage(home, parts, subpath, conditions) : asFile(join(folder, 'node_modules', name));
      if (found) return found;
      if (folder === '/' || folder === '.') break;
    }
    for (const folder of globalPaths()) {
      const path = join(folder, name);
      const found = asFile(path) ?? asFolder(path);
      if (found) return found;
    }
    return undefined;
  }

  // Folders of `NODE_PATH`, where packages are looked for at last.
  function globalPaths() {
    if (!pathsAreKnown) Module._initPaths();
    return Module.globalPaths;
  }
  let pathsAreKnown = false;

  const isPath = (name) => /^(\/|\.\.?(\/|$))/.test(name);

  // The name that a built-in module has here.
  function builtIn(name) {
    if (Object.hasOwn(modules, name)) return name;
    const plain = name.startsWith('node:') ? name.slice(5) : name;
    return Object.hasOwn(modules, plain) ? plain : undefined;
  }

  // The file, or the built-in module, that a name means in the file `base`.
  function resolve(name, base, conditions) {
    const known = builtIn(name);
    if (known) return known;
    let found;
    if (isPath(name)) {
      const path = name[0] === '/' ? modules.path.normalize(name) : join(dirname(base), name);
      // What ends like a folder is none of the files beside it.
      found = (/(^|\/)(\.\.?)?$/.test(name) ? undefined : asFile(path, base)) ?? asFolder(path, base);
    } else if (name[0] === '#') {
      const own = packageOf(base);
      found = own && lookUp(own.description.imports ?? {}, name, own.folder, conditions);
    } else {
      found = inPackages(name, base, conditions);
    }
    if (found) return found;
    const hint = isPath(name) ? '' : `: there is ${Object.keys(modules).join(', ')}, files by path, and packages in node_modules`;
    const code = conditions === importing ? 'ERR_MODULE_NOT_FOUND' : 'MODULE_NOT_FOUND';
    return fail(code, `Cannot find module '${name}'${hint}`);
  }

  // Modules that have been required, by path.
  const cache = Object.create(null);
  // The file that the program began with, if it is one, and its module, if that is of the older kind.
  let mainPath, mainModule;

  // What neither its name nor its package tells is of the older kind if it has no statement of a module: a function is
  // compiled and thrown away to see that, as Node does. A file that is imported must also use one of the older kind's
  // names; most texts would do as either.
  function isCommonJs(path, source, imported) {
    if (/\.c[jt]s$/.test(path)) return true;
    if (/\.m[jt]s$/.test(path)) return false;
    const type = packageOf(path)?.description.type;
    if (type === 'commonjs' || type === 'module') return type === 'commonjs';
    if (imported && !/\b(module|exports|require)\b/.test(source)) return false;
    if (!/\b(import|export)\b/.test(source)) return true;
    try {
      compile(source, path);
      return true;
    } catch {
      return false;
    }
  }

  // The longest ending of a file's name that something is known for.
  function endingOf(path) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    for (let at = name.indexOf('.', 1); at > 0; at = name.indexOf('.', at + 1)) {
      if (extensions[name.slice(at)]) return name.slice(at);
    }
    return '.js';
  }

  function load(path, parent) {
    const known = cache[path];
    if (known) {
      if (parent && !parent.children?.includes(known)) parent.children?.push(known);
      return known.exports;
    }
    const handler = extensions[endingOf(path)];
    if (handler === ofJavaScript && !isCommonJs(path, sourceOf(path), false)) return exportsOf(path);
    const module = new Module(path, parent);
    if (path === mainPath) {
      mainModule = module;
      module.id = '.';
    }
    cache[path] = module;
    parent?.children?.push(module);
    try {
      module.load(path);
    } catch (error) {
      delete cache[path];
      throw error;
    }
    return module.exports;
  }

  const withoutMark = (source) => (source[0] === '\ufeff' ? source.slice(1) : source);

  function ofJavaScript(module, path) {
    module._compile(withoutMark(sourceOf(path)), path);
  }

  function ofJson(module, path) {
    try {
      module.exports = JSON.parse(withoutMark(textOf(path)));
    } catch (error) {
      error.message = `${path}: ${error.message}`;
      throw error;
    }
  }

  const extensions = Object.assign(Object.create(null), {
    '.js': ofJavaScript,
    '.json': ofJson,
    '.node'(module, path) {
      fail('ERR_DLOPEN_FAILED', `${path}: native code cannot be loaded in this sandbox`);
    },
    ...Object.fromEntries(written.map((ending) => [ending, ofJavaScript])),
  });

  // An ES module that is required: its namespace, or what it exports by a name that says so.
  function exportsOf(path) {
    const exports = requireModule(path);
    if (exports === undefined) fail('ERR_REQUIRE_ASYNC_MODULE', `require() of the ES module ${path} is not possible, for it awaits something; use import() instead`);
    return 'module.exports' in exports ? exports['module.exports'] : exports;
  }

  const errors = () => shared.library('internal/arguments');
  const baseOf = (parent) => (parent === own ? here('') : parent?.filename ?? here(''));

  function requireFor(parent) {
    const require = function require(name) {
      if (typeof name !== 'string') throw errors().wrongType('id', 'of type string', name);
      if (name === '') throw errors().wrongValue('id', name, 'must be a non-empty string');
      return Module._load(name, parent, false);
    };
    require.resolve = function resolve(name, options = undefined) {
      errors().need('string', 'request', name);
      return Module._resolveFilename(name, parent, false, options);
    };
    require.resolve.paths = function paths(name) {
      errors().need('string', 'request', name);
      return Module._resolveLookupPaths(name, parent);
    };
    require.cache = cache;
    require.extensions = extensions;
    Object.defineProperty(require, 'main', { get: () => mainModule ?? own, enumerable: true, configurable: true });
    return require;
  }

  // The class of modules, which tools extend and whose functions they replace.
  function Module(id = '', parent = undefined) {
    const own = { id, path: dirname(id), exports: {}, filename: null, loaded: false, children: [], paths: [], parent };
    for (const name of Object.keys(own)) Object.defineProperty(this, name, { value: own[name], writable: true, configurable: true, enumerable: name !== 'parent' });
  }
  Object.assign(Module.prototype, {
    require(name) {
      return requireFor(this)(name);
    },
    load(path) {
      this.filename = path;
      this.paths = Module._nodeModulePaths(dirname(path));
      extensions[endingOf(path)](this, path);
      this.loaded = true;
    },
    _compile(source, path) {
      const main = source.startsWith('#!') ? `//${source}` : source;
      return compile(main, path).call(this.exports, this.exports, requireFor(this), this, path, dirname(path));
    },
  });

  function within(paths, name) {
    for (const path of paths) {
      try {
        return resolve(name, join(modules.path.resolve(path), '.paths'), requiring);
      } catch (error) {
        if (error.code !== 'MODULE_NOT_FOUND') throw error;
      }
    }
    return fail('MODULE_NOT_FOUND', `Cannot find module '${name}'`);
  }

  // Where `createRequire` begins.
  function startOf(from) {
    const isUrl = from instanceof URL || (typeof from === 'string' && from.startsWith('file:'));
    if (isUrl) return modules.url.fileURLToPath(from);
    if (typeof from === 'string' && from[0] === '/') return from;
    throw errors().wrongValue('filename', from, 'must be a file URL object, file URL string, or absolute path string');
  }

  modules.module = Object.assign(Module, {
    Module,
    builtinModules: Object.keys(modules).filter((name) => name !== 'module').concat('module').sort(),
    _cache: cache,
    _pathCache: Object.create(null),
    _extensions: extensions,
    globalPaths: [],
    wrapper: ['(function (exports, require, module, __filename, __dirname) { ', '\n});'],
    wrap: (source) => Module.wrapper[0] + source + Module.wrapper[1],
    _resolveFilename(name, parent, isMain, options = undefined) {
      if (builtIn(name)) return name;
      if (options?.paths !== undefined) {
        if (!Array.isArray(options.paths)) throw errors().wrongValue('options.paths', options.paths);
        return within(options.paths, name);
      }
      return resolve(name, baseOf(parent), requiring);
    },
    _nodeModulePaths(from) {
      const parts = modules.path.resolve(from).split('/');
      const folders = parts.map((part, at) => ({ part, path: parts.slice(0, at + 1).join('/') })).reverse();
      return folders.filter(({ part }, at) => part !== 'node_modules' && !(part === '' && at < folders.length - 1)).map(({ path }) => `${path}/node_modules`);
    },
    _resolveLookupPaths(name, parent = undefined) {
      if (builtIn(name)) return null;
      if (isPath(name)) return [parent?.filename ? dirname(parent.filename) : '.'];
      return [...(parent?.paths ?? []), ...globalPaths()];
    },
    _initPaths() {
      pathsAreKnown = true;
      const { NODE_PATH = '', HOME } = globalThis.process.env;
      Module.globalPaths = [...NODE_PATH.split(':').filter(Boolean), ...(HOME ? [`${HOME}/.node_modules`, `${HOME}/.node_libraries`] : [])];
    },
    _load(name, parent, isMain) {
      const known = builtIn(name);
      if (!known && name.startsWith('node:')) fail('ERR_UNKNOWN_BUILTIN_MODULE', `No such built-in module: ${name}`);
      if (known && cache[name]) return cache[name].exports;
      const found = Module._resolveFilename(name, parent, isMain);
      return found[0] === '/' ? load(found, parent) : modules[builtIn(found)];
    },
    _stat(path) {
      const kind = kindAt(path);
      return kind === 'file' ? 0 : kind === 'directory' ? 1 : -2;
    },
    findPackageJSON: (name, base = here('')) => {
      const own = packageOf(resolve(name, `${base}`.replace(/^file:\/\//, ''), importing));
      return own && join(own.folder, 'package.json');
    },
    register() {},
    syncBuiltinESMExports() {},
    findSourceMap() {},
    enableCompileCache: () => ({ status: 3 }),
    isBuiltin: (name) => builtIn(`${name}`) !== undefined,
    createRequire(from) {
      const path = startOf(from);
      const parent = new Module(path);
      parent.filename = path + (path.endsWith('/') ? '.' : '');
      parent.paths = Module._nodeModulePaths(dirname(parent.filename));
      return requireFor(parent);
    },
    checkSyntax: (path) => checkSyntax(resolve(path, here(''), requiring)),
    // Runs a file as a program is run.
    runMain(main = globalThis.process.argv[1]) {
      const path = resolve(main, here(''), requiring);
      mainPath = path;
      globalThis.process.argv[1] = path;
      if (path.endsWith('.json') || isCommonJs(path, sourceOf(path), false)) load(path);
      else return import(path);
      return undefined;
    },
  });

  // Throws when the text of a file is none of its kind. Runs nothing of it.
  function checkSyntax(path) {
    const source = sourceOf(path);
    if (path.endsWith('.json')) JSON.parse(source);
    else if (isCommonJs(path, source, false)) compile(source.startsWith('#!') ? `//${source}` : source, path);
    else checkModule(source, path);
  }

  // A snippet's own begins in the working directory.
  const here = (base) => (base[0] === '/' ? base : join(currentFolder(), '.snippet'));
  // A snippet is what a program begins with: it has a module, whose file is its own if it has one.
  const fileName = () => (programName()[0] === '/' ? programName() : join(currentFolder(), '[snippet]'));
  const own = new Module('.');
  own.paths = modules.module._nodeModulePaths(currentFolder());
  const require = (own.require = requireFor(own));
  const replaceable = (object, name, get, enumerable) => {
    const set = (value) => Object.defineProperty(object, name, { value, writable: true, configurable: true });
    Object.defineProperty(object, name, { get, set, configurable: true, enumerable });
  };
  replaceable(own, 'filename', fileName, true);
  replaceable(own, 'path', () => dirname(fileName()), true);
  // They are the snippet's; an ES module that it imports has none of them, and may ask whether it has.
  const isModule = (caller) => caller?.startsWith('data:') || (caller?.[0] === '/' && (caller !== programName() || caller.endsWith('.mjs')));
  const belonging = { require: () => require, module: () => own, exports: () => own.exports, __filename: fileName, __dirname: () => dirname(fileName()) };
  // TypeScript that is compiled for Node.js mostly has them beside `import`.
  const ofFile = { require: (path) => Module.createRequire(path), __filename: (path) => path, __dirname: dirname };
  const inFile = (name, path) => (isTypeScript(path) && !path.endsWith('.mts') ? ofFile[name]?.(path) : undefined);
  for (const [name, value] of Object.entries(belonging)) replaceable(globalThis, name, () => ((caller) => (isModule(caller) ? inFile(name, caller) : value()))(callerName(2)), false);
  shared.define('global', globalThis);
  shared.define('reportError', (error) => console.error(error));
  // Of the globals these are seen by who goes through them.
  for (const name of ['global', 'clearImmediate', 'setImmediate', 'clearInterval', 'clearTimeout', 'setInterval', 'setTimeout', 'queueMicrotask', 'structuredClone', 'atob', 'btoa', 'performance', 'fetch', 'navigator', 'crypto']) {
    Object.defineProperty(globalThis, name, { enumerable: true });
  }

  shared.packages = {
    // What `import` means by a name that is no path.
    resolve: (name, base) => resolve(name, here(base), importing),
    // The file that it means by a path; a query is left out to find it.
    file(path, base) {
      const name = kindAt(path) === 'file' ? path : path.split(/[?#]/, 1)[0];
      const found = asFile(name, base) ?? asFile(join(name, 'index'), base);
      return found ? found + path.slice(name.length) : path;
    },
    // The source of the module that a `data:` URL has, or the value of its JSON.
    dataModule(url) {
      const { type, bytes } = shared.library('internal/data_url')(url) ?? fail('ERR_INVALID_URL', `Invalid URL: ${url}`, TypeError);
      const [kind] = type.toLowerCase().split(/\s*;/);
      const text = bytes.utf8Slice();
      if (/^(text|application)\/(x-)?(javascript|ecmascript)$/.test(kind)) return { source: text };
      if (kind !== 'application/json') fail('ERR_UNKNOWN_MODULE_FORMAT', `Unknown module format: ${kind} for URL ${url}`, RangeError);
      return { value: JSON.parse(text) };
    },
    // `import.meta.resolve` of a file.
    resolver: (base) => (name) => {
      const found = /^(file|data|https?):/.test(name) ? name : resolve(`${name}`, here(base), importing);
      return found[0] === '/' ? `file://${encodeURI(found)}` : found.includes(':') ? found : `node:${found}`;
    },
    // The exports of a file of the older kind; undefined when it is an ES module.
    commonJs: (path, source) => (cache[path] || isCommonJs(path, source, true) ? { exports: load(path) } : undefined),
  };
})
