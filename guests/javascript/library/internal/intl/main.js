// The object `Intl`, and what the prototypes of the language ask of it.
'use strict';
const { intl } = native;
const { canonicalizeLocaleList, splitExtension, DEFAULT_LOCALE } = require('./options');

const PARTS = {
  Collator: './text',
  DateTimeFormat: './date',
  DisplayNames: './names',
  DurationFormat: './duration_format',
  ListFormat: './text',
  Locale: './locale',
  NumberFormat: './number',
  PluralRules: './text',
  RelativeTimeFormat: './names',
  Segmenter: './text',
};

const hidden = (object, name, value) => Object.defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });

// In code points, which is how all of the lists are sorted.
const sorted = (names) => [...new Set(names)].sort();

const VALUES = {
  calendar: () => ['gregory', 'iso8601'],
  collation: () => require('./text').COLLATIONS,
  currency: () => Object.keys(require('./data').load('currency', 'en')),
  numberingSystem: () => Object.keys(require('./data').root('number').systems),
  timeZone() {
    const { regions } = require('./data').root('zone');
    return [...require('./zones').allZones().filter((name) => Object.hasOwn(regions, name) && !/^Etc\/(GMT|UTC)$/.test(name)), 'UTC'];
  },
  unit: () => require('./number').UNITS,
};

const functions = {
  getCanonicalLocales(locales) {
    return canonicalizeLocaleList(locales);
  },
  supportedValuesOf(key) {
    const name = `${key}`;
    if (!Object.hasOwn(VALUES, name)) throw new RangeError(`Invalid key : ${name.slice(0, 100)}`);
    return sorted(VALUES[name]());
  },
};
// The object itself, which has everything; `toLocaleString` and its like need only their own part.
function makeIntl() {
  const Intl = {};
  for (const [name, part] of Object.entries(PARTS)) hidden(Intl, name, require(part)[name]);
  for (const [name, value] of Object.entries(functions)) hidden(Intl, name, value);
  Object.defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });
  return Intl;
}

// Formatters without options are made once for each locale.
const usual = new Map();
function formatter(kind, locales, options, make) {
  if (options !== undefined || (locales !== undefined && typeof locales !== 'string')) return make();
  const key = `${kind} ${locales}`;
  let known = usual.get(key);
  if (!known) {
    known = make();
    if (usual.size > 100) usual.clear();
    usual.set(key, known);
  }
  return known;
}

function formatNumber(value, locales, options) {
  const { create, formatWith } = require('./number');
  return formatWith(formatter('number', locales, options, () => create(locales, options)), value);
}

function formatDate(time, locales, options, required, defaults) {
  const { create, formatWith } = require('./date');
  const make = () => create(locales, options, required, defaults);
  // The zone of a date may change between two runs.
  const state = formatter(`${required} ${native.localZone() ?? ''}`, locales, options, make);
  return Number.isNaN(time) ? 'Invalid Date' : formatWith(state, time);
}

const localeCompare = (one, other, locales, options) => require('./text').localeCompare(one, other, locales, options);

const CASES = ['az', 'el', 'hy', 'lt', 'tr'];

// Letters of some languages have other forms; else the engine knows them.
function changeCase(text, locales, upper) {
  const [tag] = canonicalizeLocaleList(locales);
  const language = splitExtension(tag ?? DEFAULT_LOCALE).base.split('-')[0];
  if (CASES.includes(language) && text.isWellFormed()) {
    const changed = intl(upper ? 'upper' : 'lower', language, text);
    if (changed !== undefined) return changed;
  }
  return upper ? text.toUpperCase() : text.toLowerCase();
}

module.exports = { makeIntl, formatNumber, formatDate, localeCompare, changeCase };
