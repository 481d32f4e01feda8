// Temporal.PlainTime, and what all objects with a time tell of it.
'use strict';
const { ask, make, begin, wordOf, complete, refuseValue, order } = require('./inside');
const options = require('./options');
const { integer, readFields, fieldsWord, partialObject, clamped, TIME } = require('./fields');
const convert = require('./convert');
const { negatedUnits } = require('./plain_date');

const KIND = 'PlainTime';
const own = (object) => wordOf(object, KIND);

const TIME_GETTERS = ['hour', 'minute', 'second', 'millisecond', 'microsecond', 'nanosecond'];
const timeField = (word, name) => Number(word.split(',')[TIME_GETTERS.indexOf(name)]);

// The word of a time whose parts a constructor was given.
const timePart = (numbers) => numbers.map((number) => clamped(number, 65535)).join();

function add(object, duration, sign) {
  const word = own(object);
  const units = convert.toDuration(duration);
  return make(KIND, ask('time.add', `${word} ${sign < 0 ? negatedUnits(units) : units}`));
}

function difference(question, object, other, given) {
  const word = own(object);
  const that = convert.toTime(other);
  return make('Duration', ask(`time.${question}`, `${word} ${that} ${options.difference(given)}`));
}

class PlainTime {
  constructor(hour = 0, minute = 0, second = 0, millisecond = 0, microsecond = 0, nanosecond = 0) {
    const numbers = [hour, minute, second, millisecond, microsecond, nanosecond].map(integer);
    begin(this, KIND, ask('time.new', timePart(numbers)));
  }
  static from(item, options = undefined) {
    return make(KIND, convert.toTime(item, options));
  }
  static compare(one, two) {
    return order(convert.toTime(one), convert.toTime(two), 0, 6);
  }
  add(temporalDurationLike) {
    return add(this, temporalDurationLike, 1);
  }
  subtract(temporalDurationLike) {
    return add(this, temporalDurationLike, -1);
  }
  with(temporalTimeLike, options = undefined) {
    const word = own(this);
    const fields = readFields(partialObject(temporalTimeLike), 'iso8601', TIME, 'some');
    const chosen = convert.checkOverflow(options);
    return make(KIND, ask('time.with', `${word} ${fieldsWord(fields, chosen)} ${chosen}`));
  }
  until(other, options = undefined) {
    return difference('until', this, other, options);
  }
  since(other, options = undefined) {
    return difference('since', this, other, options);
  }
  round(roundTo) {
    const word = own(this);
    return make(KIND, ask('time.round', `${word} ${options.rounding(roundTo)}`));
  }
  equals(other) {
    return own(this) === convert.toTime(other);
  }
  toString(given = undefined) {
    const word = own(this);
    return ask('time.string', `${word} ${options.writing(options.optionsObject(given))}`);
  }
  toLocaleString(locales = undefined, options = undefined) {
    return require('./locale').format(KIND, own(this), locales, options);
  }
  toJSON() {
    return ask('time.string', `${own(this)} - - -`);
  }
  valueOf() {
    return refuseValue(KIND);
  }
}

module.exports = { PlainTime: complete(KIND, PlainTime, TIME_GETTERS, timeField), TIME_GETTERS, timeField, timePart };
