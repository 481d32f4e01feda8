// Intl.PluralRules, Intl.Collator, Intl.ListFormat and Intl.Segmenter: what ICU4X knows of a language.
'use strict';
const { intl, collator, compare, segments } = native;
const {
  canonicalizeLocaleList,
  resolveLocale,
  coerceOptions,
  getOptionsObject,
  getOption,
  getBooleanOption,
  getTypeOption,
  getMatcher,
  define,
  withLocales,
  slots,
  bound,
} = require('./options');
const { digitOptions, shown } = require('./number');
const { ofNumber, write } = require('./decimal');
const { rounded } = require('./number_format');

const rules = slots('PluralRules');

// Digits of a number for the rules, of which there are not more than they can count.
function shownDigits(state, number) {
  const { value, least } = rounded(state, ofNumber(Math.abs(number)));
  if (value.special) return undefined;
  const [whole, fraction] = write(value, least);
  const short = whole.length > 18 ? `1${whole.slice(-17)}` : whole;
  return fraction ? `${short}.${fraction.slice(0, 18)}` : short;
}

function select(state, number) {
  const digits = shownDigits(state, number);
  return digits === undefined ? 'other' : (intl('plural', state.data, state.type, digits) ?? 'other');
}

const ORDER = ['zero', 'one', 'two', 'few', 'many', 'other'];
const categories = (state) => {
  const names = (intl('pluralCategories', state.data, state.type) ?? 'other').split(' ');
  return ORDER.filter((name) => names.includes(name));
};

const PluralRules = define(
  function PluralRules(locales = undefined, givenOptions = undefined) {
    if (new.target === undefined) throw new TypeError("Constructor Intl.PluralRules requires 'new'");
    const requested = canonicalizeLocaleList(locales);
    const options = coerceOptions(givenOptions);
    getMatcher(options);
    const type = getOption(options, 'type', ['cardinal', 'ordinal'], 'cardinal');
    const notation = getOption(options, 'notation', ['standard', 'compact', 'scientific', 'engineering'], 'standard');
    const state = { __proto__: null, ...resolveLocale(requested), type, notation };
    digitOptions(state, options, 0, 3, 'standard');
    return rules.create(new.target, state);
  },
  'PluralRules',
  {
    resolvedOptions() {
      const state = rules.of(this, 'resolvedOptions');
      state.pluralCategories = categories(state);
      return shown(
        { ...state, pluralCategories: [...state.pluralCategories] },
        ['locale', 'type', 'notation', 'minimumIntegerDigits', 'minimumFractionDigits', 'maximumFractionDigits',
          'minimumSignificantDigits', 'maximumSignificantDigits', 'pluralCategories', 'roundingIncrement',
          'roundingMode', 'roundingPriority', 'trailingZeroDisplay'],
      );
    },
    select(value) {
      const state = rules.of(this, 'select');
      return select(state, +value);
    },
    selectRange(start, end) {
      const state = rules.of(this, 'selectRange');
      if (start === undefined || end === undefined) throw new TypeError('selectRange needs a start and an end');
      const [from, to] = [+start, +end];
      if (Number.isNaN(from) || Number.isNaN(to)) throw new RangeError('Invalid argument: NaN');
      const [first, second] = [shownDigits(state, from), shownDigits(state, to)];
      if (first === undefined || second === undefined) return 'other';
      if (first === second) return select(state, from);
      return intl('pluralRange', state.data, state.type, `${first} ${second}`) ?? 'other';
    },
  },
  withLocales,
);

const collators = slots('Collator');

// Which orders there are besides those of all languages.
const OWN = { de: ['phonebk'], es: ['trad'], zh: ['pinyin', 'stroke', 'unihan', 'zhuyin'], ko: ['searchjl', 'unihan'], ja: ['unihan'], ar: ['compat'], sv: ['trad'], fi: ['trad'], bn: ['trad'] };
const COLLATIONS = ['emoji', 'eor', ...Object.values(OWN).flat()];

function createCollator(locales, givenOptions) {
  const requested = canonicalizeLocaleList(locales);
  const options = coerceOptions(givenOptions);
  const usage = getOption(options, 'usage', ['sort', 'search'], 'sort');
  getMatcher(options);
  const collation = getTypeOption(options, 'collation');
  const numeric = getBooleanOption(options, 'numeric', undefined);
  const caseFirst = getOption(options, 'caseFirst', ['upper', 'lower', 'false']);
  const languageOf = (data) => data.split('-')[0];
  const resolved = resolveLocale(
    requested,
    {
      co: (data) => (usage === 'sort' ? ['default', 'emoji', 'eor', ...(OWN[languageOf(data)] ?? [])] : ['default']),
      kf: (data) => (languageOf(data) === 'da' ? ['upper', 'false', 'lower'] : ['false', 'upper', 'lower']),
      kn: () => ['false', 'true'],
    },
    { co: collation, kn: numeric === undefined ? undefined : String(numeric), kf: caseFirst },
  );
  const sensitivity = getOption(options, 'sensitivity', ['base', 'accent', 'case', 'variant'], 'variant');
  const ignores = getBooleanOption(options, 'ignorePunctuation', languageOf(resolved.data) === 'th');
  let tag = `${resolved.data}-u`;
  if (resolved.co !== 'default') tag += `-co-${resolved.co}`;
  else if (usage === 'search') tag += '-co-search';
  tag += `-kf-${resolved.kf}-kn-${resolved.kn}`;
  return {
    locale: resolved.locale,
    usage,
    sensitivity,
    ignorePunctuation: ignores,
    collation: resolved.co,
    numeric: resolved.kn === 'true',
    caseFirst: resolved.kf,
    order: collator(tag, `${sensitivity} ${ignores ? 'punctuation' : 'all'}`),
  };
}

const Collator = define(
  function Collator(locales = undefined, options = undefined) {
    return collators.create(new.target ?? Collator, createCollator(locales, options));
  },
  'Collator',
  {
    get compare() {
      const state = collators.of(this, 'compare');
      state.compare ??= bound((x, y) => compare(state.order, `${text(x)}`, `${text(y)}`));
      return state.compare;
    },
    resolvedOptions() {
      return shown(collators.of(this, 'resolvedOptions'), [
        'locale', 'usage', 'sensitivity', 'ignorePunctuation', 'collation', 'numeric', 'caseFirst',
      ]);
    },
  },
  withLocales,
);

function text(value) {
  if (typeof value === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
  return String(value);
}

// String.prototype.localeCompare
const usual = new Map();
function localeCompare(one, other, locales, options) {
  let state;
  if (options === undefined && (locales === undefined || typeof locales === 'string')) {
    state = usual.get(locales);
    if (!state) {
      state = createCollator(locales, undefined);
      if (usual.size < 100) usual.set(locales, state);
    }
  } else state = createCollator(locales, options);
  return compare(state.order, one, other);
}

const lists = slots('ListFormat');

function strings(iterable) {
  if (iterable === undefined) return [];
  const found = [];
  for (const item of iterable) {
    if (typeof item !== 'string') throw new TypeError('Iterable yielded a value that is not a string');
    found.push(item);
  }
  return found;
}

function listParts(state, items) {
  if (!items.length) return [];
  const literals = intl('list', state.data, `${state.type} ${state.style}`, items.map((item) => item.replaceAll('\0', ' ')).join('\0')).split('\0');
  const parts = [];
  literals.forEach((literal, at) => {
    if (literal) parts.push({ type: 'literal', value: literal });
    if (at < items.length) parts.push({ type: 'element', value: items[at] });
  });
  return parts;
}

const ListFormat = define(
  function ListFormat(locales = undefined, givenOptions = undefined) {
    if (new.target === undefined) throw new TypeError("Constructor Intl.ListFormat requires 'new'");
    const requested = canonicalizeLocaleList(locales);
    const options = getOptionsObject(givenOptions);
    getMatcher(options);
    const resolved = resolveLocale(requested);
    const type = getOption(options, 'type', ['conjunction', 'disjunction', 'unit'], 'conjunction');
    const style = getOption(options, 'style', ['long', 'short', 'narrow'], 'long');
    return lists.create(new.target, { ...resolved, type, style });
  },
  'ListFormat',
  {
    format(list) {
      const state = lists.of(this, 'format');
      return listParts(state, strings(list)).map((part) => part.value).join('');
    },
    formatToParts(list) {
      const state = lists.of(this, 'formatToParts');
      return listParts(state, strings(list));
    },
    resolvedOptions() {
      return shown(lists.of(this, 'resolvedOptions'), ['locale', 'type', 'style']);
    },
  },
  withLocales,
);

const segmenters = slots('Segmenter');
const pieces = slots('Segments');
const KINDS = ['grapheme', 'word', 'sentence'];
const WORD = 0x80000000;

// The segment that begins at the end of another.
function segment(state, at) {
  const start = at === 0 ? 0 : (state.ends[at - 1] & ~WORD) >>> 0;
  const end = (state.ends[at] & ~WORD) >>> 0;
  const found = { segment: state.text.slice(start, end), index: start, input: state.text };
  if (state.granularity === 'word') found.isWordLike = state.ends[at] >= WORD;
  return found;
}

const SegmentIteratorPrototype = Object.create(Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())), {
  [Symbol.toStringTag]: { value: 'Segmenter String Iterator', configurable: true },
});
const iterators = slots('SegmentIterator');
for (const [name, descriptor] of Object.entries(
  Object.getOwnPropertyDescriptors({
    next() {
      const state = iterators.of(this, 'next');
      if (state.at >= state.of.ends.length) return { value: undefined, done: true };
      return { value: segment(state.of, state.at++), done: false };
    },
  }),
)) {
  Object.defineProperty(SegmentIteratorPrototype, name, { ...descriptor, enumerable: false });
}

const SegmentsPrototype = {
  containing(index) {
    const state = pieces.of(this, 'containing');
    const at = Math.trunc(+index) || 0;
    if (at < 0 || at >= state.text.length) return undefined;
    let low = 0;
    let high = state.ends.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((state.ends[middle] & ~WORD) >>> 0 > at) high = middle;
      else low = middle + 1;
    }
    return segment(state, low);
  },
  [Symbol.iterator]() {
    const state = pieces.of(this, '[Symbol.iterator]');
    const iterator = Object.create(SegmentIteratorPrototype);
    iterators.set(iterator, { of: state, at: 0 });
    return iterator;
  },
};
for (const name of Reflect.ownKeys(SegmentsPrototype)) Object.defineProperty(SegmentsPrototype, name, { enumerable: false });

const Segmenter = define(
  function Segmenter(locales = undefined, givenOptions = undefined) {
    if (new.target === undefined) throw new TypeError("Constructor Intl.Segmenter requires 'new'");
    const requested = canonicalizeLocaleList(locales);
    const options = getOptionsObject(givenOptions);
    getMatcher(options);
    const resolved = resolveLocale(requested);
    const granularity = getOption(options, 'granularity', KINDS, 'grapheme');
    return segmenters.create(new.target, { locale: resolved.locale, granularity });
  },
  'Segmenter',
  {
    segment(input) {
      const { granularity } = segmenters.of(this, 'segment');
      const whole = text(input);
      const ends = new Uint32Array(segments(KINDS.indexOf(granularity), whole));
      const made = Object.create(SegmentsPrototype);
      pieces.set(made, { text: whole, ends, granularity });
      return made;
    },
    resolvedOptions() {
      return shown(segmenters.of(this, 'resolvedOptions'), ['locale', 'granularity']);
    },
  },
  withLocales,
);

module.exports = { PluralRules, Collator, ListFormat, Segmenter, listParts, localeCompare, COLLATIONS };
