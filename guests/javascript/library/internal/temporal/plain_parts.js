// Temporal.PlainYearMonth and Temporal.PlainMonthDay.
'use strict';
const { ask, make, begin, isObject, wordOf, complete, refuseValue, order } = require('./inside');
const options = require('./options');
const { integer, calendarByName, readFields, fieldsWord, partialObject, DATE } = require('./fields');
const convert = require('./convert');
const { dateField, datePart, negatedUnits, sameCalendar } = require('./plain_date');

const { optionsObject } = options;
const ofYear = (object) => wordOf(object, 'PlainYearMonth');
const ofMonth = (object) => wordOf(object, 'PlainMonthDay');

// The fields that complete an object to a date.
function completing(item, word, names, required) {
  if (!isObject(item)) throw new TypeError('an object is required');
  return fieldsWord(readFields(item, convert.calendarIn(word), names, required));
}

function difference(question, object, other, given) {
  const word = ofYear(object);
  const that = convert.toYearMonth(other);
  sameCalendar(word, that);
  return make('Duration', ask(`yearMonth.${question}`, `${word} ${that} ${options.difference(given)}`));
}

function add(object, duration, given, sign) {
  const word = ofYear(object);
  const units = convert.toDuration(duration);
  const chosen = convert.checkOverflow(given);
  return make('PlainYearMonth', ask('yearMonth.add', `${word} ${sign < 0 ? negatedUnits(units) : units} ${chosen}`));
}

class PlainYearMonth {
  constructor(isoYear, isoMonth, calendar = undefined, referenceISODay = 1) {
    const year = integer(isoYear);
    const month = integer(isoMonth);
    const name = calendarByName(calendar);
    begin(this, 'PlainYearMonth', ask('yearMonth.new', datePart(year, month, integer(referenceISODay), name)));
  }
  static from(item, options = undefined) {
    return make('PlainYearMonth', convert.toYearMonth(item, options));
  }
  static compare(one, two) {
    return order(convert.toYearMonth(one), convert.toYearMonth(two), 0, 3);
  }
  with(temporalYearMonthLike, options = undefined) {
    const word = ofYear(this);
    const fields = readFields(partialObject(temporalYearMonthLike), convert.calendarIn(word), ['month', 'monthCode', 'year'], 'some');
    const chosen = convert.checkOverflow(options);
    return make('PlainYearMonth', ask('yearMonth.with', `${word} ${fieldsWord(fields)} ${chosen}`));
  }
  add(duration, options = undefined) {
    return add(this, duration, options, 1);
  }
  subtract(duration, options = undefined) {
    return add(this, duration, options, -1);
  }
  until(other, options = undefined) {
    return difference('until', this, other, options);
  }
  since(other, options = undefined) {
    return difference('since', this, other, options);
  }
  equals(other) {
    return ofYear(this) === convert.toYearMonth(other);
  }
  toString(given = undefined) {
    const word = ofYear(this);
    return ask('yearMonth.string', `${word} ${options.calendarName(optionsObject(given))}`);
  }
  toLocaleString(locales = undefined, options = undefined) {
    return require('./locale').format('PlainYearMonth', ofYear(this), locales, options);
  }
  toJSON() {
    return ask('yearMonth.string', `${ofYear(this)} auto`);
  }
  valueOf() {
    return refuseValue('PlainYearMonth');
  }
  toPlainDate(item) {
    const word = ofYear(this);
    return make('PlainDate', ask('yearMonth.date', `${word} ${completing(item, word, ['day'], ['day'])}`));
  }
}

class PlainMonthDay {
  constructor(isoMonth, isoDay, calendar = undefined, referenceISOYear = 1972) {
    const month = integer(isoMonth);
    const day = integer(isoDay);
    const name = calendarByName(calendar);
    begin(this, 'PlainMonthDay', ask('monthDay.new', datePart(integer(referenceISOYear), month, day, name)));
  }
  static from(item, options = undefined) {
    return make('PlainMonthDay', convert.toMonthDay(item, options));
  }
  with(temporalMonthDayLike, options = undefined) {
    const word = ofMonth(this);
    const fields = readFields(partialObject(temporalMonthDayLike), convert.calendarIn(word), DATE, 'some');
    const chosen = convert.checkOverflow(options);
    return make('PlainMonthDay', ask('monthDay.with', `${word} ${fieldsWord(fields)} ${chosen}`));
  }
  equals(other) {
    return ofMonth(this) === convert.toMonthDay(other);
  }
  toString(given = undefined) {
    const word = ofMonth(this);
    return ask('monthDay.string', `${word} ${options.calendarName(optionsObject(given))}`);
  }
  toLocaleString(locales = undefined, options = undefined) {
    return require('./locale').format('PlainMonthDay', ofMonth(this), locales, options);
  }
  toJSON() {
    return ask('monthDay.string', `${ofMonth(this)} auto`);
  }
  valueOf() {
    return refuseValue('PlainMonthDay');
  }
  toPlainDate(item) {
    const word = ofMonth(this);
    return make('PlainDate', ask('monthDay.date', `${word} ${completing(item, word, ['year'], [])}`));
  }
}

const YEAR_MONTH_GETTERS = ['calendarId', 'era', 'eraYear', 'year', 'month', 'monthCode', 'daysInMonth', 'daysInYear', 'monthsInYear', 'inLeapYear'];
const MONTH_DAY_GETTERS = ['calendarId', 'monthCode', 'day'];

module.exports = {
  PlainYearMonth: complete('PlainYearMonth', PlainYearMonth, YEAR_MONTH_GETTERS, (word, name) => dateField(word, name, 'yearMonth')),
  PlainMonthDay: complete('PlainMonthDay', PlainMonthDay, MONTH_DAY_GETTERS, (word, name) => dateField(word, name, 'monthDay')),
};
