// The harmless part of the module `v8`: sizes of the heap, and values as bytes. The bytes are ours, and only for `deserialize` here.
'use strict';
const { Buffer } = require('buffer');

const refuse = (Kind, code, message) => {
  throw Object.assign(new Kind(message), { code });
};

function getHeapStatistics() {
  const { heapTotal, heapUsed, external } = process.memoryUsage();
  return {
    total_heap_size: heapTotal, total_heap_size_executable: 0, total_physical_size: heapTotal, total_available_size: 2 ** 32 - heapUsed, used_heap_size: heapUsed, heap_size_limit: 2 ** 32, malloced_memory: heapUsed, peak_malloced_memory: heapUsed,
    does_zap_garbage: 0, number_of_native_contexts: 1, number_of_detached_contexts: 0, total_global_handles_size: 0, used_global_handles_size: 0, external_memory: external,
  };
}

const spaces = ['read_only', 'new', 'old', 'code', 'shared', 'new_large_object', 'large_object', 'code_large_object', 'shared_large_object'];
const getHeapSpaceStatistics = () => spaces.map((name) => ({ space_name: `${name}_space`, space_size: 0, space_used_size: 0, space_available_size: 0, physical_space_size: 0 }));

function setFlagsFromString(flags) {
  const { received } = require('internal/received');
  if (typeof flags !== 'string') refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "flags" argument must be of type string. Received ${received(flags)}`);
}

// Nobody builds a snapshot from here.
const notBuilding = () => refuse(Error, 'ERR_NOT_BUILDING_SNAPSHOT', 'Operation cannot be invoked when not building startup snapshot');

class GCProfiler {
  #since;
  start() {
    this.#since ??= performance.now();
  }
  stop() {
    if (this.#since === undefined) return undefined;
    const profile = { version: 1, startTime: this.#since, statistics: [], endTime: performance.now() };
    this.#since = undefined;
    return profile;
  }
}

// As JSON, with a name for what JSON has none for.
function pack(value) {
  const known = new Map();
  const list = [];
  const put = (each) => {
    if (each === undefined) return ['u'];
    if (typeof each === 'bigint') return ['n', `${each}`];
    if (typeof each === 'number' && (!Number.isFinite(each) || Object.is(each, -0))) return ['f', Object.is(each, -0) ? '-0' : `${each}`];
    if (typeof each === 'function' || typeof each === 'symbol') {
      throw new DOMException(`${typeof each === 'symbol' ? String(each) : each.name || 'a function'} could not be cloned.`, 'DataCloneError');
    }
    if (typeof each !== 'object' || each === null) return ['p', each];
    if (!known.has(each)) {
      known.set(each, list.length);
      const at = list.push(null) - 1;
      list[at] = describe(each, put);
    }
    return ['r', known.get(each)];
  };
  return JSON.stringify({ root: put(value), list });
}

function describe(object, put) {
  if (Array.isArray(object)) return ['array', Array.from(object, put)];
  if (object instanceof Date) return ['date', object.getTime()];
  if (object instanceof RegExp) return ['regexp', object.source, object.flags];
  if (object instanceof Map) return ['map', Array.from(object, ([key, value]) => [put(key), put(value)])];
  if (object instanceof Set) return ['set', Array.from(object, put)];
  if (object instanceof ArrayBuffer) return ['bytes', 'ArrayBuffer', new Uint8Array(object).toBase64()];
  if (ArrayBuffer.isView(object)) {
    const bytes = new Uint8Array(object.buffer, object.byteOffset, object.byteLength);
    return ['bytes', object instanceof Buffer ? 'Buffer' : object.constructor.name, Uint8Array.prototype.toBase64.call(bytes)];
  }
  if (object instanceof Error) return ['error', object.name, object.message, object.stack];
  return ['object', Object.entries(object).map(([key, value]) => [key, put(value)])];
}

const errors = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

function unpack(text) {
  const { root, list } = JSON.parse(text);
  const made = new Array(list.length);
  const get = ([kind, value]) => {
    if (kind === 'u') return undefined;
    if (kind === 'n') return BigInt(value);
    if (kind === 'f') return Number(value);
    if (kind === 'p') return value;
    return value in made ? made[value] : make(value);
  };
  const make = (at) => {
    const [kind, ...parts] = list[at];
    if (kind === 'date') return (made[at] = new Date(parts[0]));
    if (kind === 'regexp') return (made[at] = new RegExp(...parts));
    if (kind === 'bytes') {
      const bytes = Uint8Array.fromBase64(parts[1]);
      if (parts[0] === 'Buffer') return (made[at] = Buffer.from(bytes.buffer));
      return (made[at] = parts[0] === 'ArrayBuffer' ? bytes.buffer : new globalThis[parts[0]](bytes.buffer));
    }
    if (kind === 'error') {
      made[at] = new (errors[parts[0]] ?? Error)(parts[1]);
      made[at].stack = parts[2];
      return made[at];
    }
    const target = (made[at] = kind === 'array' ? [] : kind === 'map' ? new Map() : kind === 'set' ? new Set() : {});
    for (const each of parts[0]) {
      if (kind === 'array') target.push(get(each));
      else if (kind === 'set') target.add(get(each));
      else if (kind === 'map') target.set(get(each[0]), get(each[1]));
      else Object.defineProperty(target, each[0], { value: get(each[1]), enumerable: true, writable: true, configurable: true });
    }
    return target;
  };
  return get(root);
}

// --- Hooks of promises.

const hookNames = { onInit: 'init', onBefore: 'before', onAfter: 'after', onSettled: 'settled' };

function hookOf(kind, hook) {
  const { isAsyncFunction, isGeneratorFunction } = require('util/types');
  if (typeof hook === 'function' && !isAsyncFunction(hook) && !isGeneratorFunction(hook)) return hook;
  throw require('internal/arguments').wrongType(`${kind}Hook`, 'of type function', hook);
}

const listen = (hooks) => require('internal/promise_hooks')(hooks);
const promiseHooks = {
  createHook(hooks = {}) {
    const taken = {};
    for (const kind of Object.values(hookNames)) if (hooks[kind] !== undefined) taken[kind] = hookOf(kind, hooks[kind]);
    return listen(taken);
  },
};
for (const [name, kind] of Object.entries(hookNames)) promiseHooks[name] = (hook) => listen({ [kind]: hookOf(kind, hook) });

module.exports = {
  promiseHooks,
  getHeapStatistics,
  getHeapSpaceStatistics,
  getHeapCodeStatistics: () => ({ code_and_metadata_size: 0, bytecode_and_metadata_size: 0, external_script_source_size: 0, cpu_profiler_metadata_size: 0 }),
  setFlagsFromString,
  serialize: (value) => Buffer.from(pack(value)),
  deserialize: (bytes) => unpack(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()),
  startupSnapshot: { isBuildingSnapshot: () => false, addSerializeCallback: notBuilding, addDeserializeCallback: notBuilding, setDeserializeMainFunction: notBuilding },
  GCProfiler,
  cachedDataVersionTag: () => 0,
};
