// Intl.RelativeTimeFormat and Intl.DisplayNames: names that CLDR has.
'use strict';
const { load } = require('./data');
const {
  canonicalTag,
  canonicalizeLocaleList,
  splitExtension,
  resolveLocale,
  coerceOptions,
  getOptionsObject,
  getOption,
  getTypeOption,
  getMatcher,
  define,
  withLocales,
  slots,
} = require('./options');
const { systemsOf, shown, simpleFormat } = require('./number');
const { formatParts, rounded, category, join } = require('./number_format');
const { ofNumber } = require('./decimal');

const relatives = slots('RelativeTimeFormat');
const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'];

function relativeParts(state, value, givenUnit) {
  const number = +value;
  const given = `${givenUnit}`;
  const unit = given.replace(/s$/, '');
  if (!UNITS.includes(unit)) throw new RangeError(`Invalid unit argument for format() '${given.slice(0, 100)}'`);
  if (!Number.isFinite(number)) throw new RangeError('The value needs to be finite number for Intl.RelativeTimeFormat.prototype.format()');
  const entry = load('field', state.data)[state.style][unit];
  if (state.numeric === 'auto') {
    const word = entry.relative[Object.is(number, -0) ? '0' : String(number)];
    if (word !== undefined) return [{ type: 'literal', value: word }];
  }
  const past = number < 0 || Object.is(number, -0);
  const format = simpleFormat(`${state.data}-u-nu-${state.numberingSystem}`, {});
  const decimal = ofNumber(Math.abs(number));
  const made = rounded(format, decimal);
  const patterns = entry[past ? 'past' : 'future'];
  const pattern = typeof patterns === 'string' ? patterns : (patterns[category(format, made.value, made.least)] ?? patterns.other);
  const parts = [];
  for (const piece of pattern.split(/(\{0\})/)) {
    if (piece === '{0}') for (const part of formatParts(format, decimal)) parts.push({ ...part, unit });
    else if (piece) parts.push({ type: 'literal', value: piece });
  }
  return parts;
}

const RelativeTimeFormat = define(
  function RelativeTimeFormat(locales = undefined, givenOptions = undefined) {
    if (new.target === undefined) throw new TypeError("Constructor Intl.RelativeTimeFormat requires 'new'");
    const requested = canonicalizeLocaleList(locales);
    const options = coerceOptions(givenOptions);
    getMatcher(options);
    const system = getTypeOption(options, 'numberingSystem');
    const resolved = resolveLocale(requested, { nu: systemsOf }, { nu: system });
    const style = getOption(options, 'style', ['long', 'short', 'narrow'], 'long');
    const numeric = getOption(options, 'numeric', ['always', 'auto'], 'always');
    return relatives.create(new.target, { ...resolved, numberingSystem: resolved.nu, style, numeric });
  },
  'RelativeTimeFormat',
  {
    format(value, unit) {
      return join(relativeParts(relatives.of(this, 'format'), value, unit));
    },
    formatToParts(value, unit) {
      return relativeParts(relatives.of(this, 'formatToParts'), value, unit);
    },
    resolvedOptions() {
      return shown(relatives.of(this, 'resolvedOptions'), ['locale', 'style', 'numeric', 'numberingSystem']);
    },
  },
  withLocales,
);

const display = slots('DisplayNames');
const TYPES = ['language', 'region', 'script', 'currency', 'calendar', 'dateTimeField'];
const FIELDS = {
  era: 'era', year: 'year', quarter: 'quarter', month: 'month', weekOfYear: 'week', weekday: 'weekday', day: 'day',
  dayPeriod: 'dayperiod', hour: 'hour', minute: 'minute', second: 'second', timeZoneName: 'zone',
};
// What CLDR calls these calendars.
const CALENDARS = { gregory: 'gregorian', ethioaa: 'ethiopic-amete-alem', 'islamicc': 'islamic-civil' };

const isLanguageTag = (code) => /^[a-z]{2,3}$|^[a-z]{5,8}$/i.test(code.split('-')[0]);

// The code as the names have it; it throws where it cannot be one.
function canonicalCode(type, code) {
  const bad = () => new RangeError(`Invalid argument to Intl.DisplayNames.prototype.of: ${code.slice(0, 100)}`);
  switch (type) {
    case 'language':
      if (!isLanguageTag(code) || /-[a-z0-9]-/i.test(code)) throw bad();
      try {
        return canonicalTag(code);
      } catch {
        throw bad();
      }
    case 'region':
      if (!/^([a-z]{2}|\d{3})$/i.test(code)) throw bad();
      return code.toUpperCase();
    case 'script':
      if (!/^[a-z]{4}$/i.test(code)) throw bad();
      return code[0].toUpperCase() + code.slice(1).toLowerCase();
    case 'currency':
      if (!/^[a-z]{3}$/i.test(code)) throw bad();
      return code.toUpperCase();
    case 'calendar':
      if (!/^[a-z0-9]{3,8}(-[a-z0-9]{3,8})*$/i.test(code)) throw bad();
      return code.toLowerCase();
    default:
      if (!Object.hasOwn(FIELDS, code)) throw bad();
      return code;
  }
}

// A name of a table of long and short ones.
const named = ([long, short], code, style) => (style === 'long' ? undefined : short[code]) ?? long[code];

// Languages: as one name where there is one, else each part in the locale's pattern.
function languageName(state, tag) {
  const names = load('name', state.data);
  const [language, ...rest] = splitExtension(tag).base.split('-');
  let taken = 0;
  let name;
  if (state.languageDisplay === 'dialect') {
    for (let count = rest.length; count > 0 && !name; count--) {
      name = named(names.language, [language, ...rest.slice(0, count)].join('-'), state.style);
      if (name) taken = count;
    }
  }
  name ??= named(names.language, language, state.style);
  if (name === undefined) return undefined;
  const details = rest.slice(taken).map((part) => {
    const table = part.length === 4 && /^[A-Z]/.test(part) ? names.script : names.region;
    return named(table, part, state.style) ?? part;
  });
  if (!details.length) return name;
  const { localePattern, localeSeparator } = names.pattern;
  const joined = details.reduce((before, after) => localeSeparator.replace('{0}', () => before).replace('{1}', () => after));
  const inner = joined.replaceAll('(', '[').replaceAll(')', ']');
  return localePattern.replace('{0}', () => name).replace('{1}', () => inner);
}

function nameOf(state, code) {
  const names = () => load('name', state.data);
  switch (state.type) {
    case 'language':
      return languageName(state, code);
    case 'region':
      return named(names().region, code, state.style);
    case 'script':
      return named(names().script, code, state.style);
    case 'currency':
      // Symbols are no names: other engines give the long name for every style too.
      return load('currency', state.data)[code]?.[2];
    case 'calendar':
      return names().calendar[CALENDARS[code] ?? code] ?? names().calendar[code];
    default:
      return load('field', state.data)[state.style].names[FIELDS[code]];
  }
}

const DisplayNames = define(
  function DisplayNames(locales, givenOptions) {
    if (new.target === undefined) throw new TypeError("Constructor Intl.DisplayNames requires 'new'");
    const requested = canonicalizeLocaleList(locales);
    if (givenOptions === undefined) throw new TypeError('undefined is not an object.');
    const options = getOptionsObject(givenOptions);
    getMatcher(options);
    const style = getOption(options, 'style', ['narrow', 'short', 'long'], 'long');
    const type = getOption(options, 'type', TYPES);
    if (type === undefined) throw new TypeError('Required option "type" must not be undefined');
    const fallback = getOption(options, 'fallback', ['code', 'none'], 'code');
    const resolved = resolveLocale(requested);
    const languageDisplay = getOption(options, 'languageDisplay', ['dialect', 'standard'], 'dialect');
    const state = { ...resolved, style, type, fallback };
    if (type === 'language') state.languageDisplay = languageDisplay;
    return display.create(new.target, state);
  },
  'DisplayNames',
  {
    of(code) {
      const state = display.of(this, 'of');
      const canonical = canonicalCode(state.type, `${code}`);
      return nameOf(state, canonical) ?? (state.fallback === 'code' ? canonical : undefined);
    },
    resolvedOptions() {
      return shown(display.of(this, 'resolvedOptions'), ['locale', 'style', 'type', 'fallback', 'languageDisplay']);
    },
  },
  withLocales,
);

module.exports = { RelativeTimeFormat, DisplayNames };
