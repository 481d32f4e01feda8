// The options of `Temporal`, each read once. What is asked of the library gets them as words.
'use strict';
const { isObject } = require('./inside');

const UNITS = ['year', 'month', 'week', 'day', 'hour', 'minute', 'second', 'millisecond', 'microsecond', 'nanosecond'];
const MODES = ['ceil', 'floor', 'expand', 'trunc', 'halfCeil', 'halfFloor', 'halfExpand', 'halfTrunc', 'halfEven'];

function optionsObject(options) {
  if (options === undefined) return { __proto__: null };
  if (!isObject(options)) throw new TypeError('options must be an object');
  return options;
}

function refuse(name, value) {
  throw new RangeError(`${value.slice(0, 100)} is not a valid value for ${name}`);
}

function choice(options, name, values, fallback) {
  const given = options[name];
  if (given === undefined) return fallback;
  const value = `${given}`;
  return values.includes(value) ? value : refuse(name, value);
}

const overflow = (options) => choice(options, 'overflow', ['constrain', 'reject'], 'constrain');
const disambiguation = (options) => choice(options, 'disambiguation', ['compatible', 'earlier', 'later', 'reject'], 'compatible');
const offset = (options, fallback) => choice(options, 'offset', ['prefer', 'use', 'ignore', 'reject'], fallback);
const calendarName = (options) => choice(options, 'calendarName', ['auto', 'always', 'never', 'critical'], 'auto');
const zoneName = (options) => choice(options, 'timeZoneName', ['auto', 'never', 'critical'], 'auto');
const showsOffset = (options) => choice(options, 'offset', ['auto', 'never'], 'auto');
const mode = (options, fallback) => choice(options, 'roundingMode', MODES, fallback);

// The singular of a unit, or `-`.
function unit(options, name, more = []) {
  const given = options[name];
  if (given === undefined) return '-';
  const value = `${given}`;
  const single = value.endsWith('s') ? value.slice(0, -1) : value;
  if (UNITS.includes(single)) return single;
  return more.includes(value) ? value : refuse(name, value);
}

function increment(options) {
  const given = options.roundingIncrement;
  if (given === undefined) return 1;
  const number = Math.trunc(+given);
  return number >= 1 && number <= 1e9 ? number : refuse('roundingIncrement', `${number}`);
}

// How many digits of a second's fraction are written, or `-`.
function digits(options) {
  const given = options.fractionalSecondDigits;
  if (given === undefined) return '-';
  if (typeof given !== 'number') {
    const value = `${given}`;
    return value === 'auto' ? '-' : refuse('fractionalSecondDigits', value);
  }
  const number = Math.floor(given);
  return number >= 0 && number <= 9 ? number : refuse('fractionalSecondDigits', `${given}`);
}

// The words for how a time is written. `between` reads what stands between the options in the order of their names.
function writing(options, between = () => {}) {
  const precision = digits(options);
  between();
  const rounding = mode(options, 'trunc');
  return `${precision} ${unit(options, 'smallestUnit')} ${rounding}`;
}

// The words for a difference.
function difference(given) {
  const options = optionsObject(given);
  const largest = unit(options, 'largestUnit', ['auto']);
  const step = increment(options);
  const rounding = mode(options, 'trunc');
  return `${largest} ${unit(options, 'smallestUnit')} ${rounding} ${step}`;
}

// What `round` and `total` are given: a unit, or options with it.
function unitOr(given, name) {
  if (given === undefined) throw new TypeError(`${name} is required`);
  return typeof given === 'string' ? { __proto__: null, [name]: given } : optionsObject(given);
}

// The words for a rounding.
function rounding(given) {
  const options = unitOr(given, 'smallestUnit');
  const step = increment(options);
  const chosen = mode(options, 'halfExpand');
  const smallest = unit(options, 'smallestUnit');
  if (smallest === '-') throw new RangeError('smallestUnit is required');
  return `- ${smallest} ${chosen} ${step}`;
}

module.exports = {
  optionsObject,
  choice,
  overflow,
  disambiguation,
  offset,
  calendarName,
  zoneName,
  showsOffset,
  mode,
  unit,
  increment,
  writing,
  difference,
  rounding,
  unitOr,
};
