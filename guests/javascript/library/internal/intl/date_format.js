// A time as the parts of a pattern.
'use strict';
const { root, maximal } = require('./data');
const { tokens } = require('./date_pattern');
const { digitsOf, inSystem, join } = require('./number_format');
const { zoneState, zoneText } = require('./zones');

const DAY = 86400000;

// The fields of a time in a zone, in the proleptic Gregorian calendar. What is in no zone comes with its fields.
function fieldsOf(time, zone) {
  if (typeof time === 'object') return time;
  const { offset } = zoneState(zone, time);
  const date = new Date(time + offset);
  if (Number.isNaN(date.getTime())) {
    // At the very ends of what a date can be, its local time is none.
    const shifted = fieldsOf(time - Math.sign(offset) * DAY, zone);
    return { ...shifted, day: shifted.day + Math.sign(offset) };
  }
  const year = date.getUTCFullYear();
  return {
    time,
    era: year > 0 ? 1 : 0,
    year: year > 0 ? year : 1 - year,
    month: date.getUTCMonth(),
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    millisecond: date.getUTCMilliseconds(),
  };
}

const minutesOf = (text) => {
  const [hours, minutes] = text.split(':');
  return Number(hours) * 60 + Number(minutes);
};

// The part of the day, such as `morning1`. Midnight, which some take for the end of a day, is told as ICU does: not at all.
function dayPeriod(state, fields) {
  const rules = root('time').periods;
  const rule = rules[state.data] ?? rules[maximal(state.data)[0]];
  const now = fields.hour * 60 + fields.minute;
  const precise = fields.minute === 0 && fields.second === 0;
  let found;
  for (const [name, { _at, _from, _before }] of Object.entries(rule ?? {})) {
    if (_at !== undefined) {
      if (precise && name === 'noon' && now === 720) return name;
      continue;
    }
    const [from, before] = [minutesOf(_from), minutesOf(_before)];
    if (from < before ? now >= from && now < before : now >= from || now < before) found = name;
  }
  return found ?? (fields.hour < 12 ? 'am' : 'pm');
}

const WIDTHS = { 4: 'wide', 5: 'narrow' };

const KINDS = {
  G: 'era', y: 'year', u: 'year', r: 'relatedYear', M: 'month', L: 'month', E: 'weekday', c: 'weekday', e: 'weekday', d: 'day',
  a: 'dayPeriod', b: 'dayPeriod', B: 'dayPeriod', h: 'hour', H: 'hour', k: 'hour', K: 'hour', m: 'minute', s: 'second',
  S: 'fractionalSecond', z: 'timeZoneName', v: 'timeZoneName', O: 'timeZoneName',
};

function fieldText(state, fields, letter, length, digits) {
  const date = state.dateData;
  const number = (value) => inSystem(String(value).padStart(length, '0'), digits);
  const width = WIDTHS[length] ?? 'abbreviated';
  switch (letter) {
    case 'G':
      return date.eras[length === 5 ? 2 : length === 4 ? 0 : 1][fields.era];
    case 'y':
      return length === 2 ? number(fields.year % 100) : number(fields.year);
    case 'u':
    case 'r':
      return number(fields.era ? fields.year : 1 - fields.year);
    case 'M':
    case 'L':
      if (length < 3) return number(fields.month + 1);
      return date.months[letter === 'M' ? 'format' : 'alone'][width][fields.month];
    case 'E':
    case 'c':
    case 'e':
      return date.days[letter === 'c' ? 'alone' : 'format'][width][fields.weekday];
    case 'd':
      return number(fields.day);
    case 'a':
      return date.periods[width][fields.hour < 12 ? 'am' : 'pm'];
    case 'b':
    case 'B': {
      const name = letter === 'B' ? dayPeriod(state, fields) : fields.hour < 12 ? 'am' : 'pm';
      return date.periods[width][name] ?? date.periods[width][fields.hour < 12 ? 'am' : 'pm'];
    }
    case 'h':
      return number(fields.hour % 12 || 12);
    case 'H':
      return number(fields.hour);
    case 'k':
      return number(fields.hour || 24);
    case 'K':
      return number(fields.hour % 12);
    case 'm':
      return number(fields.minute);
    case 's':
      return number(fields.second);
    case 'S':
      return inSystem(String(fields.millisecond).padStart(3, '0').padEnd(length, '0').slice(0, length), digits);
    default:
      return zoneText(state, state.timeZone, fields.time, zoneStyle(letter, length), digits);
  }
}

function zoneStyle(letter, length) {
  const width = length === 4 ? 'long' : 'short';
  if (letter === 'O') return `${width}Offset`;
  return letter === 'v' ? `${width}Generic` : width;
}

const patterns = new Map();
function tokensOf(pattern) {
  let known = patterns.get(pattern);
  if (!known) {
    if (patterns.size > 500) patterns.clear();
    patterns.set(pattern, (known = tokens(pattern)));
  }
  return known;
}

// `choose` gives for each place the fields, and a source for parts of a range.
function fill(state, pattern, choose) {
  const digits = digitsOf(state.numberingSystem);
  const parts = [];
  for (const [at, { text, letter, length }] of tokensOf(pattern).entries()) {
    const { fields, source } = choose(at);
    const type = text === undefined ? (KINDS[letter] ?? 'literal') : 'literal';
    // Other engines have a plain space for the narrow one of CLDR, which programs do not expect.
    const value = text?.replaceAll('\u202f', ' ') ?? fieldText(state, fields, letter, length, digits);
    const last = parts.at(-1);
    if (type === 'literal' && last?.type === 'literal' && last.source === source) last.value += value;
    else if (value !== '') parts.push(source ? { type, value, source } : { type, value });
  }
  return parts;
}

function formatParts(state, time) {
  const chosen = { fields: fieldsOf(time, state.timeZone), source: undefined };
  return fill(state, state.pattern, () => chosen);
}

// Letters of intervals, the largest first.
const DIFFERENCES = [
  ['G', 'era'],
  ['y', 'year'],
  ['M', 'month'],
  ['d', 'day'],
  ['a', (fields) => fields.hour < 12],
  ['h', 'hour'],
  ['m', 'minute'],
  ['s', 'second'],
  ['S', 'millisecond'],
];

function difference(one, other) {
  return DIFFERENCES.find(([, field]) => (typeof field === 'string' ? one[field] !== other[field] : field(one) !== field(other)))?.[0];
}

const SAME = { L: 'M', c: 'E', e: 'E', K: 'h', H: 'h', k: 'h' };

// For each place of an interval's pattern, which side it is of: fields that come twice and what is between them.
function sides(pattern) {
  const seen = new Map();
  const spans = [[Infinity, -1], [Infinity, -1]];
  for (const [at, { letter }] of tokensOf(pattern).entries()) {
    const field = letter && (SAME[letter] ?? letter);
    if (!field) continue;
    if (!seen.has(field)) {
      seen.set(field, at);
      continue;
    }
    for (const [side, place] of [seen.get(field), at].entries()) {
      spans[side] = [Math.min(spans[side][0], place), Math.max(spans[side][1], place)];
    }
  }
  return (at) => spans.findIndex(([first, last]) => at >= first && at <= last);
}

// Parts from one time to another: the locale's pattern for these fields and the largest that differs, else both in full.
function rangeParts(given, start, end) {
  const [one, other] = [fieldsOf(start, given.timeZone), fieldsOf(end, given.timeZone)];
  const mark = (parts, source) => parts.map((part) => ({ ...part, source }));
  const letter = difference(one, other);
  const state = letter ? given.wider(letter) : given;
  const first = formatParts(state, start);
  const second = formatParts(state, end);
  if (letter === undefined || join(first) === join(second)) return mark(first, 'shared');
  const interval = state.interval(letter);
  if (interval) {
    const side = sides(interval);
    const choices = { '-1': { fields: one, source: 'shared' }, 0: { fields: one, source: 'startRange' }, 1: { fields: other, source: 'endRange' } };
    return fill(state, interval, (at) => choices[side(at)]);
  }
  const between = (state.dateData.gregory.intervals.intervalFormatFallback ?? '{0} – {1}').split(/\{[01]\}/)[1];
  return [...mark(first, 'startRange'), { type: 'literal', value: between, source: 'shared' }, ...mark(second, 'endRange')];
}

module.exports = { formatParts, rangeParts };
