// Intl.DateTimeFormat: its options, as ECMA-402 reads them. What is made of them is in date_pattern.js and date_format.js.
'use strict';
const { load, root, maximal } = require('./data');
const {
  canonicalizeLocaleList,
  resolveLocale,
  coerceOptions,
  getOption,
  getBooleanOption,
  getNumberOption,
  getTypeOption,
  getMatcher,
  define,
  withLocales,
  slots,
  bound,
} = require('./options');
const { systemsOf, shown } = require('./number');
const { forSystem, join } = require('./number_format');
const { generator, bestPattern, tokens, fieldsOf, nearest, adjust } = require('./date_pattern');
const { formatParts, rangeParts } = require('./date_format');
const { zoneName } = require('./zones');
const { KINDS, kindOf, optionsFor, ofTemporal } = require('./date_temporal');

const inside = slots('DateTimeFormat');

const TEXTS = ['narrow', 'short', 'long'];
const NUMBERS = ['2-digit', 'numeric'];
const COMPONENTS = [
  ['weekday', TEXTS, { narrow: 'EEEEE', short: 'EEE', long: 'EEEE' }],
  ['era', TEXTS, { narrow: 'GGGGG', short: 'GGG', long: 'GGGG' }],
  ['year', NUMBERS, { '2-digit': 'yy', numeric: 'y' }],
  ['month', [...NUMBERS, ...TEXTS], { '2-digit': 'MM', numeric: 'M', narrow: 'MMMMM', short: 'MMM', long: 'MMMM' }],
  ['day', NUMBERS, { '2-digit': 'dd', numeric: 'd' }],
  ['dayPeriod', TEXTS, { narrow: 'BBBBB', short: 'B', long: 'BBBB' }],
  ['hour', NUMBERS, undefined],
  ['minute', NUMBERS, { '2-digit': 'mm', numeric: 'm' }],
  ['second', NUMBERS, { '2-digit': 'ss', numeric: 's' }],
  ['fractionalSecondDigits', undefined, undefined],
  [
    'timeZoneName',
    ['short', 'long', 'shortOffset', 'longOffset', 'shortGeneric', 'longGeneric'],
    { short: 'z', long: 'zzzz', shortOffset: 'O', longOffset: 'OOOO', shortGeneric: 'v', longGeneric: 'vvvv' },
  ],
];
const STYLES = ['full', 'long', 'medium', 'short'];
const LETTERS = { h11: 'K', h12: 'h', h23: 'H', h24: 'k' };
const CYCLES = { K: 'h11', h: 'h12', H: 'h23', k: 'h24' };

// The hour cycle that a region prefers.
function preferredCycle(base) {
  const [language, , region] = maximal(base);
  const { hours } = root('time');
  const [preferred] = hours[`${language}-${region}`] ?? hours[region] ?? hours['001'];
  return CYCLES[preferred[0]] ?? 'h23';
}

function cycleFor(base, hour12) {
  const preferred = preferredCycle(base);
  const isJapan = maximal(base)[2] === 'JP';
  if (hour12) return preferred === 'h11' || isJapan ? 'h11' : 'h12';
  return preferred === 'h24' ? 'h24' : 'h23';
}

// The zone of dates without one: that of the variable TZ, else UTC.
const systemZone = () => zoneName(native.localZone() ?? 'UTC') ?? 'UTC';

function timeZoneOption(options, own) {
  const given = options.timeZone;
  if (given !== undefined && own !== undefined) throw new TypeError('a zoned date is shown in no other time zone');
  if (given === undefined) return own ?? systemZone();
  const text = `${given}`;
  const name = text.length > 100 ? undefined : zoneName(text);
  if (name === undefined) throw new RangeError(`Invalid time zone specified: ${text.slice(0, 100)}`);
  return name;
}

const generators = new Map();
function generatorOf(data) {
  let known = generators.get(data);
  if (!known) {
    const date = load('date', data);
    known = { ...generator(date.gregory), names: date.fields };
    if (generators.size > 50) generators.clear();
    generators.set(data, known);
  }
  return known;
}

function skeletonOf(state) {
  let skeleton = '';
  for (const [name, , letters] of COMPONENTS) {
    const value = state[name];
    if (value === undefined) continue;
    if (name === 'hour') {
      const letter = LETTERS[state.hourCycle];
      skeleton += value === '2-digit' ? letter + letter : letter;
    } else if (name === 'fractionalSecondDigits') skeleton += 'S'.repeat(value);
    else skeleton += letters[value];
  }
  return skeleton;
}

// What a pattern shows of the components, for `resolvedOptions`.
function componentsOf(pattern, asked) {
  const found = { __proto__: null };
  for (const { letter, length } of tokens(pattern)) {
    const two = length === 2 ? '2-digit' : 'numeric';
    const text = { 4: 'long', 5: 'narrow' }[length] ?? 'short';
    if (letter === 'E' || letter === 'c' || letter === 'e') found.weekday = text;
    else if (letter === 'G') found.era = text;
    else if (letter === 'y') found.year = two;
    else if (letter === 'M' || letter === 'L') found.month = length < 3 ? two : text;
    else if (letter === 'd') found.day = two;
    else if (letter === 'B') found.dayPeriod = text;
    else if ('hHkK'.includes(letter ?? '-')) found.hour = two;
    else if (letter === 'm') found.minute = two;
    else if (letter === 's') found.second = two;
    else if (letter === 'S') found.fractionalSecondDigits = length;
    else if (letter === 'z' || letter === 'v' || letter === 'O') found.timeZoneName = asked.timeZoneName;
  }
  return found;
}

// A time pattern of the locale with the hours that are asked for.
function withCycle(state, pattern, chosen) {
  const letter = tokens(pattern).find((token) => 'hHkK'.includes(token.letter ?? '-'))?.letter;
  if (!letter || !chosen || CYCLES[letter] === chosen) return pattern;
  const skeleton = tokens(pattern)
    .filter((token) => token.letter && !'abB'.includes(token.letter))
    .map((token) => (token.letter === letter ? LETTERS[chosen] : token.letter).repeat(token.length))
    .join('');
  return bestPattern(generatorOf(state.data), skeleton, forSystem(state).symbols.decimal);
}

function stylePattern(state, dateStyle, timeStyle, chosen) {
  const { gregory } = load('date', state.data);
  const date = dateStyle && gregory.date[STYLES.indexOf(dateStyle)];
  const time = timeStyle && withCycle(state, gregory.time[STYLES.indexOf(timeStyle)], chosen);
  return date && time ? bothPattern(gregory.both[STYLES.indexOf(dateStyle)], date, time) : (date ?? time);
}

const bothPattern = (pattern, date, time) => pattern.replace(/\{(\d)\}/g, (_, index) => (index === '0' ? time : date));

// `ownZone` is that of a zoned date, which has no other.
function create(locales, givenOptions, required, defaults, ownZone) {
  const requested = canonicalizeLocaleList(locales);
  const options = coerceOptions(givenOptions);
  getMatcher(options);
  const calendar = getTypeOption(options, 'calendar');
  const system = getTypeOption(options, 'numberingSystem');
  const hour12 = getBooleanOption(options, 'hour12', undefined);
  let hourCycle = getOption(options, 'hourCycle', ['h11', 'h12', 'h23', 'h24'], undefined);
  if (hour12 !== undefined) hourCycle = undefined;
  const resolved = resolveLocale(
    requested,
    {
      ca: () => ['gregory', 'iso8601'],
      hc: () => [undefined, 'h11', 'h12', 'h23', 'h24'],
      nu: systemsOf,
    },
    { ca: calendar, nu: system, hc: hour12 !== undefined ? null : hourCycle },
  );
  let { locale } = resolved;
  if (hour12 !== undefined || (hourCycle !== undefined && hourCycle !== resolved.hc)) locale = locale.replace(/-hc-h\d\d/, '');
  locale = locale.replace(/-u$/, '');
  const state = { __proto__: null, locale, data: resolved.data, calendar: resolved.ca, numberingSystem: resolved.nu };
  const chosen = hour12 !== undefined ? cycleFor(resolved.base, hour12) : (hourCycle ?? resolved.hc);
  state.timeZone = timeZoneOption(options, ownZone);
  const asked = { __proto__: null };
  let explicit = false;
  for (const [name, values] of COMPONENTS) {
    const value =
      name === 'fractionalSecondDigits' ? getNumberOption(options, name, 1, 3, undefined) : getOption(options, name, values);
    if (value === undefined) continue;
    asked[name] = value;
    explicit = true;
  }
  getOption(options, 'formatMatcher', ['basic', 'best fit'], 'best fit');
  const dateStyle = getOption(options, 'dateStyle', STYLES);
  const timeStyle = getOption(options, 'timeStyle', STYLES);
  state.dateData = load('date', state.data);
  state.hourCycle = chosen ?? preferredCycle(resolved.base);
  if (dateStyle !== undefined || timeStyle !== undefined) {
    if (explicit) throw new TypeError(`Can't set option ${Object.keys(asked)[0]} when ${dateStyle ? 'dateStyle' : 'timeStyle'} is used`);
    if (required === 'date' && timeStyle !== undefined) throw new TypeError('Invalid option : timeStyle');
    if (required === 'time' && dateStyle !== undefined) throw new TypeError('Invalid option : dateStyle');
    state.dateStyle = dateStyle;
    state.timeStyle = timeStyle;
    state.chosen = chosen;
    state.pattern = stylePattern(state, dateStyle, timeStyle, chosen);
  } else {
    state.forms = { __proto__: null, asked: { __proto__: null, ...asked }, cycle: state.hourCycle };
    withDefaults(asked, required, defaults, ownZone);
    Object.assign(state, asked);
    state.pattern = patternFor(state, skeletonOf(state));
    const components = componentsOf(state.pattern, asked);
    for (const [name] of COMPONENTS) state[name] = components[name];
  }
  return finish(state);
}

const patternFor = (state, skeleton) => bestPattern(generatorOf(state.data), skeleton, forSystem(state).symbols.decimal);

// What a pattern says of its hours, and what is made of it for ranges.
function finish(state) {
  const hour = tokens(state.pattern).find((token) => 'hHkK'.includes(token.letter ?? '-'));
  state.hourCycle = hour && CYCLES[hour.letter];
  if (hour) state.hour12 = state.hourCycle === 'h11' || state.hourCycle === 'h12';
  state.interval = (letter) => intervalPattern(state, state.pattern, letter) ?? splitInterval(state, letter);
  state.wider = (letter) => widened(state, letter);
  return state;
}

// The format for objects of `Temporal` of a kind, which are in no time zone but for instants.
function formFor(state, kind) {
  state.kinds ??= { __proto__: null };
  const known = state.kinds[kind] ?? (state.kinds[kind] = makeForm(state, kind));
  if (known === 'none') throw new TypeError(`this format shows nothing of a Temporal.${kind}`);
  return known;
}

function makeForm(state, kind) {
  const zone = kind === 'Instant' ? state.timeZone : 'UTC';
  const form = { __proto__: null, ...state, timeZone: zone };
  if (!state.forms) return styledForm(form, kind);
  const asked = optionsFor(kind, state.forms.asked);
  if (!asked) return 'none';
  for (const [name] of COMPONENTS) form[name] = asked[name];
  form.hourCycle = state.forms.cycle;
  form.pattern = patternFor(form, skeletonOf(form));
  return finish(form);
}

// Of a style: the parts of its pattern that the kind has.
function styledForm(form, kind) {
  const { letters, date, time } = KINDS[kind];
  form.dateStyle = date ? form.dateStyle : undefined;
  form.timeStyle = time ? form.timeStyle : undefined;
  if (!form.dateStyle && !form.timeStyle) return 'none';
  if (letters) form.pattern = onlyWith(form, stylePattern(form, form.dateStyle, form.timeStyle, form.chosen), letters);
  return finish(form);
}

function onlyWith(form, pattern, letters) {
  const all = tokens(pattern).filter((token) => token.letter);
  const kept = all.filter((token) => letters.includes(token.letter));
  if (kept.length === all.length) return pattern;
  const skeleton = kept.filter((token) => token.letter !== 'a').map((token) => token.letter.repeat(token.length));
  return patternFor(form, skeleton.join('').replaceAll('L', 'M').replaceAll('c', 'E'));
}

// What shows the largest field that differs too, if this format does not: two times of different days have their days.
function widened(state, letter) {
  const at = 'yMd'.indexOf(letter);
  const shown = tokens(state.pattern).flatMap((token) => (token.letter ? [{ L: 'M', c: 'E' }[token.letter] ?? token.letter] : []));
  if (at < 0 || shown.includes(letter) || (letter === 'd' && shown.includes('E')) || shown.every((each) => 'yMEG'.includes(each) && each !== 'E')) return state;
  const hasDate = shown.some((each) => 'yMdE'.includes(each));
  const skeleton = tokens(state.pattern)
    .filter((token) => token.letter && token.letter !== 'a')
    .map((token) => token.letter.repeat(token.length))
    .join('')
    .replaceAll('L', 'M')
    .replaceAll('c', 'E');
  const pattern = bestPattern(generatorOf(state.data), (hasDate ? 'y' : 'yMd') + skeleton, forSystem(state).symbols.decimal);
  const wide = { ...state, pattern };
  wide.interval = (other) => intervalPattern(wide, pattern, other);
  return wide;
}

function withDefaults(asked, required, defaults, ownZone) {
  const any = (...names) => names.some((name) => asked[name] !== undefined);
  let needed = true;
  if (required !== 'time' && any('weekday', 'year', 'month', 'day')) needed = false;
  if (required !== 'date' && any('dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits')) needed = false;
  if (!needed) return;
  if (defaults !== 'time') for (const name of ['year', 'month', 'day']) asked[name] = 'numeric';
  if (defaults !== 'date') for (const name of ['hour', 'minute', 'second']) asked[name] = 'numeric';
  if (ownZone !== undefined) asked.timeZoneName ??= 'short';
}

// The locale's pattern for an interval of these fields, whose largest difference is this; undefined: it has none.
function intervalPattern(state, pattern, letter) {
  const { intervals } = state.dateData.gregory;
  const skeleton = tokens(pattern).map((token) => (token.letter && token.letter !== 'a' ? token.letter.repeat(token.length) : ''));
  const plain = skeleton.join('').replaceAll('L', 'M').replaceAll('c', 'E').replaceAll('K', 'h').replaceAll('k', 'H');
  const wanted = fieldsOf(plain);
  const hour = /H/.test(plain) ? 'H' : 'h';
  const key = letter === 'h' ? hour : letter === 'a' && hour === 'H' ? 'H' : letter;
  const has = (fields) => fields.map(Boolean).join();
  const entries = Object.entries(intervals)
    .filter(([, patterns]) => typeof patterns === 'object' && patterns[key])
    .map(([name, patterns]) => ({ ...fieldsOf(name), pattern: patterns[key], specified: true }))
    .filter((entry) => has(entry.fields) === has(wanted.fields) && (entry.fields[6]?.letter ?? '') === (wanted.fields[6]?.letter ?? ''));
  if (!entries.length) return undefined;
  return adjust(nearest({ entries }, wanted, -1).entry, wanted, false, '.');
}

// Of a date and a time with the same date, the interval is that of the time.
function splitInterval(state, letter) {
  const { dateStyle, timeStyle, chosen } = state;
  if (!'ahms'.includes(letter)) return undefined;
  let date;
  let time;
  let style = STYLES.indexOf(dateStyle);
  if (dateStyle || timeStyle) {
    date = dateStyle && stylePattern(state, dateStyle);
    time = timeStyle && stylePattern(state, undefined, timeStyle, chosen);
  } else {
    const skeleton = skeletonOf(state);
    const at = skeleton.search(/[abBhHkKmsSzvO]/);
    if (at <= 0) return undefined;
    const make = (part) => bestPattern(generatorOf(state.data), part, forSystem(state).symbols.decimal);
    [date, time] = [make(skeleton.slice(0, at)), make(skeleton.slice(at))];
    style = { long: state.weekday ? 0 : 1, short: 2 }[state.month] ?? 3;
  }
  if (!date || !time) return undefined;
  const fallback = state.dateData.gregory.intervals.intervalFormatFallback ?? '{0} – {1}';
  const interval = intervalPattern(state, time, letter) ?? fallback.replace(/\{[01]\}/g, () => time);
  return bothPattern(state.dateData.gregory.plain[style], date, interval);
}

function timeOf(value) {
  const time = value === undefined ? Date.now() : +value;
  if (!Number.isFinite(time) || Math.abs(time) > 8.64e15) throw new RangeError('Invalid time value');
  return Math.trunc(time) + 0;
}

// Two of the same kind, as numbers are.
function rangeOf(state, start, end) {
  if (start === undefined || end === undefined) throw new TypeError('startDate or endDate cannot be undefined');
  const [first, last] = [numberOrTemporal(start), numberOrTemporal(end)];
  if (kindOf(first) !== kindOf(last)) throw new TypeError('startDate and endDate are of different kinds');
  const [from, to] = [formattable(state, first), formattable(state, last)];
  if (from.kind === undefined) return rangeParts(state, timeOf(from.time), timeOf(to.time));
  return rangeParts(formFor(state, from.kind), from.time, to.time);
}

const numberOrTemporal = (value) => (kindOf(value) ? value : +value);

// {kind, time}: a time in milliseconds has no kind.
const formattable = (state, value) => ofTemporal(value, state.calendar) ?? { kind: undefined, time: +value };

function partsOf(state, value) {
  if (value === undefined) return formatParts(state, timeOf(undefined));
  const { kind, time } = formattable(state, value);
  return kind === undefined ? formatParts(state, timeOf(time)) : formatParts(formFor(state, kind), time);
}

const SHOWN = ['locale', 'calendar', 'numberingSystem', 'timeZone', 'hourCycle', 'hour12'];

const DateTimeFormat = define(
  function DateTimeFormat(locales = undefined, options = undefined) {
    return inside.create(new.target ?? DateTimeFormat, create(locales, options, 'any', 'date'));
  },
  'DateTimeFormat',
  {
    resolvedOptions() {
      const state = inside.of(this, 'resolvedOptions');
      const names = state.dateStyle || state.timeStyle ? ['dateStyle', 'timeStyle'] : COMPONENTS.map(([name]) => name);
      return shown(state, [...SHOWN, ...names]);
    },
    formatToParts(date) {
      return partsOf(inside.of(this, 'formatToParts'), date);
    },
    get format() {
      const state = inside.of(this, 'format');
      state.format ??= bound((date) => join(partsOf(state, date)));
      return state.format;
    },
    formatRange(startDate, endDate) {
      return join(rangeOf(inside.of(this, 'formatRange'), startDate, endDate));
    },
    formatRangeToParts(startDate, endDate) {
      return rangeOf(inside.of(this, 'formatRangeToParts'), startDate, endDate);
    },
  },
  withLocales,
);

const formatWith = (state, time) => join(formatParts(state, time));

module.exports = { DateTimeFormat, create, formatWith, partsOf };
