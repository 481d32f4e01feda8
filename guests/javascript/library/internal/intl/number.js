// Intl.NumberFormat: its options, as ECMA-402 reads them. What is made of them is in number_format.js.
'use strict';
const { load, root, dataLocale } = require('./data');
const {
  canonicalizeLocaleList,
  resolveLocale,
  coerceOptions,
  getOption,
  getNumberOption,
  getTypeOption,
  defaultNumber,
  getMatcher,
  define,
  withLocales,
  slots,
  bound,
  invalid,
} = require('./options');
const { ofValue } = require('./decimal');
const { formatParts, rangeParts, join } = require('./number_format');

const STEPS = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 2500, 5000];
const MODES = ['ceil', 'floor', 'expand', 'trunc', 'halfCeil', 'halfFloor', 'halfExpand', 'halfTrunc', 'halfEven'];
const UNITS =
  'acre bit byte celsius centimeter day degree fahrenheit fluid-ounce foot gallon gigabit gigabyte gram hectare hour inch kilobit kilobyte kilogram kilometer liter megabit megabyte meter microsecond mile mile-scandinavian milliliter millimeter millisecond minute month nanosecond ounce percent petabyte pound second stone terabit terabyte week yard year'.split(
    ' ',
  );

const inside = slots('NumberFormat');

// The numbering systems of a locale, its own first.
function systemsOf(data) {
  const all = root('number').systems;
  const { system, native: other } = load('number', data);
  return [...new Set([system, other, ...Object.keys(all)])].filter((name) => Object.hasOwn(all, name));
}

const isUnit = (name) => UNITS.includes(name);

function isWellFormedUnit(unit) {
  if (isUnit(unit)) return true;
  const at = unit.indexOf('-per-');
  return at > 0 && isUnit(unit.slice(0, at)) && isUnit(unit.slice(at + 5));
}

function digitOptions(into, options, leastDefault, mostDefault, notation) {
  into.minimumIntegerDigits = getNumberOption(options, 'minimumIntegerDigits', 1, 21, 1);
  let { minimumFractionDigits: leastFraction, maximumFractionDigits: mostFraction } = options;
  const { minimumSignificantDigits: least, maximumSignificantDigits: most } = options;
  const step = getNumberOption(options, 'roundingIncrement', 1, 5000, 1);
  if (!STEPS.includes(step)) throw invalid(step, 'roundingIncrement');
  const mode = getOption(options, 'roundingMode', MODES, 'halfExpand');
  const priority = getOption(options, 'roundingPriority', ['auto', 'morePrecision', 'lessPrecision'], 'auto');
  const trailing = getOption(options, 'trailingZeroDisplay', ['auto', 'stripIfInteger'], 'auto');
  if (step !== 1) mostDefault = leastDefault;
  const hasSignificant = least !== undefined || most !== undefined;
  const hasFraction = leastFraction !== undefined || mostFraction !== undefined;
  let needsSignificant = true;
  let needsFraction = true;
  if (priority === 'auto') {
    needsSignificant = hasSignificant;
    if (needsSignificant || (!hasFraction && notation === 'compact')) needsFraction = false;
  }
  if (needsSignificant) {
    if (hasSignificant) {
      into.minimumSignificantDigits = defaultNumber(least, 1, 21, 1, 'minimumSignificantDigits');
      into.maximumSignificantDigits = defaultNumber(most, into.minimumSignificantDigits, 21, 21, 'maximumSignificantDigits');
    } else {
      into.minimumSignificantDigits = 1;
      into.maximumSignificantDigits = 21;
    }
  }
  if (needsFraction) {
    if (hasFraction) {
      leastFraction = defaultNumber(leastFraction, 0, 100, undefined, 'minimumFractionDigits');
      mostFraction = defaultNumber(mostFraction, 0, 100, undefined, 'maximumFractionDigits');
      if (leastFraction === undefined) leastFraction = Math.min(leastDefault, mostFraction);
      else if (mostFraction === undefined) mostFraction = Math.max(mostDefault, leastFraction);
      else if (leastFraction > mostFraction) throw new RangeError('maximumFractionDigits value is out of range.');
      into.minimumFractionDigits = leastFraction;
      into.maximumFractionDigits = mostFraction;
    } else {
      into.minimumFractionDigits = leastDefault;
      into.maximumFractionDigits = mostDefault;
    }
  }
  into.rounding = 'fractionDigits';
  into.roundingPriority = 'auto';
  if (!needsSignificant && !needsFraction) {
    into.minimumFractionDigits = 0;
    into.maximumFractionDigits = 0;
    into.minimumSignificantDigits = 1;
    into.maximumSignificantDigits = 2;
    into.rounding = 'morePrecision';
    into.roundingPriority = 'morePrecision';
  } else if (priority !== 'auto') {
    into.rounding = priority;
    into.roundingPriority = priority;
  } else if (hasSignificant) {
    into.rounding = 'significantDigits';
  }
  if (step !== 1) {
    if (into.rounding !== 'fractionDigits') throw new TypeError('roundingIncrement needs fraction digits');
    if (into.maximumFractionDigits !== into.minimumFractionDigits) throw invalid(step, 'roundingIncrement');
  }
  into.roundingIncrement = step;
  into.roundingMode = mode;
  into.trailingZeroDisplay = trailing;
}

function unitOptions(into, options) {
  into.style = getOption(options, 'style', ['decimal', 'percent', 'currency', 'unit'], 'decimal');
  const currency = getOption(options, 'currency');
  if (currency === undefined) {
    if (into.style === 'currency') throw new TypeError('Currency code is required with currency style.');
  } else if (!/^[a-z]{3}$/i.test(currency)) {
    throw new RangeError('Invalid currency code : ' + currency.slice(0, 100));
  }
  const currencyDisplay = getOption(options, 'currencyDisplay', ['code', 'symbol', 'narrowSymbol', 'name'], 'symbol');
  const currencySign = getOption(options, 'currencySign', ['standard', 'accounting'], 'standard');
  const unit = getOption(options, 'unit');
  if (unit === undefined) {
    if (into.style === 'unit') throw new TypeError('Required unit is missing');
  } else if (!isWellFormedUnit(unit)) {
    throw new RangeError('Invalid unit argument for Intl.NumberFormat() ' + `'${unit.slice(0, 100)}'`);
  }
  const unitDisplay = getOption(options, 'unitDisplay', ['short', 'narrow', 'long'], 'short');
  if (into.style === 'currency') Object.assign(into, { currency: currency.toUpperCase(), currencyDisplay, currencySign });
  if (into.style === 'unit') Object.assign(into, { unit, unitDisplay });
}

function groupingOption(options, fallback) {
  const value = options.useGrouping;
  if (value === undefined) return fallback;
  if (value === true) return 'always';
  if (!value) return false;
  const text = `${value}`;
  if (text === 'true' || text === 'false') return fallback;
  if (!['min2', 'auto', 'always'].includes(text)) throw invalid(text, 'useGrouping');
  return text;
}

// What a formatter knows.
function create(locales, givenOptions) {
  const requested = canonicalizeLocaleList(locales);
  const options = coerceOptions(givenOptions);
  getMatcher(options);
  const system = getTypeOption(options, 'numberingSystem');
  const resolved = resolveLocale(requested, { nu: systemsOf }, { nu: system });
  const into = { __proto__: null, locale: resolved.locale, data: resolved.data, numberingSystem: resolved.nu };
  unitOptions(into, options);
  const { style } = into;
  into.notation = getOption(options, 'notation', ['standard', 'scientific', 'engineering', 'compact'], 'standard');
  let least = 0;
  let most = style === 'percent' ? 0 : 3;
  if (style === 'currency' && into.notation === 'standard') {
    const { digits } = root('number');
    least = digits[into.currency] ?? digits.DEFAULT;
    most = least;
  }
  digitOptions(into, options, least, most, into.notation);
  const compactDisplay = getOption(options, 'compactDisplay', ['short', 'long'], 'short');
  let grouping = 'auto';
  if (into.notation === 'compact') {
    into.compactDisplay = compactDisplay;
    grouping = 'min2';
  }
  into.useGrouping = groupingOption(options, grouping);
  into.signDisplay = getOption(
    options,
    'signDisplay',
    ['auto', 'never', 'always', 'exceptZero', 'negative'],
    'auto',
  );
  return into;
}

const SHOWN = [
  'locale', 'numberingSystem', 'style', 'currency', 'currencyDisplay', 'currencySign', 'unit', 'unitDisplay',
  'minimumIntegerDigits', 'minimumFractionDigits', 'maximumFractionDigits', 'minimumSignificantDigits',
  'maximumSignificantDigits', 'useGrouping', 'notation', 'compactDisplay', 'signDisplay', 'roundingIncrement',
  'roundingMode', 'roundingPriority', 'trailingZeroDisplay',
];

function shown(from, names) {
  const result = {};
  for (const name of names) {
    const value = from[name];
    if (value === undefined) continue;
    Object.defineProperty(result, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  }
  return result;
}

// A formatter for what others format; it reads nothing of a snippet.
const simple = new Map();
function simpleFormat(locale, options) {
  const key = locale + JSON.stringify(options);
  let known = simple.get(key);
  if (!known) {
    if (simple.size > 200) simple.clear();
    simple.set(key, (known = create(locale, { __proto__: null, ...options })));
  }
  return known;
}

function fallbackThis(receiver, target) {
  // Objects of before ES2015, made by calling the constructor on them, are not made any more.
  return inside.of(receiver, target);
}

const NumberFormat = define(
  function NumberFormat(locales = undefined, options = undefined) {
    return inside.create(new.target ?? NumberFormat, create(locales, options));
  },
  'NumberFormat',
  {
    resolvedOptions() {
      return shown(fallbackThis(this, 'resolvedOptions'), SHOWN);
    },
    formatToParts(value) {
      return formatParts(inside.of(this, 'formatToParts'), ofValue(value));
    },
    get format() {
      const state = fallbackThis(this, 'format');
      state.format ??= bound((value) => join(formatParts(state, ofValue(value))));
      return state.format;
    },
    formatRange(start, end) {
      const state = inside.of(this, 'formatRange');
      return join(ranged(state, start, end));
    },
    formatRangeToParts(start, end) {
      return ranged(inside.of(this, 'formatRangeToParts'), start, end);
    },
  },
  withLocales,
);

function ranged(state, start, end) {
  if (start === undefined || end === undefined) throw new TypeError('formatRange needs a start and an end');
  const [from, to] = [ofValue(start), ofValue(end)];
  if (from.special === 'nan' || to.special === 'nan') throw new RangeError('Invalid argument: NaN');
  return rangeParts(state, from, to);
}

const formatWith = (state, value) => join(formatParts(state, ofValue(value)));

module.exports = { NumberFormat, create, formatWith, simpleFormat, digitOptions, systemsOf, shown, dataLocale, UNITS };
