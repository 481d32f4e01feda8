// Temporal.Instant.
'use strict';
const { ask, make, begin, wordOf, complete, refuseValue } = require('./inside');
const options = require('./options');
const { bigInteger, integral } = require('./fields');
const convert = require('./convert');
const { negatedUnits } = require('./plain_date');

const KIND = 'Instant';
const own = (object) => wordOf(object, KIND);

// Nanoseconds of a word, and whole milliseconds.
function epochField(nanoseconds, name) {
  const exact = BigInt(nanoseconds);
  if (name === 'epochNanoseconds') return exact;
  return Number((exact - (((exact % 1000000n) + 1000000n) % 1000000n)) / 1000000n);
}

function compareEpochs(one, other) {
  const left = BigInt(one);
  const right = BigInt(other);
  return left < right ? -1 : left > right ? 1 : 0;
}

function add(object, duration, sign) {
  const word = own(object);
  const units = convert.toDuration(duration);
  return make(KIND, ask('instant.add', `${word} ${sign < 0 ? negatedUnits(units) : units}`));
}

function difference(question, object, other, given) {
  const word = own(object);
  const that = convert.toInstant(other);
  return make('Duration', ask(`instant.${question}`, `${word} ${that} ${options.difference(given)}`));
}

const ofNanoseconds = (value) => ask('instant.new', `${bigInteger(value)}`);

class Instant {
  constructor(epochNanoseconds) {
    begin(this, KIND, ofNanoseconds(epochNanoseconds));
  }
  static from(item) {
    return make(KIND, convert.toInstant(item));
  }
  static fromEpochMilliseconds(epochMilliseconds) {
    return make(KIND, ask('instant.new', `${BigInt(integral(epochMilliseconds)) * 1000000n}`));
  }
  static fromEpochNanoseconds(epochNanoseconds) {
    return make(KIND, ofNanoseconds(epochNanoseconds));
  }
  static compare(one, two) {
    return compareEpochs(convert.toInstant(one), convert.toInstant(two));
  }
  add(temporalDurationLike) {
    return add(this, temporalDurationLike, 1);
  }
  subtract(temporalDurationLike) {
    return add(this, temporalDurationLike, -1);
  }
  until(other, options = undefined) {
    return difference('until', this, other, options);
  }
  since(other, options = undefined) {
    return difference('since', this, other, options);
  }
  round(roundTo) {
    const word = own(this);
    return make(KIND, ask('instant.round', `${word} ${options.rounding(roundTo)}`));
  }
  equals(other) {
    return own(this) === convert.toInstant(other);
  }
  toString(given = undefined) {
    const word = own(this);
    const read = options.optionsObject(given);
    const writing = options.writing(read);
    const zone = read.timeZone;
    return ask('instant.string', `${word} ${writing} ${zone === undefined ? '-' : convert.zone(zone)}`);
  }
  toLocaleString(locales = undefined, options = undefined) {
    return require('./locale').format(KIND, own(this), locales, options);
  }
  toJSON() {
    return ask('instant.string', `${own(this)} - - - -`);
  }
  valueOf() {
    return refuseValue(KIND);
  }
  toZonedDateTimeISO(timeZone) {
    const word = own(this);
    return make('ZonedDateTime', `${word},${convert.zone(timeZone)},iso8601`);
  }
}

module.exports = { Instant: complete(KIND, Instant, ['epochMilliseconds', 'epochNanoseconds'], epochField), epochField, compareEpochs };
