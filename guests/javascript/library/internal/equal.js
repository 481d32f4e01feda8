// Whether two values have the same structure, for `util` and `assert`.
'use strict';
const { details } = native;
const { isArgumentsObject, isArrayBuffer, isKeyObject, isCryptoKey } = require('util/types');
const { found: temporal } = require('./temporal/inside');
const { getOwnPropertySymbols, getPrototypeOf, hasOwn, is, keys: keysOf, prototype: { propertyIsEnumerable } } = Object;
const { toString } = Object.prototype;

const isObject = (value) => typeof value === 'object' && value !== null;
const viewName = Object.getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
const bytesOf = (value) => (ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value));
const { getTime } = Date.prototype;
const boxes = [Number, String, Boolean, BigInt, Symbol].map(({ name, prototype }) => [name, prototype.valueOf]);

// What is behind proxies.
function kindOf(value) {
  let found = details(value);
  while (found[0] === 'proxy' && found[2] !== null) found = details(found[2]);
  return found[0];
}

function unboxed(value) {
  for (const [name, valueOf] of boxes) {
    try {
      return [name, valueOf.call(value)];
    } catch {}
  }
}

// The class of what has bytes, by the engine's knowledge.
const storeOf = (value) => (ArrayBuffer.isView(value) ? viewName.call(value) ?? 'DataView' : isArrayBuffer(value) ? 'ArrayBuffer' : 'SharedArrayBuffer');

const isIndex = (key) => /^(0|[1-9][0-9]*)$/.test(key) && Number(key) < 4294967295;

function shownKeys(value, strict, skipIndexes) {
  const keys = keysOf(value);
  const shown = skipIndexes ? keys.filter((key) => !isIndex(key)) : keys;
  if (strict) for (const symbol of getOwnPropertySymbols(value)) if (propertyIsEnumerable.call(value, symbol)) shown.push(symbol);
  return shown;
}

function isDeepEqual(left, right, strict, open = []) {
  if (left === right) return !strict || left !== 0 || is(left, right);
  if (!isObject(left) || !isObject(right)) {
    if (strict) return is(left, right);
    if (isObject(left) || isObject(right)) return false;
    return left == right || (left !== left && right !== right);
  }
  if (strict && getPrototypeOf(left) !== getPrototypeOf(right)) return false;
  const kind = kindOf(left);
  if (kind !== kindOf(right)) return false;
  if (toString.call(left) !== toString.call(right)) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  // Pairs that are being compared count as equal, for the sake of cycles.
  if (open.some((pair) => pair[0] === left && pair[1] === right)) return true;
  open.push([left, right]);
  const same = isSame(kind, left, right, strict, (a, b) => isDeepEqual(a, b, strict, open));
  open.pop();
  return same;
}

function isSame(kind, left, right, strict, equal) {
  const isList = Array.isArray(left);
  const isView = ArrayBuffer.isView(left);
  if (isList && left.length !== right.length) return false;
  if (!isSameInside(kind, left, right, strict)) return false;
  const keys = shownKeys(left, strict, isList || isView);
  if (keys.length !== shownKeys(right, strict, isList || isView).length) return false;
  if (!keys.every((key) => propertyIsEnumerable.call(right, key))) return false;
  if (isList && !areSameItems(left, right, equal)) return false;
  if (kind === 'set' && !areSameSets(left, right, strict, equal)) return false;
  if (kind === 'map' && !areSameMaps(left, right, strict, equal)) return false;
  return keys.every((key) => equal(left[key], right[key]));
}

// What is no property.
function isSameInside(kind, left, right, strict) {
  switch (kind) {
    case 'date':
      return getTime.call(left) === getTime.call(right) || (Number.isNaN(getTime.call(left)) && Number.isNaN(getTime.call(right)));
    case 'boxed': {
      const [[name, value], [other, otherValue]] = [unboxed(left), unboxed(right)];
      return name === other && is(value, otherValue);
    }
    case 'regexp':
      return left.source === right.source && left.flags === right.flags && left.lastIndex === right.lastIndex;
    case 'bytes':
      return areSameBytes(left, right, strict);
    case 'promise':
      return false;
    case 'error':
      return areSameErrors(left, right);
    case 'array':
      return isArgumentsObject(left) === isArgumentsObject(right) && left.length === right.length;
  }
  if (left instanceof Error || right instanceof Error) return left instanceof Error && right instanceof Error && areSameErrors(left, right);
  if (left instanceof WeakMap || left instanceof WeakSet) return false;
  if (left instanceof URL || right instanceof URL) return left instanceof URL && right instanceof URL && left.href === right.href;
  return temporal(left)?.word === temporal(right)?.word && areSameKeys(left, right);
}

function areSameBytes(left, right, strict) {
  const name = storeOf(left);
  if (name !== storeOf(right)) return false;
  if (!strict && /^Float/.test(name)) return left.length === right.length && left.every((value, i) => value === right[i] || (value !== value && right[i] !== right[i]));
  const [a, b] = [bytesOf(left), bytesOf(right)];
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function areSameErrors(left, right) {
  if (left.message !== right.message || left.name !== right.name) return false;
  return ['cause', 'errors'].every((name) => hasOwn(left, name) === hasOwn(right, name) && isDeepEqual(left[name], right[name], true));
}

function areSameKeys(left, right) {
  // Most programs never load what keys are made by.
  if (left.constructor?.name === undefined || !/Key(Object)?$/.test(left.constructor.name)) return true;
  if (isKeyObject(left)) return isKeyObject(right) && left.equals(right);
  if (!isCryptoKey(left)) return true;
  if (!isCryptoKey(right)) return false;
  const { KeyObject } = require('crypto');
  const about = ({ extractable, algorithm, usages }) => ({ extractable, algorithm, usages });
  return isDeepEqual(about(left), about(right), true) && KeyObject.from(left).equals(KeyObject.from(right));
}

function areSameItems(left, right, equal) {
  for (let i = 0; i < left.length; i++) {
    if (hasOwn(left, i) !== hasOwn(right, i) || !equal(left[i], right[i])) return false;
    if (hasOwn(left, i)) continue;
    // Holes are passed over, however many there are.
    const indexes = (list) => keysOf(list).filter(isIndex);
    const [a, b] = [indexes(left), indexes(right)];
    return a.length === b.length && a.every((key) => propertyIsEnumerable.call(right, key) && equal(left[key], right[key]));
  }
  return true;
}

// Takes of `rest` what is equal; false: nothing is.
function take(rest, matches) {
  const at = rest.findIndex(matches);
  if (at < 0) return false;
  rest.splice(at, 1);
  return true;
}

const values = (set) => [...Set.prototype.values.call(set)];
function areSameSets(left, right, strict, equal) {
  if (left.size !== right.size) return false;
  const isThere = (value) => Set.prototype.has.call(right, value);
  const missing = values(left).filter((value) => !isThere(value));
  if (!missing.length) return true;
  if (strict && missing.some((value) => !isObject(value))) return false;
  const rest = values(right).filter((value) => !Set.prototype.has.call(left, value));
  return missing.every((value) => take(rest, (other) => isObject(value) === isObject(other) && equal(value, other)));
}

const entries = (map) => [...Map.prototype.entries.call(map)];
function areSameMaps(left, right, strict, equal) {
  if (left.size !== right.size) return false;
  const { get, has } = Map.prototype;
  const isFound = (map, [key, value]) => has.call(map, key) && equal(get.call(map, key), value);
  const missing = entries(left).filter((entry) => !isFound(right, entry));
  if (!missing.length) return true;
  const rest = entries(right).filter((entry) => !isFound(left, entry));
  if (strict && missing.some(([key]) => !isObject(key))) return false;
  return missing.every(([key, value]) => take(rest, ([other, otherValue]) => isObject(key) === isObject(other) && equal(key, other) && equal(value, otherValue)));
}

module.exports = isDeepEqual;
