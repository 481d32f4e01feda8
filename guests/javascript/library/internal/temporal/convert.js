// Words of what a user gives: an object of `Temporal`, an object with fields, or a text.
'use strict';
const { ask, isObject, found } = require('./inside');
const options = require('./options');
const { toPrimitive, zone, calendarOfFields, readFields, readUnits, fieldsWord, plain, DATE, TIME, BOTH, ZONED } = require('./fields');

const { optionsObject, overflow } = options;

const dateOf = (word) => word.split(',').slice(0, 4).join();
const timeOf = (word) => word.split(',').slice(4).join();
const calendarIn = (word) => word.split(',')[3];

// The date and time of a zoned word, its offset as a text and in nanoseconds.
const zonedFields = (word) => ask('zoned.fields', word).split(' ');

// The word of an object with a date and a time, or undefined.
function bothOf(known) {
  if (known?.kind === 'PlainDateTime') return known.word;
  return known?.kind === 'ZonedDateTime' ? zonedFields(known.word)[0] : undefined;
}

const checkOverflow = (given) => overflow(optionsObject(given));

function parsed(question, item, given) {
  if (typeof item !== 'string') throw new TypeError('an object or a string is required');
  const word = ask(question, '', item);
  checkOverflow(given);
  return word;
}

function toDate(item, given) {
  if (!isObject(item)) return parsed('date.parse', item, given);
  const known = found(item);
  const both = bothOf(known);
  if (known?.kind === 'PlainDate' || both) {
    checkOverflow(given);
    return both ? dateOf(both) : known.word;
  }
  const calendar = calendarOfFields(item);
  const fields = readFields(item, calendar, DATE, []);
  const chosen = checkOverflow(given);
  return ask('date.from', `${fieldsWord(fields)} ${calendar} ${chosen}`);
}

function toTime(item, given) {
  if (!isObject(item)) return parsed('time.parse', item, given);
  const known = found(item);
  const both = bothOf(known);
  if (known?.kind === 'PlainTime' || both) {
    checkOverflow(given);
    return both ? timeOf(both) : known.word;
  }
  const fields = readFields(item, 'iso8601', TIME, 'some');
  const chosen = checkOverflow(given);
  return ask('time.from', `${fieldsWord(fields, chosen)} ${chosen}`);
}

const timeOrMidnight = (item) => (item === undefined ? '0,0,0,0,0,0' : toTime(item));

function toDateTime(item, given) {
  if (!isObject(item)) return parsed('dateTime.parse', item, given);
  const known = found(item);
  const both = bothOf(known);
  if (known?.kind === 'PlainDate' || both) {
    checkOverflow(given);
    return both ?? ask('dateTime.new', `${known.word},0,0,0,0,0,0`);
  }
  const calendar = calendarOfFields(item);
  const fields = readFields(item, calendar, BOTH, []);
  const chosen = checkOverflow(given);
  return ask('dateTime.from', `${fieldsWord(fields, chosen)} ${calendar} ${chosen}`);
}

// A month of a year or a day of a month.
function toPart(item, given, kind, question, names) {
  if (!isObject(item)) return parsed(`${question}.parse`, item, given);
  const known = found(item);
  if (known?.kind === kind) {
    checkOverflow(given);
    return known.word;
  }
  const calendar = calendarOfFields(item);
  const fields = readFields(item, calendar, names, []);
  const chosen = checkOverflow(given);
  return ask(`${question}.from`, `${fieldsWord(fields)} ${calendar} ${chosen}`);
}

const toYearMonth = (item, given) => toPart(item, given, 'PlainYearMonth', 'yearMonth', ['month', 'monthCode', 'year']);
const toMonthDay = (item, given) => toPart(item, given, 'PlainMonthDay', 'monthDay', DATE);

function toInstant(item) {
  const known = found(item);
  if (known?.kind === 'Instant') return known.word;
  if (known?.kind === 'ZonedDateTime') return known.word.split(',')[0];
  const text = toPrimitive(item, 'string');
  if (typeof text !== 'string') throw new TypeError('an instant must be a string or an object of Temporal');
  return ask('instant.parse', '', text);
}

// The options of a zoned date and time, in words: overflow, disambiguation, offset.
function zonedOptions(given, fallback) {
  const read = optionsObject(given);
  const disambiguation = options.disambiguation(read);
  const offset = options.offset(read, fallback);
  return { overflow: overflow(read), disambiguation, offset };
}

function toZoned(item, given) {
  if (!isObject(item)) {
    if (typeof item !== 'string') throw new TypeError('an object or a string is required');
    ask('zoned.check', '', item);
    const { disambiguation, offset } = zonedOptions(given, 'reject');
    return ask('zoned.parse', `${disambiguation} ${offset}`, item);
  }
  const known = found(item);
  if (known?.kind === 'ZonedDateTime') {
    zonedOptions(given, 'reject');
    return known.word;
  }
  const calendar = calendarOfFields(item);
  const fields = readFields(item, calendar, ZONED, ['timeZone']);
  const { overflow: chosen, disambiguation, offset } = zonedOptions(given, 'reject');
  return ask('zoned.from', `${fieldsWord(fields, chosen)} ${calendar} ${fields.timeZone} ${chosen} ${disambiguation} ${offset}`);
}

const UNITS = ['years', 'months', 'weeks', 'days', 'hours', 'minutes', 'seconds', 'milliseconds', 'microseconds', 'nanoseconds'];

const durationWord = (numbers) => ask('duration.new', numbers.map(plain).join());

function toDuration(item) {
  const known = found(item);
  if (known?.kind === 'Duration') return known.word;
  if (typeof item === 'string') return ask('duration.parse', '', item);
  const fields = readUnits(item);
  return durationWord(UNITS.map((name) => fields[name] ?? 0));
}

// What a duration is relative to, in words.
function relativeTo(read) {
  const item = read.relativeTo;
  if (item === undefined) return '-';
  if (!isObject(item)) {
    if (typeof item !== 'string') throw new TypeError('relativeTo must be an object or a string');
    return ask('duration.relative', '', item);
  }
  const known = found(item);
  if (known?.kind === 'ZonedDateTime') return `zoned ${known.word}`;
  if (known?.kind === 'PlainDate' || known?.kind === 'PlainDateTime') return `date ${dateOf(known.word)}`;
  const calendar = calendarOfFields(item);
  const fields = readFields(item, calendar, ZONED, []);
  const words = `${fieldsWord(fields)} ${calendar}`;
  if (fields.timeZone === undefined) return `date ${dateOf(ask('dateTime.from', `${words} constrain`))}`;
  return `zoned ${ask('zoned.from', `${words} ${fields.timeZone} constrain compatible reject`)}`;
}

module.exports = {
  dateOf,
  timeOf,
  calendarIn,
  zonedFields,
  checkOverflow,
  toDate,
  toTime,
  timeOrMidnight,
  toDateTime,
  toYearMonth,
  toMonthDay,
  toInstant,
  toZoned,
  zonedOptions,
  toDuration,
  durationWord,
  relativeTo,
  zone,
  UNITS,
};
