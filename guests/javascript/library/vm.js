// The module `vm`: scripts in this context, and in contexts of their own, which have the language's objects, and whose globals are the
// properties of an object. It is no boundary of security, as it is none in Node.js; the sandbox is one.
'use strict';
const { Buffer } = require('buffer');
const { error, need, needInteger, needObject, outOfRange, wrongType, wrongValue } = require('internal/arguments');
const { realm, realmGlobal, runScript } = native;
const { localize } = shared;

const constants = Object.freeze(
  Object.assign(Object.create(null), { USE_MAIN_CONTEXT_DEFAULT_LOADER: Symbol('vm_dynamic_import_main_context_default'), DONT_CONTEXTIFY: Symbol('vm_context_no_contextify') }),
);

// Marks an object as a context: its realm goes when it does.
class Mark extends function (object) {
  return object;
} {
  #realm;
  constructor(object, made) {
    super(object);
    this.#realm = made;
  }
  static realmOf(object) {
    return #realm in object ? object.#realm : undefined;
  }
}
// Objects that take no mark.
const closed = new WeakMap();
const realmOf = (object) => Mark.realmOf(object) ?? closed.get(object);

function mark(object, made) {
  if (Object.isExtensible(object)) new Mark(object, made);
  else closed.set(object, made);
}

const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

function createContext(object = {}, options = {}) {
  if (object !== constants.DONT_CONTEXTIFY && !isObject(object)) throw wrongType('contextObject', 'of type object', object);
  if (isObject(object) && realmOf(object)) return object;
  checkContext(options, 'name', 'origin');
  if (object !== constants.DONT_CONTEXTIFY) {
    mark(object, realm(object, localize));
    return object;
  }
  const made = realm(undefined, localize);
  const global = realmGlobal(made);
  mark(global, made);
  return global;
}

function checkContext(options, ...texts) {
  needObject('options', options);
  for (const name of texts) if (options[name] !== undefined) need('string', `options.${name}`, options[name]);
  const { codeGeneration, microtaskMode } = options;
  if (codeGeneration !== undefined) {
    needObject('options.codeGeneration', codeGeneration);
    for (const name of ['strings', 'wasm']) if (codeGeneration[name] !== undefined) need('boolean', `options.codeGeneration.${name}`, codeGeneration[name]);
  }
  if (microtaskMode !== undefined && microtaskMode !== 'afterEvaluate') throw wrongValue('options.microtaskMode', microtaskMode, "must be one of: 'afterEvaluate', undefined");
}

function isContext(object) {
  if (!isObject(object)) throw wrongType('object', 'of type object', object);
  return realmOf(object) !== undefined;
}

// How long a script may run, in milliseconds; 0: as long as the run.
function timeOf(options) {
  needObject('options', options);
  const { timeout, displayErrors, breakOnSigint } = options;
  if (timeout !== undefined) needInteger('options.timeout', timeout, 1, 2 ** 32 - 1);
  for (const [name, value] of Object.entries({ displayErrors, breakOnSigint })) if (value !== undefined) need('boolean', `options.${name}`, value);
  return timeout ?? 0;
}

function needOffset(name, value = 0) {
  need('number', name, value);
  if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
  if (value !== (value | 0)) throw outOfRange(name, '>= -2147483648 && <= 2147483647', value);
}

const optionsOf = (given) => (typeof given === 'string' ? { filename: given } : given);

// The name of a script, of options that are right.
function nameOf(given = {}) {
  const options = needObject('options', optionsOf(given));
  const { filename = 'evalmachine.<anonymous>', cachedData, produceCachedData } = options;
  need('string', 'options.filename', filename);
  needOffset('options.lineOffset', options.lineOffset);
  needOffset('options.columnOffset', options.columnOffset);
  if (cachedData !== undefined && !ArrayBuffer.isView(cachedData)) throw wrongType('options.cachedData', 'an instance of Buffer, TypedArray, or DataView', cachedData);
  if (produceCachedData !== undefined) need('boolean', 'options.produceCachedData', produceCachedData);
  return filename;
}

class Script {
  #source;
  #name;
  constructor(source, options = {}) {
    this.#source = `${source}`;
    this.#name = nameOf(options);
    this.cachedDataRejected = options?.cachedData ? false : undefined;
    this.sourceMapURL = /^\/\/[#@] ?sourceMappingURL=(\S+)\s*$/m.exec(this.#source)?.[1];
    // What is no script is refused now.
    runScript(this.#source, this.#name, false, 0);
  }
  runInThisContext(options = {}) {
    return runScript(this.#source, this.#name, undefined, timeOf(options));
  }
  runInContext(object, options = {}) {
    if (!isContext(object)) throw error(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "contextifiedObject" argument must be an vm.Context');
    return runScript(this.#source, this.#name, realmOf(object), timeOf(options));
  }
  runInNewContext(object = {}, options = {}) {
    checkContext(options, 'contextName', 'contextOrigin');
    return this.runInContext(createContext(object), options);
  }
  createCachedData() {
    return Buffer.alloc(0);
  }
}

function compileFunction(body, names = [], options = {}) {
  need('string', 'code', body);
  if (!Array.isArray(names)) throw wrongType('params', 'an instance of Array', names);
  names.forEach((name, at) => need('string', `params[${at}]`, name));
  const { parsingContext, contextExtensions } = options;
  const filename = nameOf({ ...options, filename: options.filename ?? '' });
  if (parsingContext !== undefined && (!isObject(parsingContext) || !isContext(parsingContext))) throw wrongType('options.parsingContext', 'an instance of Context', parsingContext);
  if (contextExtensions !== undefined && !Array.isArray(contextExtensions)) throw wrongType('options.contextExtensions', 'an instance of Array', contextExtensions);
  contextExtensions?.forEach((each, at) => {
    if (!isObject(each)) throw wrongType(`options.contextExtensions[${at}]`, 'of type object', each);
  });
  // The text is a body by itself, and not the end of one.
  new Function(...names, body);
  return runScript(`(function (${names.join(',')}) {\n${body}\n})`, filename, parsingContext && realmOf(parsingContext), 0);
}

async function measure() {
  const estimate = process.memoryUsage().heapUsed;
  return { total: { jsMemoryEstimate: estimate, jsMemoryRange: [estimate, estimate] } };
}

function measureMemory(options = {}) {
  needObject('options', options);
  const { mode = 'summary', execution = 'default' } = options;
  if (!['summary', 'detailed'].includes(mode)) throw wrongValue('options.mode', mode, "must be one of: 'summary', 'detailed'");
  if (!['default', 'eager'].includes(execution)) throw wrongValue('options.execution', execution, "must be one of: 'default', 'eager'");
  return measure();
}

module.exports = {
  Script,
  createContext,
  createScript: (source, options) => new Script(source, options),
  isContext,
  runInThisContext: (source, options = {}) => new Script(source, options).runInThisContext(optionsOf(options)),
  runInContext(source, object, options = {}) {
    if (!isContext(object)) throw error(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "contextifiedObject" argument must be an vm.Context');
    return new Script(source, options).runInContext(object, optionsOf(options));
  },
  runInNewContext: (source, object, options = {}) => new Script(source, options).runInNewContext(object, optionsOf(options)),
  compileFunction,
  measureMemory,
  constants,
};
