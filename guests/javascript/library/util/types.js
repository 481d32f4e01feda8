// The module `util/types`: what a value is, by the engine's own knowledge, which no prototype can change.
'use strict';
const { details } = native;

const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
const kindOf = (value) => (isObject(value) ? details(value)[0] : undefined);
const classOf = (value) => (isObject(value) ? details(value)[1] : undefined);
const is = (kind) => (value) => kindOf(value) === kind;
const nameOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
const viewIs = (name) => (value) => ArrayBuffer.isView(value) && nameOf.call(value) === name;

// Whether a method that only such objects have takes it.
const takes = (method) => (value) => {
  try {
    method.call(value);
    return true;
  } catch {
    return false;
  }
};
const getter = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;
const boxed = (prototype) => {
  const plain = takes(prototype.valueOf);
  return (value) => isObject(value) && plain(value);
};

const prototypes = { async: Object.getPrototypeOf(async () => {}), generator: Object.getPrototypeOf(function* () {}), asyncGenerator: Object.getPrototypeOf(async function* () {}) };
const isFunctionOf = (...all) => (value) => typeof value === 'function' && all.some((each) => Object.prototype.isPrototypeOf.call(each, value));

const types = {
  isDate: is('date'),
  isMap: is('map'),
  isSet: is('set'),
  isPromise: is('promise'),
  isProxy: is('proxy'),
  isRegExp: is('regexp'),
  isNativeError: is('error'),
  isModuleNamespaceObject: is('module'),
  isArgumentsObject: (value) => isObject(value) && kindOf(value) !== 'proxy' && Object.prototype.toString.call(value) === '[object Arguments]',
  isAsyncFunction: isFunctionOf(prototypes.async, prototypes.asyncGenerator),
  isGeneratorFunction: isFunctionOf(prototypes.generator, prototypes.asyncGenerator),
  isGeneratorObject: (value) => /^\[object (Async)?Generator\]$/.test(Object.prototype.toString.call(value)),
  isMapIterator: (value) => Object.prototype.toString.call(value) === '[object Map Iterator]',
  isSetIterator: (value) => Object.prototype.toString.call(value) === '[object Set Iterator]',
  isNumberObject: boxed(Number.prototype),
  isStringObject: boxed(String.prototype),
  isBooleanObject: boxed(Boolean.prototype),
  isBigIntObject: boxed(BigInt.prototype),
  isSymbolObject: boxed(Symbol.prototype),
  isBoxedPrimitive: (value) => [types.isNumberObject, types.isStringObject, types.isBooleanObject, types.isBigIntObject, types.isSymbolObject].some((each) => each(value)),
  isArrayBuffer: takes(getter(ArrayBuffer.prototype, 'byteLength')),
  isSharedArrayBuffer: typeof SharedArrayBuffer === 'function' ? takes(getter(SharedArrayBuffer.prototype, 'byteLength')) : () => false,
  isAnyArrayBuffer: (value) => types.isArrayBuffer(value) || types.isSharedArrayBuffer(value),
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isDataView: (value) => ArrayBuffer.isView(value) && nameOf.call(value) === undefined,
  isTypedArray: (value) => ArrayBuffer.isView(value) && nameOf.call(value) !== undefined,
  isWeakMap: (value) => classOf(value) === 'WeakMap' || (isObject(value) && takes(function () { WeakMap.prototype.has.call(this, {}); })(value)),
  isWeakSet: (value) => isObject(value) && takes(function () { WeakSet.prototype.has.call(this, {}); })(value),
  isExternal: () => false,
  isCryptoKey: (value) => value instanceof globalThis.CryptoKey,
  isKeyObject: (value) => value instanceof require('crypto').KeyObject,
  isEventTarget: (value) => value instanceof EventTarget,
};
for (const name of ['Uint8Array', 'Uint8ClampedArray', 'Uint16Array', 'Uint32Array', 'Int8Array', 'Int16Array', 'Int32Array', 'Float16Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array']) {
  types[`is${name}`] = viewIs(name);
}

module.exports = types;
