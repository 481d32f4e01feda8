// Whether two values have the same structure, for `util` and `assert`.
'use strict';
const { details } = native;

const isObject = (value) => typeof value === 'object' && value !== null;
const kindOf = (value) => details(value)[0];
const bytesOf = (value) =>
  ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value);

// Whether two values have the same structure. Pairs that are being compared count as equal, for the sake of cycles.
function isDeepEqual(left, right, strict, open = []) {
  if (strict ? Object.is(left, right) : left == right || (left !== left && right !== right)) return true;
  if (!isObject(left) || !isObject(right)) return false;
  const kind = kindOf(left);
  if (kind !== kindOf(right)) return false;
  if (strict && Object.getPrototypeOf(left) !== Object.getPrototypeOf(right)) return false;
  if (open.some((pair) => pair[0] === left && pair[1] === right)) return true;
  open.push([left, right]);
  const same = isSame(kind, left, right, (a, b) => isDeepEqual(a, b, strict, open));
  open.pop();
  return same;
}

function isSame(kind, left, right, equal) {
  if (kind === 'date' || kind === 'boxed') return Object.is(left.valueOf(), right.valueOf());
  if (kind === 'regexp') return String(left) === String(right) && left.lastIndex === right.lastIndex;
  if (kind === 'bytes') {
    const [a, b] = [bytesOf(left), bytesOf(right)];
    return a.length === b.length && a.every((byte, i) => byte === b[i]);
  }
  if (kind === 'promise' || kind === 'iterator') return false;
  if (kind === 'error' && (left.name !== right.name || left.message !== right.message)) return false;
  if (kind === 'array' && left.length !== right.length) return false;
  if (kind === 'map' || kind === 'set') {
    if (left.size !== right.size) return false;
    const rest = [...right];
    for (const entry of left) {
      const at = rest.findIndex((other) => equal(entry, other));
      if (at < 0) return false;
      rest.splice(at, 1);
    }
  }
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && equal(left[key], right[key]));
}

module.exports = isDeepEqual;
