// Decimal numbers of any length: what a value is, and how it is rounded.
//
// A number is {negative, digits, point}: `digits` has neither zeros at its ends nor anything but digits, and is empty for zero;
// the value is 0.digits times ten to the power of `point`. `special` is set for what is no number and for infinity.
'use strict';

const plain = (negative, digits, point) => {
  let start = 0;
  while (digits[start] === '0') start++;
  let end = digits.length;
  while (end > start && digits[end - 1] === '0') end--;
  if (start === end) return { negative, digits: '', point: 0 };
  return { negative, digits: digits.slice(start, end), point: point - start };
};

const NAN = { negative: false, special: 'nan', digits: '', point: 0 };
const infinite = (negative) => ({ negative, special: 'infinity', digits: '', point: 0 });

// A decimal literal without its sign.
function ofLiteral(negative, text) {
  const at = text.search(/e/i);
  const mantissa = at < 0 ? text : text.slice(0, at);
  const exponent = at < 0 ? 0 : Number(text.slice(at + 1));
  const dot = mantissa.indexOf('.');
  const whole = dot < 0 ? mantissa : mantissa.slice(0, dot);
  return plain(negative, dot < 0 ? whole : whole + mantissa.slice(dot + 1), whole.length + exponent);
}

function ofNumber(value) {
  if (Number.isNaN(value)) return NAN;
  const negative = value < 0 || Object.is(value, -0);
  if (value === Infinity || value === -Infinity) return infinite(negative);
  return ofLiteral(negative, String(Math.abs(value)));
}

const ofBigInt = (value) => {
  const text = value < 0n ? String(-value) : String(value);
  return plain(value < 0n, text, text.length);
};

function ofString(text) {
  const trimmed = text.trim();
  if (trimmed === '') return ofNumber(0);
  if (/^0[xob]/i.test(trimmed)) {
    try {
      return ofBigInt(BigInt(trimmed));
    } catch {
      return NAN;
    }
  }
  const match = /^([+-]?)(Infinity|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$/i.exec(trimmed);
  if (!match || (/^i/i.test(match[2]) && match[2] !== 'Infinity')) return NAN;
  const negative = match[1] === '-';
  // What a number cannot say in its size is infinite or zero here too.
  const size = Math.abs(Number(trimmed));
  if (size === Infinity) return infinite(negative);
  if (size === 0) return plain(negative, '', 0);
  return ofLiteral(negative, match[2]);
}

// What a formatter takes: numbers, big integers, and strings with all their digits.
function ofValue(value) {
  const primitive = typeof value === 'object' || typeof value === 'function' ? toPrimitive(value) : value;
  if (typeof primitive === 'bigint') return ofBigInt(primitive);
  if (typeof primitive === 'string') return ofString(primitive);
  return ofNumber(Number(primitive));
}

function toPrimitive(value) {
  if (value === null) return value;
  const exotic = value[Symbol.toPrimitive];
  if (exotic !== undefined && exotic !== null) {
    const result = Reflect.apply(exotic, value, ['number']);
    if (Object(result) !== result) return result;
    throw new TypeError('Cannot convert object to primitive value');
  }
  for (const name of ['valueOf', 'toString']) {
    const method = value[name];
    if (typeof method !== 'function') continue;
    const result = Reflect.apply(method, value, []);
    if (Object(result) !== result) return result;
  }
  throw new TypeError('Cannot convert object to primitive value');
}

const shift = (value, by) => (value.digits === '' ? value : { ...value, point: value.point + by });

// Whether what is cut off makes the last digit one larger.
function goesUp(mode, negative, rest, odd) {
  const first = rest.charCodeAt(0) - 48;
  const exact = /^0*$/.test(rest);
  if (exact) return false;
  const half = first === 5 && /^50*$/.test(rest);
  const more = first >= 5 && !half;
  switch (mode) {
    case 'ceil':
      return !negative;
    case 'floor':
      return negative;
    case 'expand':
      return true;
    case 'trunc':
      return false;
    case 'halfCeil':
      return more || (half && !negative);
    case 'halfFloor':
      return more || (half && negative);
    case 'halfTrunc':
      return more;
    case 'halfEven':
      return more || (half && odd);
    default:
      return more || half;
  }
}

function increment(digits) {
  let at = digits.length - 1;
  while (at >= 0 && digits[at] === '9') at--;
  const zeros = '0'.repeat(digits.length - 1 - at);
  if (at < 0) return `1${zeros}`;
  return digits.slice(0, at) + String.fromCharCode(digits.charCodeAt(at) + 1) + zeros;
}

// Rounds to `places` digits after the point, of which there may be less than none.
function round(value, places, mode, step = 1) {
  if (step !== 1) return roundToStep(value, places, mode, step);
  const kept = value.point + places;
  if (kept >= value.digits.length) return value;
  const head = kept <= 0 ? '' : value.digits.slice(0, kept);
  const rest = kept < 0 ? `0${value.digits}` : value.digits.slice(Math.max(kept, 0));
  const odd = head !== '' && head.charCodeAt(head.length - 1) % 2 === 1;
  const up = goesUp(mode, value.negative, rest, odd);
  const digits = up ? increment(head === '' ? '0' : head) : head;
  if (digits === '') return plain(value.negative, '', 0);
  const grown = up ? digits.length - Math.max(head.length, 1) : 0;
  return plain(value.negative, digits, (head === '' ? 1 - places : value.point) + grown);
}

// The same with a step of the last digit, such as 5 or 25.
function roundToStep(value, places, mode, step) {
  if (value.digits === '') return value;
  const kept = value.point + places;
  const digits = value.digits.padEnd(Math.max(kept, 0), '0');
  const whole = kept <= 0 ? 0n : BigInt(digits.slice(0, kept));
  const rest = kept < 0 ? '0'.repeat(Math.min(-kept, 2)) + value.digits : digits.slice(Math.max(kept, 0));
  const size = BigInt(step);
  const below = whole / size;
  const over = whole % size;
  // What is left, as a fraction of the step: 5 and more stand for one half.
  const twice = over * 2n;
  const tail = !/^0*$/.test(rest);
  let fraction = '0';
  if (twice === size && !tail) fraction = '5';
  else if (twice > size || (twice === size && tail)) fraction = '6';
  else if (twice === size - 1n && tail && size % 2n === 1n) {
    const first = rest.charCodeAt(0) - 48;
    fraction = /^50*$/.test(rest) ? '5' : first >= 5 ? '6' : '1';
  } else if (over > 0n || tail) fraction = '1';
  const result = (goesUp(mode, value.negative, fraction, below % 2n === 1n) ? below + 1n : below) * size;
  const text = String(result);
  return plain(value.negative, text, text.length - places);
}

// [digits before the point, digits after it], with at least so many after it.
function write(value, least) {
  const { digits, point } = value;
  const whole = point <= 0 ? '' : digits.slice(0, point).padEnd(point, '0');
  const fraction = digits === '' ? '' : point < 0 ? '0'.repeat(-point) + digits : digits.slice(point);
  return [whole === '' ? '0' : whole, fraction.padEnd(least, '0')];
}

const isZero = (value) => !value.special && value.digits === '';

// What order two numbers have that are none of them special.
function equal(one, other) {
  return (
    one.special === other.special &&
    one.digits === other.digits &&
    one.point === other.point &&
    (one.negative === other.negative || isZero(one))
  );
}

module.exports = { ofValue, ofNumber, shift, round, write, isZero, equal };
