// Packages: where a name that is imported or required lies in `node_modules`, and modules of the older kind (CommonJS).
(function (native, shared) {
  'use strict';
  // Those that are there now: a snippet may have others of these names.
  const { TextDecoder, URL } = globalThis;
  const { checkModule, compile, currentFolder, programName, readFile, requireModule, stat } = native;
  const { modules } = shared;
  const { dirname, join } = modules.path;

  const importing = new Set(['node', 'import', 'module-sync', 'default']);
  const requiring = new Set(['node', 'require', 'module-sync', 'default']);
  const endings = ['.js', '.json', '.mjs', '.cjs'];

  function fail(code, message) {
    const error = new Error(message);
    error.code = code;
    throw error;
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
      if (typeof known !== 'object' || known === null) known = {};
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

  function asFile(path) {
    if (kindAt(path) === 'file') return path;
    const ending = endings.find((ending) => kindAt(path + ending) === 'file');
    return ending && path + ending;
  }

  function asFolder(path) {
    if (kindAt(path) !== 'directory') return undefined;
    const main = descriptionOf(path)?.main;
    const named = typeof main === 'string' ? join(path, main) : undefined;
    return (named && (asFile(named) ?? asFile(join(named, 'index')))) ?? asFile(join(path, 'index'));
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
      const home = join(folder, 'node_modules', title);
      if (kindAt(home) === 'directory') {
        const description = descriptionOf(home);
        if (description?.exports !== undefined && description.exports !== null) {
          return exported(home, description, subpath, conditions);
        }
        const path = join(home, ...parts);
        return (parts.length ? asFile(path) : undefined) ?? asFolder(path);
      }
      if (folder === '/' || folder === '.') return undefined;
    }
  }

  const isPath = (name) => /^(\/|\.\.?(\/|$))/.test(name);

  // The file, or the built-in module, that a name means in the file `base`.
  function resolve(name, base, conditions) {
    const plain = name.replace(/^node:/, '');
    const builtIn = [name, plain].find((each) => Object.hasOwn(modules, each));
    if (builtIn) return builtIn;
    let found;
    if (isPath(name)) {
      const path = name[0] === '/' ? modules.path.normalize(name) : join(dirname(base), name);
      found = asFile(path) ?? asFolder(path);
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
    if (path.endsWith('.cjs')) return true;
    if (path.endsWith('.mjs')) return false;
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

  function load(path, parent) {
    const known = cache[path];
    if (known) return known.exports;
    const source = textOf(path);
    const json = path.endsWith('.json');
    if (!json && !isCommonJs(path, source, false)) return exportsOf(path);
    const module = Object.assign(new modules.module(path, parent), { filename: path });
    if (path === mainPath) mainModule = module;
    cache[path] = module;
    parent?.children.push(module);
    try {
      if (json) module.exports = JSON.parse(source);
      else run(module, source);
    } catch (error) {
      delete cache[path];
      throw error;
    }
    module.loaded = true;
    return module.exports;
  }

  // An ES module that is required: its namespace, or what it exports by a name that says so.
  function exportsOf(path) {
    const exports = requireModule(path);
    if (exports === undefined) fail('ERR_REQUIRE_ASYNC_MODULE', `require() of the ES module ${path} is not possible, for it awaits something; use import() instead`);
    return 'module.exports' in exports ? exports['module.exports'] : exports;
  }

  function run(module, source) {
    const main = source.startsWith('#!') ? `//${source}` : source;
    const require = (module.require = requireFor(() => module.filename, module));
    compile(main, module.filename).call(module.exports, module.exports, require, module, module.filename, module.path);
  }

  function requireFor(base, parent) {
    const find = (name) => {
      if (typeof name === 'string' && name !== '') return resolve(name, base(), requiring);
      const error = new TypeError('The argument of require must be a non-empty string');
      error.code = 'ERR_INVALID_ARG_VALUE';
      throw error;
    };
    const require = function require(name) {
      const found = find(name);
      return found[0] === '/' ? load(found, parent) : modules[found];
    };
    require.resolve = find;
    require.cache = cache;
    Object.defineProperty(require, 'main', { get: () => mainModule ?? own, enumerable: true, configurable: true });
    return require;
  }

  // The class of modules, which tools extend.
  function Module(id = '', parent = undefined) {
    Object.assign(this, { id, filename: null, path: dirname(id), exports: {}, parent, children: [], loaded: false, paths: [] });
  }

  modules.module = Object.assign(Module, {
    Module,
    builtinModules: Object.keys(modules).filter((name) => name !== 'module').concat('module').sort(),
    _cache: cache,
    _extensions: Object.assign(Object.create(null), { '.js'() {}, '.json'() {}, '.node'() {} }),
    _resolveFilename: (name, parent) => resolve(name, parent?.filename ?? here(''), requiring),
    _nodeModulePaths: (from) => from.split('/').map((_, at, all) => `${all.slice(0, all.length - at).join('/')}/node_modules`),
    _load: (name, parent) => requireFor(() => parent?.filename ?? here(''), parent)(name),
    findPackageJSON: (name, base = here('')) => {
      const own = packageOf(resolve(name, `${base}`.replace(/^file:\/\//, ''), importing));
      return own && join(own.folder, 'package.json');
    },
    register() {},
    syncBuiltinESMExports() {},
    findSourceMap() {},
    globalPaths: [],
    enableCompileCache: () => ({ status: 3 }),
    isBuiltin: (name) => Object.hasOwn(modules, `${name}`) || Object.hasOwn(modules, `${name}`.replace(/^node:/, '')),
    createRequire(from) {
      const path = from instanceof URL || `${from}`.startsWith('file:') ? modules.url.fileURLToPath(from) : `${from}`;
      return requireFor(() => path + (path.endsWith('/') ? '.' : ''));
    },
    checkSyntax: (path) => checkSyntax(resolve(path, here(''), requiring)),
    // Runs a file as a program is run.
    async runMain(main = globalThis.process.argv[1]) {
      const path = resolve(main, here(''), requiring);
      mainPath = path;
      globalThis.process.argv[1] = path;
      if (path.endsWith('.json') || isCommonJs(path, textOf(path), false)) load(path);
      else await import(path);
    },
  });

  // Throws when the text of a file is none of its kind. Runs nothing of it.
  function checkSyntax(path) {
    const source = textOf(path);
    if (path.endsWith('.json')) JSON.parse(source);
    else if (isCommonJs(path, source, false)) compile(source.startsWith('#!') ? `//${source}` : source, path);
    else checkModule(source, path);
  }

  // A snippet's own begins in the working directory.
  const here = (base) => (base[0] === '/' ? base : join(currentFolder(), '.snippet'));
  const require = requireFor(() => here(''));
  // A snippet is what a program begins with: it has a module, whose file is its own if it has one.
  const fileName = () => (programName()[0] === '/' ? programName() : join(currentFolder(), '[snippet]'));
  const own = new Module('.');
  own.paths = modules.module._nodeModulePaths(currentFolder());
  own.require = require;
  shared.define('require', require);
  shared.define('module', own);
  shared.define('exports', own.exports);
  for (const [object, name, get] of [
    [own, 'filename', fileName],
    [own, 'path', () => dirname(fileName())],
    [globalThis, '__filename', fileName],
    [globalThis, '__dirname', () => dirname(fileName())],
  ]) {
    const set = (value) => Object.defineProperty(object, name, { value, writable: true, configurable: true });
    Object.defineProperty(object, name, { get, set, configurable: true, enumerable: object === own });
  }
  shared.define('global', globalThis);
  shared.define('reportError', (error) => console.error(error));

  shared.packages = {
    // What `import` means by a name that is no path.
    resolve: (name, base) => resolve(name, here(base), importing),
    // `import.meta.resolve` of a file.
    resolver: (base) => (name) => {
      const found = /^(file|data|https?):/.test(name) ? name : resolve(`${name}`, here(base), importing);
      return found[0] === '/' ? `file://${encodeURI(found)}` : found.includes(':') ? found : `node:${found}`;
    },
    // The exports of a file of the older kind; undefined when it is an ES module.
    commonJs: (path, source) => (cache[path] || isCommonJs(path, source, true) ? { exports: load(path) } : undefined),
  };
})
