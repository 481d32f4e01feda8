// Numbers and fields that a user gives, as `Temporal` reads them.
'use strict';
const { ask, isObject, found } = require('./inside');

function toPrimitive(value, hint) {
  if (!isObject(value)) return value;
  const own = value[Symbol.toPrimitive];
  if (own !== undefined && own !== null) {
    const result = Reflect.apply(own, value, [hint]);
    if (!isObject(result)) return result;
  } else {
    const names = hint === 'string' ? ['toString', 'valueOf'] : ['valueOf', 'toString'];
    for (let at = 0; at < names.length; at++) {
      const method = value[names[at]];
      const result = typeof method === 'function' ? Reflect.apply(method, value, []) : value;
      if (!isObject(result)) return result;
    }
  }
  throw new TypeError('cannot convert an object to a primitive value');
}

function text(value) {
  const primitive = toPrimitive(value, 'string');
  if (typeof primitive !== 'string') throw new TypeError('a string is required');
  return primitive;
}

function integer(value) {
  const number = +value;
  if (!Number.isFinite(number)) throw new RangeError('a finite number is required');
  return Math.trunc(number) + 0;
}

function positive(value) {
  const number = integer(value);
  if (number <= 0) throw new RangeError('a positive number is required');
  return number;
}

function integral(value) {
  const number = +value;
  if (!Number.isInteger(number)) throw new RangeError('a whole number is required');
  return number + 0;
}

function bigInteger(value) {
  const primitive = toPrimitive(value, 'number');
  if (typeof primitive === 'number') throw new TypeError('cannot convert a number to a BigInt');
  return BigInt(primitive);
}

function monthCode(value) {
  const code = text(value);
  if (!/^M(?:\d\dL|0[1-9]|[1-9]\d)$/.test(code)) throw new RangeError(`${code.slice(0, 100)} is not a month code`);
  return code;
}

const FRACTION = '(?:[.,]\\d{1,9})?';
const OFFSET = new RegExp(`^[+-](?:[01]\\d|2[0-3])(?:[0-5]\\d(?:[0-5]\\d${FRACTION})?|:[0-5]\\d(?::[0-5]\\d${FRACTION})?)?$`);

function offset(value) {
  const given = text(value);
  if (!OFFSET.test(given)) throw new RangeError(`${given.slice(0, 100)} is not an offset`);
  return given;
}

// A time zone's name, of what names one.
function zone(value) {
  const known = found(value);
  if (known?.kind === 'ZonedDateTime') return known.word.split(',')[1];
  if (typeof value !== 'string') throw new TypeError('a time zone must be a string');
  return ask('read.zone', '', value);
}

const DATED = ['PlainDate', 'PlainDateTime', 'PlainMonthDay', 'PlainYearMonth'];

function calendarOf({ kind, word }) {
  const parts = word.split(',');
  if (kind === 'ZonedDateTime') return parts[2];
  return DATED.includes(kind) ? parts[3] : undefined;
}

// A calendar's name, of what names one.
function calendar(value) {
  const own = found(value) && calendarOf(found(value));
  if (own) return own;
  if (typeof value !== 'string') throw new TypeError('a calendar must be a string');
  return ask('read.calendar', '', value);
}

// The calendar of a constructor, which takes names only.
function calendarByName(value) {
  if (value === undefined) return 'iso8601';
  if (typeof value !== 'string') throw new TypeError('a calendar must be a string');
  return ask('read.calendarName', '', value);
}

function calendarOfFields(object) {
  const own = found(object) && calendarOf(found(object));
  if (own) return own;
  const given = object.calendar;
  return given === undefined ? 'iso8601' : calendar(given);
}

const READERS = {
  __proto__: null,
  day: positive,
  era: (value) => `${value}`,
  eraYear: integer,
  month: positive,
  monthCode,
  offset,
  timeZone: zone,
  year: integer,
};
const LIMITS = { __proto__: null, year: 2147483647, eraYear: 2147483647, month: 255, day: 255, millisecond: 65535, microsecond: 65535, nanosecond: 65535 };

const DATE = ['day', 'month', 'monthCode', 'year'];
const TIME = ['hour', 'microsecond', 'millisecond', 'minute', 'nanosecond', 'second'];
const BOTH = DATE.concat(TIME);
const ZONED = BOTH.concat('offset', 'timeZone');
const UNITS = ['days', 'hours', 'microseconds', 'milliseconds', 'minutes', 'months', 'nanoseconds', 'seconds', 'weeks', 'years'];

// The properties that an object has of these, read in the order of their names. `required`: those it must have, or `some` of any.
function readFields(object, calendarId, names, required) {
  const eras = names.includes('year') && !['iso8601', 'chinese', 'dangi'].includes(calendarId) ? ['era', 'eraYear'] : [];
  const fields = { __proto__: null };
  let any = false;
  names.concat(eras).sort().forEach((name) => {
    const value = object[name];
    if (value !== undefined) {
      fields[name] = (READERS[name] ?? integer)(value);
      any = true;
    } else if (required !== 'some' && required.includes(name)) {
      throw new TypeError(`${name} is required`);
    }
  });
  if (required === 'some' && !any) throw new TypeError('none of the properties that are needed is there');
  return fields;
}

// The word for fields.
function fieldsWord(fields, overflow) {
  const parts = [];
  Object.keys(fields).forEach((name) => {
    if (name !== 'timeZone') parts.push(`${name}=${fieldWord(name, fields[name], overflow)}`);
  });
  return parts.join() || '-';
}

function fieldWord(name, value, overflow) {
  if (name === 'era') return encodeURIComponent(value.toWellFormed());
  if (typeof value !== 'number') return value;
  const isNegative = value < 0 && TIME.includes(name);
  if (isNegative && overflow === 'reject') throw new RangeError(`${name} is out of range`);
  return isNegative ? 0 : clamped(value, LIMITS[name] ?? 255);
}

// Refuses what is no object with some fields, for `with`.
function partialObject(value) {
  const kind = found(value)?.kind;
  const whole = kind !== undefined && kind !== 'Duration' && kind !== 'Instant';
  if (!isObject(value) || whole) throw new TypeError('an object with some of the properties is required');
  if (value.calendar !== undefined) throw new TypeError('calendar is not allowed here');
  if (value.timeZone !== undefined) throw new TypeError('timeZone is not allowed here');
  return value;
}

// What an object has of a duration's units.
function readUnits(object) {
  if (!isObject(object)) throw new TypeError('a duration must be an object or a string');
  const fields = { __proto__: null };
  UNITS.forEach((name) => {
    const value = object[name];
    if (value !== undefined) fields[name] = integral(value);
  });
  if (Object.keys(fields).length === 0) throw new TypeError('none of the units of a duration is there');
  return fields;
}

// All digits of a whole number.
const plain = (number) => (Math.abs(number) < 1e21 ? `${number + 0}` : `${BigInt(number)}`);

// Numbers for the word of an ISO date or of a time, of which the library refuses what is too large.
const clamped = (number, limit) => Math.min(Math.max(number, -limit), limit);

module.exports = {
  toPrimitive,
  integer,
  integral,
  bigInteger,
  zone,
  calendar,
  calendarByName,
  calendarOfFields,
  readFields,
  readUnits,
  fieldsWord,
  partialObject,
  plain,
  clamped,
  DATE,
  TIME,
  BOTH,
  ZONED,
};
