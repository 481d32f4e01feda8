// What dates and times of `Temporal` show of a format: a date has no hours, a month of a year no days.
'use strict';
const { found } = require('../temporal/inside');

const DATE = ['weekday', 'year', 'month', 'day'];
const TIME = ['dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits'];
const NUMBERS = ['year', 'month', 'day', 'hour', 'minute', 'second'];

// For each kind: options that say that something of it is shown, what is shown without them, and the letters of its patterns.
const KINDS = {
  __proto__: null,
  PlainDate: { required: DATE, defaults: NUMBERS.slice(0, 3), letters: 'GyurULMEced', date: true },
  PlainYearMonth: { required: ['year', 'month'], defaults: ['year', 'month'], letters: 'GyurULM', date: true },
  PlainMonthDay: { required: ['month', 'day'], defaults: ['month', 'day'], letters: 'LMd', date: true },
  PlainTime: { required: TIME, defaults: NUMBERS.slice(3), letters: 'abBhHkKmsS', time: true },
  PlainDateTime: { required: [...DATE, ...TIME], defaults: NUMBERS, letters: 'GyurULMEcedabBhHkKmsS', date: true, time: true },
  Instant: { required: [...DATE, ...TIME], defaults: NUMBERS, date: true, time: true },
};

// The options of a format that a kind has; undefined: none of them.
function optionsFor(kind, asked) {
  const { required, defaults, date } = KINDS[kind];
  const all = kind === 'Instant';
  const own = { __proto__: null, ...(all ? asked : {}) };
  if (!all && date && kind !== 'PlainMonthDay' && asked.era !== undefined) own.era = asked.era;
  const given = required.filter((name) => asked[name] !== undefined);
  for (const name of given) own[name] = asked[name];
  if (given.length > 0) return own;
  if (!all && [...DATE, ...TIME].some((name) => asked[name] !== undefined)) return undefined;
  for (const name of defaults) own[name] = 'numeric';
  return own;
}

const numbersOf = (word, from, count) => word.split(',').slice(from, from + count).map(Number);

function weekdayOf(year, month, day) {
  const cycle = ((year % 400) + 400) % 400;
  return new Date(Date.UTC(2000 + cycle, month - 1, day)).getUTCDay();
}

// The fields of a word, as those of a time in a zone.
function fieldsOfWord(kind, word) {
  const [year, month, day] = kind === 'PlainTime' ? [1970, 1, 1] : numbersOf(word, 0, 3);
  const from = kind === 'PlainTime' ? 0 : 4;
  const hasTime = kind === 'PlainTime' || kind === 'PlainDateTime';
  const [hour, minute, second, millisecond] = hasTime ? numbersOf(word, from, 4) : [12, 0, 0, 0];
  return {
    time: 0,
    era: year > 0 ? 1 : 0,
    year: year > 0 ? year : 1 - year,
    month: month - 1,
    day,
    weekday: weekdayOf(year, month, day),
    hour,
    minute,
    second,
    millisecond,
  };
}

const floorMilliseconds = (nanoseconds) => {
  const exact = BigInt(nanoseconds);
  return Number(exact / 1000000n) - (exact % 1000000n < 0n ? 1 : 0);
};

// Refuses another calendar than the format's. Dates of ISO 8601 are of any, as long as they are whole.
function checkCalendar(kind, own, calendar) {
  if (own === calendar || (own === 'iso8601' && kind !== 'PlainYearMonth' && kind !== 'PlainMonthDay')) return;
  throw new RangeError(`a format of the calendar ${calendar} cannot show one of ${own}`);
}

// The kind of an object of `Temporal` that a format may be given; undefined: it is none.
function kindOf(value) {
  const kind = found(value)?.kind;
  return kind === 'Duration' ? undefined : kind;
}

// {kind, time} of an object of `Temporal`, of which `time` is in milliseconds or has fields; undefined: it is none.
function ofTemporal(value, calendar) {
  const kind = kindOf(value);
  if (kind === undefined) return undefined;
  const { word } = found(value);
  if (kind === 'ZonedDateTime') throw new TypeError('a Temporal.ZonedDateTime is formatted by its method toLocaleString');
  if (kind === 'Instant') return { kind, time: floorMilliseconds(word) };
  if (kind !== 'PlainTime') checkCalendar(kind, word.split(',')[3], calendar);
  return { kind, time: fieldsOfWord(kind, word) };
}

module.exports = { KINDS, kindOf, optionsFor, ofTemporal, floorMilliseconds, checkCalendar };
