// Temporal.PlainDate, and what all objects with a date tell of it.
'use strict';
const { ask, make, begin, isObject, wordOf, complete, refuseValue, order } = require('./inside');
const options = require('./options');
const { integer, calendar, calendarByName, readFields, fieldsWord, partialObject, clamped, DATE } = require('./fields');
const convert = require('./convert');

const { optionsObject } = options;
const KIND = 'PlainDate';
const own = (object) => wordOf(object, KIND);

// In the order of native/temporal/dates.rs.
const TOLD = [
  'era',
  'eraYear',
  'year',
  'month',
  'monthCode',
  'day',
  'dayOfWeek',
  'dayOfYear',
  'weekOfYear',
  'yearOfWeek',
  'daysInWeek',
  'daysInMonth',
  'daysInYear',
  'monthsInYear',
  'inLeapYear',
];
const DATE_GETTERS = ['calendarId'].concat(TOLD);

function dateField(word, name, question = 'date') {
  if (name === 'calendarId') return convert.calendarIn(word);
  const value = ask(`${question}.fields`, convert.dateOf(word)).split(' ')[TOLD.indexOf(name)];
  if (value === '-') return undefined;
  if (name === 'inLeapYear') return value === 'true';
  return name === 'era' || name === 'monthCode' ? value : Number(value);
}

// The word of a date whose parts a constructor was given.
function datePart(year, month, day, calendarId) {
  return `${clamped(year, 999999)},${clamped(month, 255)},${clamped(day, 255)},${calendarId}`;
}

const negatedUnits = (word) =>
  word
    .split(',')
    .map((number) => (number === '0' ? number : number[0] === '-' ? number.slice(1) : `-${number}`))
    .join();

function sameCalendar(one, other) {
  if (convert.calendarIn(one) !== convert.calendarIn(other)) throw new RangeError('the calendars differ');
}

function difference(question, object, other, given) {
  const word = own(object);
  const that = convert.toDate(other);
  sameCalendar(word, that);
  return make('Duration', ask(`date.${question}`, `${word} ${that} ${options.difference(given)}`));
}

function add(object, duration, given, sign) {
  const word = own(object);
  const units = convert.toDuration(duration);
  const chosen = convert.checkOverflow(given);
  return make(KIND, ask('date.add', `${word} ${sign < 0 ? negatedUnits(units) : units} ${chosen}`));
}

class PlainDate {
  constructor(isoYear, isoMonth, isoDay, calendar = undefined) {
    const year = integer(isoYear);
    const month = integer(isoMonth);
    const day = integer(isoDay);
    begin(this, KIND, ask('date.new', datePart(year, month, day, calendarByName(calendar))));
  }
  static from(item, options = undefined) {
    return make(KIND, convert.toDate(item, options));
  }
  static compare(one, two) {
    return order(convert.toDate(one), convert.toDate(two), 0, 3);
  }
  toPlainYearMonth() {
    return make('PlainYearMonth', ask('date.yearMonth', own(this)));
  }
  toPlainMonthDay() {
    return make('PlainMonthDay', ask('date.monthDay', own(this)));
  }
  add(duration, options = undefined) {
    return add(this, duration, options, 1);
  }
  subtract(duration, options = undefined) {
    return add(this, duration, options, -1);
  }
  with(dateLike, options = undefined) {
    const word = own(this);
    const fields = readFields(partialObject(dateLike), convert.calendarIn(word), DATE, 'some');
    const chosen = convert.checkOverflow(options);
    return make(KIND, ask('date.with', `${word} ${fieldsWord(fields)} ${chosen}`));
  }
  withCalendar(calendarLike) {
    const parts = own(this).split(',');
    return make(KIND, `${parts.slice(0, 3)},${calendar(calendarLike)}`);
  }
  until(other, options = undefined) {
    return difference('until', this, other, options);
  }
  since(other, options = undefined) {
    return difference('since', this, other, options);
  }
  equals(other) {
    return own(this) === convert.toDate(other);
  }
  toPlainDateTime(temporalTime = undefined) {
    const word = own(this);
    return make('PlainDateTime', ask('dateTime.new', `${word},${convert.timeOrMidnight(temporalTime)}`));
  }
  toZonedDateTime(item) {
    const word = own(this);
    const named = isObject(item) ? item.timeZone : undefined;
    const zone = convert.zone(named === undefined ? item : named);
    const given = named === undefined ? undefined : item.plainTime;
    const time = given === undefined ? '-' : convert.toTime(given);
    return make('ZonedDateTime', ask('date.zoned', `${word} ${zone} ${time}`));
  }
  toString(given = undefined) {
    const word = own(this);
    return ask('date.string', `${word} ${options.calendarName(optionsObject(given))}`);
  }
  toLocaleString(locales = undefined, options = undefined) {
    return require('./locale').format(KIND, own(this), locales, options);
  }
  toJSON() {
    return ask('date.string', `${own(this)} auto`);
  }
  valueOf() {
    return refuseValue(KIND);
  }
}

module.exports = {
  PlainDate: complete(KIND, PlainDate, DATE_GETTERS, (word, name) => dateField(word, name)),
  DATE_GETTERS,
  dateField,
  datePart,
  negatedUnits,
  sameCalendar,
};
