// Temporal.ZonedDateTime.
'use strict';
const { ask, make, begin, wordOf, complete, refuseValue } = require('./inside');
const options = require('./options');
const { bigInteger, calendar, calendarByName, readFields, fieldsWord, partialObject, BOTH } = require('./fields');
const convert = require('./convert');
const { BOTH_GETTERS, bothField } = require('./plain_date_time');
const { epochField, compareEpochs } = require('./instant');
const { negatedUnits } = require('./plain_date');

const { optionsObject } = options;
const KIND = 'ZonedDateTime';
const own = (object) => wordOf(object, KIND);

const READERS = {
  __proto__: null,
  calendarId: (word) => word.split(',')[2],
  timeZoneId: (word) => word.split(',')[1],
  epochMilliseconds: (word) => epochField(word.split(',')[0], 'epochMilliseconds'),
  epochNanoseconds: (word) => epochField(word.split(',')[0], 'epochNanoseconds'),
  hoursInDay: (word) => Number(ask('zoned.hours', word)),
  offset: (word) => convert.zonedFields(word)[1],
  offsetNanoseconds: (word) => Number(convert.zonedFields(word)[2]),
};
const field = (word, name) => (READERS[name] ? READERS[name](word) : bothField(convert.zonedFields(word)[0], name));

function difference(question, object, other, given) {
  const word = own(object);
  const that = convert.toZoned(other);
  if (READERS.calendarId(word) !== READERS.calendarId(that)) throw new RangeError('the calendars differ');
  return make('Duration', ask(`zoned.${question}`, `${word} ${that} ${options.difference(given)}`));
}

function add(object, duration, given, sign) {
  const word = own(object);
  const units = convert.toDuration(duration);
  const chosen = convert.checkOverflow(given);
  return make(KIND, ask('zoned.add', `${word} ${sign < 0 ? negatedUnits(units) : units} ${chosen}`));
}

// Whether it goes to the next or the previous change of the offset.
function directionOf(given) {
  const read = options.unitOr(given, 'direction');
  const direction = options.choice(read, 'direction', ['next', 'previous'], undefined);
  if (direction === undefined) throw new RangeError('direction is required');
  return direction;
}

function zoneOfConstructor(given) {
  if (typeof given !== 'string') throw new TypeError('a time zone must be a string');
  return ask('read.zoneName', '', given);
}

class ZonedDateTime {
  constructor(epochNanoseconds, timeZone, calendar = undefined) {
    const nanoseconds = ask('instant.new', `${bigInteger(epochNanoseconds)}`);
    const zone = zoneOfConstructor(timeZone);
    begin(this, KIND, `${nanoseconds},${zone},${calendarByName(calendar)}`);
  }
  static from(item, options = undefined) {
    return make(KIND, convert.toZoned(item, options));
  }
  static compare(one, two) {
    const left = convert.toZoned(one);
    return compareEpochs(left.split(',')[0], convert.toZoned(two).split(',')[0]);
  }
  with(temporalZonedDateTimeLike, given = undefined) {
    const word = own(this);
    const fields = readFields(partialObject(temporalZonedDateTimeLike), READERS.calendarId(word), BOTH.concat('offset'), 'some');
    const { overflow, disambiguation, offset } = convert.zonedOptions(given, 'prefer');
    return make(KIND, ask('zoned.with', `${word} ${fieldsWord(fields, overflow)} ${overflow} ${disambiguation} ${offset}`));
  }
  withPlainTime(plainTime = undefined) {
    const word = own(this);
    return make(KIND, ask('zoned.withTime', `${word} ${plainTime === undefined ? '-' : convert.toTime(plainTime)}`));
  }
  withTimeZone(timeZone) {
    const parts = own(this).split(',');
    return make(KIND, `${parts[0]},${convert.zone(timeZone)},${parts[2]}`);
  }
  withCalendar(calendarLike) {
    const parts = own(this).split(',');
    return make(KIND, `${parts[0]},${parts[1]},${calendar(calendarLike)}`);
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
    return make(KIND, ask('zoned.round', `${word} ${options.rounding(roundTo)}`));
  }
  equals(other) {
    const word = own(this);
    const that = convert.toZoned(other);
    return READERS.calendarId(word) === READERS.calendarId(that) && ask('zoned.equals', `${word} ${that}`) === 'true';
  }
  toString(given = undefined) {
    const word = own(this);
    const read = optionsObject(given);
    const shown = options.calendarName(read);
    let offset;
    const writing = options.writing(read, () => {
      offset = options.showsOffset(read);
    });
    return ask('zoned.string', `${word} ${writing} ${offset} ${options.zoneName(read)} ${shown}`);
  }
  toLocaleString(locales = undefined, options = undefined) {
    return require('./locale').format(KIND, own(this), locales, options);
  }
  toJSON() {
    return ask('zoned.string', `${own(this)} - - - auto auto auto`);
  }
  valueOf() {
    return refuseValue(KIND);
  }
  startOfDay() {
    return make(KIND, ask('zoned.startOfDay', own(this)));
  }
  getTimeZoneTransition(directionParam) {
    const word = own(this);
    const found = ask('zoned.transition', `${word} ${directionOf(directionParam)}`);
    return found === '-' ? null : make(KIND, found);
  }
  toInstant() {
    return make('Instant', own(this).split(',')[0]);
  }
  toPlainDate() {
    return make('PlainDate', convert.dateOf(convert.zonedFields(own(this))[0]));
  }
  toPlainTime() {
    return make('PlainTime', convert.timeOf(convert.zonedFields(own(this))[0]));
  }
  toPlainDateTime() {
    return make('PlainDateTime', convert.zonedFields(own(this))[0]);
  }
}

module.exports = {
  ZonedDateTime: complete(KIND, ZonedDateTime, Object.keys(READERS).concat(BOTH_GETTERS.filter((name) => name !== 'calendarId')), field),
};
