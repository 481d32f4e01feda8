// Temporal.Duration.
'use strict';
const { ask, make, begin, wordOf, complete } = require('./inside');
const options = require('./options');
const { integral, readUnits, plain } = require('./fields');
const convert = require('./convert');
const { negatedUnits } = require('./plain_date');

const { UNITS } = convert;
const KIND = 'Duration';
const own = (object) => wordOf(object, KIND);

const signOf = (word) => Math.sign(Number(word.split(',').find((number) => number !== '0') ?? 0));

function field(word, name) {
  if (name === 'sign') return signOf(word);
  if (name === 'blank') return signOf(word) === 0;
  return Number(word.split(',')[UNITS.indexOf(name)]);
}

class Duration {
  constructor(years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0, microseconds = 0, nanoseconds = 0) {
    const numbers = [years, months, weeks, days, hours, minutes, seconds, milliseconds, microseconds, nanoseconds];
    begin(this, KIND, convert.durationWord(numbers.map(integral)));
  }
  static from(item) {
    return make(KIND, convert.toDuration(item));
  }
  static compare(one, two, given = undefined) {
    const left = convert.toDuration(one);
    const right = convert.toDuration(two);
    const relative = convert.relativeTo(options.optionsObject(given));
    return Number(ask('duration.compare', `${left} ${right} ${relative}`));
  }
  with(temporalDurationLike) {
    const numbers = own(this).split(',');
    const fields = readUnits(temporalDurationLike);
    return make(KIND, ask('duration.new', UNITS.map((name, at) => (name in fields ? plain(fields[name]) : numbers[at])).join()));
  }
  negated() {
    return make(KIND, negatedUnits(own(this)));
  }
  abs() {
    return make(KIND, own(this).replaceAll('-', ''));
  }
  add(other) {
    const word = own(this);
    return make(KIND, ask('duration.add', `${word} ${convert.toDuration(other)}`));
  }
  subtract(other) {
    const word = own(this);
    return make(KIND, ask('duration.add', `${word} ${negatedUnits(convert.toDuration(other))}`));
  }
  round(roundTo) {
    const word = own(this);
    const read = options.unitOr(roundTo, 'smallestUnit');
    const largest = options.unit(read, 'largestUnit', ['auto']);
    const relative = convert.relativeTo(read);
    const step = options.increment(read);
    const mode = options.mode(read, 'halfExpand');
    const smallest = options.unit(read, 'smallestUnit');
    return make(KIND, ask('duration.round', `${word} ${largest} ${smallest} ${mode} ${step} ${relative}`));
  }
  total(totalOf) {
    const word = own(this);
    const read = options.unitOr(totalOf, 'unit');
    const relative = convert.relativeTo(read);
    const unit = options.unit(read, 'unit');
    if (unit === '-') throw new RangeError('unit is required');
    return Number(ask('duration.total', `${word} ${unit} ${relative}`));
  }
  toString(given = undefined) {
    const word = own(this);
    return ask('duration.string', `${word} ${options.writing(options.optionsObject(given))}`);
  }
  toJSON() {
    return ask('duration.string', `${own(this)} - - -`);
  }
  toLocaleString(locales = undefined, options = undefined) {
    return require('./locale').formatDuration(own(this), locales, options);
  }
  valueOf() {
    throw new TypeError('Temporal.Duration has no primitive value: compare with Temporal.Duration.compare()');
  }
}

module.exports = { Duration: complete(KIND, Duration, UNITS.concat('sign', 'blank'), field) };
