// The module `vm`: scripts in this context, and in contexts of their own, which have the language's objects and the properties of an
// object as their globals. What a script adds to its globals is the object's when the script ends; from then on both sides see what the
// other does to it. It is no boundary of security, as it is none in Node.js; the sandbox is one.
'use strict';
const { Buffer } = require('buffer');
const { realm, realmGlobal, runScript } = native;
const { liveGetters } = shared;

// The realm of a context, by the object that it was made of.
const realms = new WeakMap();
// How long a script may run, in milliseconds; 0: as long as the run.
function timeOf({ timeout } = {}) {
  if (timeout === undefined) return 0;
  if (typeof timeout !== 'number') fail('ERR_INVALID_ARG_TYPE', 'The "options.timeout" property must be of type number.');
  if (Number.isInteger(timeout) && timeout > 0) return timeout;
  throw Object.assign(new RangeError(`The value of "options.timeout" is out of range. It must be > 0 && < 4294967296. Received ${timeout}`), { code: 'ERR_OUT_OF_RANGE' });
}
const optionsOf = (given) => (typeof given === 'string' ? { filename: given } : given ?? {});

function fail(code, message) {
  throw Object.assign(new TypeError(message), { code });
}

function createContext(object = {}) {
  if (realms.has(object)) return object;
  const made = realm();
  const global = realmGlobal(made);
  realms.set(object, { made, global, language: new Set(Reflect.ownKeys(global)), live: new Set() });
  return object;
}

// A global of the context that is the object's property from now on: what either side does is seen by the other.
function share(object, global, live, name) {
  const property = { get: () => global[name], set: (value) => Reflect.set(global, name, value), enumerable: true, configurable: true };
  if (!Reflect.defineProperty(object, name, property)) return;
  live.add(name);
  liveGetters.add(property.get);
}

function forget(object, live, name) {
  live.delete(name);
  Reflect.deleteProperty(object, name);
}

function isContext(object) {
  if ((typeof object !== 'object' && typeof object !== 'function') || object === null) fail('ERR_INVALID_ARG_TYPE', 'The "object" argument must be of type object.');
  return realms.has(object);
}

class Script {
  #source;
  #name;
  cachedDataRejected = false;
  constructor(source, options) {
    this.#source = `${source}`;
    this.#name = optionsOf(options).filename ?? 'evalmachine.<anonymous>';
    // What is no script is refused now.
    runScript(this.#source, this.#name, false, 0);
  }
  runInThisContext(options) {
    return runScript(this.#source, this.#name, undefined, timeOf(options));
  }
  runInContext(object, options) {
    if (!isContext(object)) fail('ERR_INVALID_ARG_TYPE', 'The "contextifiedObject" argument must be an vm.Context');
    const { made, global, language, live } = realms.get(object);
    const time = timeOf(options);
    // What the language does not let be replaced stays.
    const given = Reflect.ownKeys(object).filter((name) => live.has(name) || Reflect.set(global, name, object[name]));
    try {
      return runScript(this.#source, this.#name, made, time);
    } finally {
      for (const name of given) if (!Object.hasOwn(global, name)) forget(object, live, name);
      for (const name of Reflect.ownKeys(global)) {
        if (!live.has(name) && (!language.has(name) || Object.hasOwn(object, name))) share(object, global, live, name);
      }
    }
  }
  runInNewContext(object = {}, options = undefined) {
    return this.runInContext(createContext(object), options);
  }
  createCachedData() {
    return Buffer.alloc(0);
  }
}

module.exports = {
  Script,
  createContext,
  isContext,
  runInThisContext: (source, options) => new Script(source, options).runInThisContext(optionsOf(options)),
  runInContext: (source, object, options) => new Script(source, options).runInContext(object, optionsOf(options)),
  runInNewContext: (source, object, options) => new Script(source, options).runInNewContext(object, optionsOf(options)),
  compileFunction: (body, names = [], options = {}) => runScript(`(function (${names.join(', ')}) {${body}\n})`, options.filename ?? '', undefined, 0),
  measureMemory: async () => ({ total: { jsMemoryEstimate: process.memoryUsage().heapUsed } }),
  constants: { USE_MAIN_CONTEXT_DEFAULT_LOADER: Symbol('vm_dynamic_import_main_context_default'), DONT_CONTEXTIFY: Symbol('vm_context_no_contextify') },
};
