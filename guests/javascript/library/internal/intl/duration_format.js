// Intl.DurationFormat: units are numbers with a unit, or digits with separators, joined as a list.
'use strict';
const {
  canonicalizeLocaleList,
  resolveLocale,
  getOptionsObject,
  getOption,
  getNumberOption,
  getTypeOption,
  getMatcher,
  define,
  withLocales,
  slots,
} = require('./options');
const { simpleFormat, systemsOf, shown } = require('./number');
const { formatParts, forSystem, join } = require('./number_format');
const { ofValue } = require('./decimal');
const { listParts } = require('./text');
const { toDuration } = require('../temporal/convert');

const inside = slots('DurationFormat');

const TEXTS = ['long', 'short', 'narrow'];
const NUMERIC = ['numeric', '2-digit'];
const TIMES = ['hours', 'minutes', 'seconds'];
// With the digits that come after the point where they are a fraction of a second.
const FRACTIONS = { __proto__: null, milliseconds: 3, microseconds: 6, nanoseconds: 9 };
const UNITS = ['years', 'months', 'weeks', 'days', ...TIMES, ...Object.keys(FRACTIONS)];

const valuesOf = (unit) => {
  if (TIMES.includes(unit)) return [...TEXTS, ...NUMERIC];
  return unit in FRACTIONS ? [...TEXTS, 'numeric'] : TEXTS;
};
const digitalBase = (unit) => (TIMES.includes(unit) || unit in FRACTIONS ? 'numeric' : 'short');
const isNumeric = (style) => NUMERIC.includes(style) || style === 'fractional';

function check(unit, style, display, before) {
  const wrong = (name) => new RangeError(`${name} is not allowed for ${unit} here`);
  if (style === 'fractional' && display === 'always') throw wrong('always');
  if (before === 'fractional' && style !== 'fractional') throw wrong(style);
  if (NUMERIC.includes(before) && !isNumeric(style)) throw wrong(style);
}

// How a unit is shown, after the unit before it.
function unitOptions(options, unit, base, before) {
  let style = getOption(options, unit, valuesOf(unit));
  let fallback = 'always';
  if (style === undefined) {
    if (base === 'digital') {
      if (!TIMES.includes(unit)) fallback = 'auto';
      style = digitalBase(unit);
    } else if (isNumeric(before)) {
      if (unit !== 'minutes' && unit !== 'seconds') fallback = 'auto';
      style = 'numeric';
    } else {
      fallback = 'auto';
      style = base;
    }
  }
  if (style === 'numeric' && unit in FRACTIONS) {
    style = 'fractional';
    fallback = 'auto';
  }
  const display = getOption(options, `${unit}Display`, ['auto', 'always'], fallback);
  check(unit, style, display, before);
  if (NUMERIC.includes(before) && (unit === 'minutes' || unit === 'seconds')) style = '2-digit';
  return { style, display };
}

function create(locales, givenOptions) {
  const requested = canonicalizeLocaleList(locales);
  const options = getOptionsObject(givenOptions);
  getMatcher(options);
  const system = getTypeOption(options, 'numberingSystem');
  const resolved = resolveLocale(requested, { nu: systemsOf }, { nu: system });
  const state = { __proto__: null, locale: resolved.locale, data: resolved.data, numberingSystem: resolved.nu };
  state.style = getOption(options, 'style', [...TEXTS, 'digital'], 'short');
  state.units = { __proto__: null };
  let before = '';
  for (const unit of UNITS) {
    state.units[unit] = unitOptions(options, unit, state.style, before);
    before = state.units[unit].style;
  }
  state.fractionalDigits = getNumberOption(options, 'fractionalDigits', 0, 9, undefined);
  return state;
}

// The values of a duration, and whether it is less than nothing.
function valuesIn(word) {
  const numbers = word.split(',');
  const values = { __proto__: null };
  UNITS.forEach((unit, at) => {
    values[unit] = numbers[at];
  });
  return { values, negative: word.includes('-') };
}

// A unit's value with the smaller ones as its fraction, of which `from` is the first.
function withFraction(values, unit, from) {
  const digits = FRACTIONS[unit] ?? 0;
  let total = BigInt(values[unit]);
  let places = 0;
  for (const smaller of Object.keys(FRACTIONS).slice(from)) {
    total = total * 1000n + BigInt(values[smaller]);
    places = FRACTIONS[smaller] - digits;
  }
  const text = `${total < 0n ? -total : total}`.padStart(places + 1, '0');
  const whole = places ? `${text.slice(0, -places)}.${text.slice(-places)}` : text;
  return total < 0n ? `-${whole}` : whole;
}

// The unit that holds the fraction of the smaller ones: the last before those that are shown so.
function holdsFraction(state, unit) {
  const next = UNITS[UNITS.indexOf(unit) + 1];
  return next in FRACTIONS && state.units[next].style === 'fractional' && (unit === 'seconds' || unit in FRACTIONS);
}

function fractionOptions(state) {
  const { fractionalDigits: digits } = state;
  return { maximumFractionDigits: digits ?? 9, minimumFractionDigits: digits ?? 0, roundingMode: 'trunc' };
}

const isZero = (value) => /^-?[0.]*$/.test(value);

// Writes one number; the first of a duration that is less than nothing has the sign.
function writer(state, negative) {
  let signs = true;
  return (value, unit, options) => {
    const used = { ...options, numberingSystem: state.numberingSystem };
    let text = value;
    if (!signs) used.signDisplay = 'never';
    else if (negative && isZero(value)) text = '-0';
    signs = false;
    const parts = formatParts(simpleFormat(state.locale, used), ofValue(text));
    return parts.map((part) => ({ ...part, unit }));
  };
}

// Hours, minutes and seconds in digits, from a unit on.
function numericParts(state, values, first, write) {
  const { units } = state;
  const from = TIMES.indexOf(first);
  const seconds = withFraction(values, 'seconds', 0);
  const shows = (unit, value) => TIMES.indexOf(unit) >= from && (!isZero(value) || units[unit].display !== 'auto');
  const [hours, last] = [shows('hours', values.hours), shows('seconds', seconds)];
  const between = from <= 1 && ((hours && last) || shows('minutes', values.minutes));
  const separator = { type: 'literal', value: forSystem(state).symbols.timeSeparator ?? ':' };
  const parts = [];
  const add = (value, unit, options = {}) => {
    if (parts.length) parts.push(separator);
    if (units[`${unit}s`].style === '2-digit') options.minimumIntegerDigits = 2;
    parts.push(...write(value, unit, { ...options, useGrouping: false }));
  };
  if (hours) add(values.hours, 'hour');
  if (between) add(values.minutes, 'minute');
  if (last) add(seconds, 'second', fractionOptions(state));
  return parts;
}

function durationParts(state, word) {
  const { values, negative } = valuesIn(word);
  const write = writer(state, negative);
  const groups = [];
  for (const unit of UNITS) {
    const { style, display } = state.units[unit];
    if (NUMERIC.includes(style)) {
      const parts = numericParts(state, values, unit, write);
      if (parts.length) groups.push(parts);
      break;
    }
    const holds = holdsFraction(state, unit);
    const value = holds ? withFraction(values, unit, UNITS.indexOf(unit) - UNITS.indexOf('seconds')) : values[unit];
    if (!isZero(value) || display !== 'auto') {
      const name = unit.slice(0, -1);
      groups.push(write(value, name, { style: 'unit', unit: name, unitDisplay: style, ...(holds ? fractionOptions(state) : {}) }));
    }
    if (holds) break;
  }
  return listed(state, groups);
}

// The groups in place of the elements of a list.
function listed(state, groups) {
  const style = state.style === 'digital' ? 'short' : state.style;
  let at = 0;
  return listParts({ data: state.data, type: 'unit', style }, groups.map(join)).flatMap((part) => (part.type === 'element' ? groups[at++] : [part]));
}

const DurationFormat = define(
  function DurationFormat(locales = undefined, options = undefined) {
    if (new.target === undefined) throw new TypeError("Constructor Intl.DurationFormat requires 'new'");
    return inside.create(new.target, create(locales, options));
  },
  'DurationFormat',
  {
    format(duration) {
      const state = inside.of(this, 'format');
      return join(durationParts(state, toDuration(duration)));
    },
    formatToParts(duration) {
      const state = inside.of(this, 'formatToParts');
      return durationParts(state, toDuration(duration));
    },
    resolvedOptions() {
      const state = inside.of(this, 'resolvedOptions');
      const told = { ...state };
      const names = ['locale', 'numberingSystem', 'style'];
      for (const unit of UNITS) {
        const { style, display } = state.units[unit];
        told[unit] = style === 'fractional' ? 'numeric' : style;
        told[`${unit}Display`] = display;
        names.push(unit, `${unit}Display`);
      }
      return shown(told, [...names, 'fractionalDigits']);
    },
  },
  withLocales,
);

const formatDuration = (word, locales, options) => join(durationParts(create(locales, options), word));

module.exports = { DurationFormat, formatDuration };
