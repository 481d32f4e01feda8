// Temporal.PlainDateTime.
'use strict';
const { ask, make, begin, wordOf, complete, refuseValue, order } = require('./inside');
const options = require('./options');
const { integer, calendar, calendarByName, readFields, fieldsWord, partialObject, BOTH } = require('./fields');
const convert = require('./convert');
const { DATE_GETTERS, dateField, datePart, negatedUnits, sameCalendar } = require('./plain_date');
const { TIME_GETTERS, timeField, timePart } = require('./plain_time');

const { optionsObject } = options;
const KIND = 'PlainDateTime';
const own = (object) => wordOf(object, KIND);

const BOTH_GETTERS = DATE_GETTERS.concat(TIME_GETTERS);
const bothField = (word, name) => (TIME_GETTERS.includes(name) ? timeField(convert.timeOf(word), name) : dateField(word, name));

// Left and right, of which the fourth parts are calendars.
const orderBoth = (one, other) => order(one, other, 0, 3) || order(one, other, 4, 10);

function difference(question, object, other, given) {
  const word = own(object);
  const that = convert.toDateTime(other);
  sameCalendar(word, that);
  return make('Duration', ask(`dateTime.${question}`, `${word} ${that} ${options.difference(given)}`));
}

function add(object, duration, given, sign) {
  const word = own(object);
  const units = convert.toDuration(duration);
  const chosen = convert.checkOverflow(given);
  return make(KIND, ask('dateTime.add', `${word} ${sign < 0 ? negatedUnits(units) : units} ${chosen}`));
}

class PlainDateTime {
  constructor(isoYear, isoMonth, isoDay, hour = 0, minute = 0, second = 0, millisecond = 0, microsecond = 0, nanosecond = 0, calendar = undefined) {
    const year = integer(isoYear);
    const month = integer(isoMonth);
    const day = integer(isoDay);
    const time = timePart([hour, minute, second, millisecond, microsecond, nanosecond].map(integer));
    begin(this, KIND, ask('dateTime.new', `${datePart(year, month, day, calendarByName(calendar))},${time}`));
  }
  static from(item, options = undefined) {
    return make(KIND, convert.toDateTime(item, options));
  }
  static compare(one, two) {
    return orderBoth(convert.toDateTime(one), convert.toDateTime(two));
  }
  with(temporalDateTimeLike, options = undefined) {
    const word = own(this);
    const fields = readFields(partialObject(temporalDateTimeLike), convert.calendarIn(word), BOTH, 'some');
    const chosen = convert.checkOverflow(options);
    return make(KIND, ask('dateTime.with', `${word} ${fieldsWord(fields, chosen)} ${chosen}`));
  }
  withPlainTime(plainTime = undefined) {
    const word = own(this);
    return make(KIND, ask('dateTime.new', `${convert.dateOf(word)},${convert.timeOrMidnight(plainTime)}`));
  }
  withCalendar(calendarLike) {
    const parts = own(this).split(',');
    return make(KIND, `${parts.slice(0, 3)},${calendar(calendarLike)},${parts.slice(4)}`);
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
  round(roundTo) {
    const word = own(this);
    return make(KIND, ask('dateTime.round', `${word} ${options.rounding(roundTo)}`));
  }
  equals(other) {
    return own(this) === convert.toDateTime(other);
  }
  toString(given = undefined) {
    const word = own(this);
    const read = optionsObject(given);
    const shown = options.calendarName(read);
    return ask('dateTime.string', `${word} ${options.writing(read)} ${shown}`);
  }
  toLocaleString(locales = undefined, options = undefined) {
    return require('./locale').format(KIND, own(this), locales, options);
  }
  toJSON() {
    return ask('dateTime.string', `${own(this)} - - - auto`);
  }
  valueOf() {
    return refuseValue(KIND);
  }
  toZonedDateTime(temporalTimeZoneLike, given = undefined) {
    const word = own(this);
    const zone = convert.zone(temporalTimeZoneLike);
    return make('ZonedDateTime', ask('dateTime.zoned', `${word} ${zone} ${options.disambiguation(optionsObject(given))}`));
  }
  toPlainDate() {
    return make('PlainDate', convert.dateOf(own(this)));
  }
  toPlainTime() {
    return make('PlainTime', convert.timeOf(own(this)));
  }
}

module.exports = { PlainDateTime: complete(KIND, PlainDateTime, BOTH_GETTERS, bothField), BOTH_GETTERS, bothField };
