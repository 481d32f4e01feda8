// What a number looks like: CLDR's patterns, filled in.
'use strict';
const { intl } = native;
const { load, root } = require('./data');
const { shift, round, write, isZero } = require('./decimal');

// Literals that follow each other are one.
function joined(parts) {
  const made = [];
  for (const part of parts) {
    const last = made.at(-1);
    if (part.type === 'literal' && last?.type === 'literal') made[made.length - 1] = { type: 'literal', value: last.value + part.value };
    else made.push(part);
  }
  return made;
}

const join = (parts) => {
  let text = '';
  for (const part of parts) text += part.value;
  return text;
};

// The digits of a numbering system; none: those of ASCII.
const written = new Map();
function digitsOf(system) {
  if (system === 'latn') return undefined;
  if (!written.has(system)) written.set(system, Array.from(root('number').systems[system] ?? '0123456789'));
  return written.get(system);
}

const inSystem = (text, digits) => (digits ? text.replace(/\d/g, (digit) => digits[digit]) : text);

const HOMES = { arab: 'ar', arabext: 'fa' };

// The patterns and symbols of a formatter.
function forSystem(state) {
  state.patterns ??= patternsOf(state);
  return state.patterns;
}

function patternsOf(state) {
  const number = load('number', state.data);
  const { systems } = number;
  const own = systems[state.numberingSystem] ?? systems.latn ?? systems[number.system];
  // Symbols of Arabic digits are those of the locale that they are at home in.
  const home = !systems[state.numberingSystem] && HOMES[state.numberingSystem];
  const symbols = home ? { ...load('number', home).systems[state.numberingSystem].symbols, nan: 'NaN' } : own.symbols;
  return { ...systems.latn, ...own, symbols, least: number.least };
}

const PATTERN_NUMBER = /(?:[#0@]|[,.](?=[#0]))+(?:E\+?0+)?/;

// [before, number, after] of a pattern without its negative form; what is quoted keeps U+E000 for a quoted character.
function affixes(pattern) {
  const match = PATTERN_NUMBER.exec(pattern);
  return match ? [pattern.slice(0, match.index), match[0], pattern.slice(match.index + match[0].length)] : [pattern, '', ''];
}

// Sizes of the first group and of the others.
function groupSizes(pattern) {
  const parts = pattern.replace(/\..*/, '').split(',');
  if (parts.length < 2) return [0, 0];
  const first = parts.at(-1).length;
  return [first, parts.length > 2 ? parts.at(-2).length : first];
}

function grouped(digits, sizes, least) {
  const [first, others] = sizes;
  if (!first || digits.length < first + least) return [digits];
  const groups = [digits.slice(-first)];
  let end = digits.length - first;
  for (; end > others; end -= others) groups.push(digits.slice(end - others, end));
  if (end > 0) groups.push(digits.slice(0, end));
  return groups.reverse();
}

// A number by the options for digits. Tells how many digits after the point there have to be.
function roundBySignificant(state, value) {
  const rounded = value.digits === '' ? value : round(value, state.maximumSignificantDigits - value.point, state.roundingMode);
  const least = Math.max(state.minimumSignificantDigits - (rounded.digits === '' ? 1 : rounded.point), 0);
  return { value: rounded, least, magnitude: state.maximumSignificantDigits - value.point };
}

function roundByFraction(state, value) {
  const { maximumFractionDigits: most, roundingMode, roundingIncrement } = state;
  return { value: round(value, most, roundingMode, roundingIncrement), least: state.minimumFractionDigits, magnitude: most };
}

function rounded(state, value) {
  if (value.special) return { value, least: 0 };
  let result;
  if (state.rounding === 'significantDigits') result = roundBySignificant(state, value);
  else if (state.rounding === 'fractionDigits') result = roundByFraction(state, value);
  else {
    const significant = roundBySignificant(state, value);
    const fraction = roundByFraction(state, value);
    const finer = significant.magnitude >= fraction.magnitude;
    result = finer === (state.rounding === 'morePrecision') ? significant : fraction;
  }
  if (state.trailingZeroDisplay === 'stripIfInteger' && result.value.point >= result.value.digits.length) result.least = 0;
  return result;
}

// The plural category of a number as it is shown.
function category(state, value, least, exponent = 0) {
  if (value.special) return 'other';
  const [whole, fraction] = write(value, least);
  const text = fraction ? `${whole}.${fraction}` : whole;
  return intl('plural', state.data, 'cardinal', exponent ? `${text}c${exponent}` : text);
}

const pick = (patterns, name) => (typeof patterns === 'string' ? patterns : (patterns?.[name] ?? patterns?.other ?? ''));

function currencyNames(state) {
  return load('currency', state.data)[state.currency] ?? [];
}

function currencySymbol(state) {
  const [symbol, narrow] = currencyNames(state);
  if (state.currencyDisplay === 'code') return state.currency;
  if (state.currencyDisplay === 'narrowSymbol' && narrow) return narrow;
  return symbol || state.currency;
}

// The patterns of compact notation that apply, by size.
function compactPatterns(state, system) {
  if (state.style === 'currency' && state.currencyDisplay !== 'name') {
    const alpha = system.shortCurrencyAlpha && /\p{L}$/u.test(currencySymbol(state));
    return (alpha && { ...system.shortCurrency, ...system.shortCurrencyAlpha }) || system.shortCurrency || system.short;
  }
  return state.compactDisplay === 'long' ? system.long : system.short;
}

// By how many digits a number of this size is cut, and the pattern for what is left.
function compactStep(patterns, size) {
  if (!patterns) return { by: 0, found: undefined };
  const at = Math.min(size, Math.max(...Object.keys(patterns).map(Number)));
  const found = size < 3 ? undefined : patterns[at];
  if (!found) return { by: 0, found: undefined };
  const zeros = /0+/.exec(pick(found, 'other').replace(/'[^']*'/g, ''))?.[0].length ?? 1;
  const plain = /^0+$/.test(pick(found, 'other'));
  return plain ? { by: 0, found: undefined } : { by: at + 1 - zeros, found };
}

function scale(state, system, given) {
  if (given.special) return { ...rounded(state, given), by: 0 };
  const value = state.style === 'percent' ? shift(given, 2) : given;
  if (state.notation === 'standard') return { ...rounded(state, value), by: 0 };
  const patterns = state.notation === 'compact' ? compactPatterns(state, system) : undefined;
  const step = (size) => {
    if (state.notation === 'compact') return compactStep(patterns, size);
    return { by: state.notation === 'engineering' ? Math.floor(size / 3) * 3 : size };
  };
  const size = (one) => (one.digits === '' ? 0 : one.point - 1);
  let { by, found } = step(size(value));
  let result = rounded(state, shift(value, -by));
  const grown = step(size(result.value) + by);
  if (result.value.digits !== '' && grown.by !== by) {
    ({ by, found } = grown);
    result = rounded(state, shift(value, -by));
  } else if (state.notation === 'compact') found = grown.found ?? found;
  return { ...result, by, found };
}

// Parts of the digits.
function digitParts(state, system, value, least, sizes, digits) {
  const { symbols } = system;
  if (value.special === 'nan') return [{ type: 'nan', value: symbols.nan ?? 'NaN' }];
  if (value.special) return [{ type: 'infinity', value: symbols.infinity ?? '∞' }];
  const currency = state.style === 'currency';
  const [whole, fraction] = write(value, least);
  const padded = whole.padStart(state.minimumIntegerDigits, '0');
  const parts = [];
  const separator = (currency && symbols.currencyGroup) || symbols.group;
  const fewest = { always: 1, auto: system.least, min2: Math.max(system.least, 2) }[state.useGrouping];
  const groups = fewest === undefined ? [padded] : grouped(padded, sizes, fewest);
  for (const group of groups) {
    if (parts.length) parts.push({ type: 'group', value: separator });
    parts.push({ type: 'integer', value: inSystem(group, digits) });
  }
  if (fraction) {
    parts.push({ type: 'decimal', value: (currency && symbols.currencyDecimal) || symbols.decimal });
    parts.push({ type: 'fraction', value: inSystem(fraction, digits) });
  }
  return parts;
}

function exponentParts(system, by, digits) {
  const { symbols } = system;
  const parts = [{ type: 'exponentSeparator', value: symbols.exponential }];
  if (by < 0) {
    for (const part of symbolParts('minusSign', symbols)) {
      parts.push(part.type === 'literal' ? part : { type: 'exponentMinusSign', value: part.value });
    }
  }
  parts.push({ type: 'exponentInteger', value: inSystem(String(Math.abs(by)), digits) });
  return parts;
}

// What sign is shown: '-', '+' or none.
function signOf(state, value) {
  const zero = isZero(value);
  switch (state.signDisplay) {
    case 'never':
      return '';
    case 'always':
      return value.negative ? '-' : '+';
    case 'exceptZero':
      return zero || value.special === 'nan' ? '' : value.negative ? '-' : '+';
    case 'negative':
      return value.negative && !zero ? '-' : '';
    default:
      return value.negative ? '-' : '';
  }
}

// A symbol, its marks of direction apart.
function symbolParts(type, symbols) {
  return (symbols[type].match(/[\u061c\u200e\u200f]+|[^\u061c\u200e\u200f]+/g) ?? []).map((value) => ({
    type: /^[\u061c\u200e\u200f]/.test(value) ? 'literal' : type,
    value,
  }));
}

// Text of a pattern as parts; `kind` is that of its words.
function affixParts(text, state, system, sign, kind) {
  const { symbols } = system;
  const parts = [];
  let literal = '';
  const flush = () => {
    if (!literal) return;
    if (kind === 'literal') parts.push({ type: 'literal', value: literal });
    else {
      const [, before, word, after] = /^([\s\u061c\u200e\u200f]*)(.*?)([\s\u061c\u200e\u200f]*)$/su.exec(literal);
      if (before) parts.push({ type: 'literal', value: before });
      if (word) parts.push({ type: kind, value: word });
      if (after) parts.push({ type: 'literal', value: after });
    }
    literal = '';
  };
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === "'") {
      const end = text.indexOf("'", at + 1);
      literal += end === at + 1 ? "'" : text.slice(at + 1, end < 0 ? text.length : end);
      at = end < 0 ? text.length : end;
    } else if (char === '-' || char === '+') {
      flush();
      const minus = char === '-' && sign !== '+';
      parts.push(...symbolParts(minus ? 'minusSign' : 'plusSign', symbols));
    } else if (char === '%') {
      flush();
      parts.push(...symbolParts('percentSign', symbols));
    } else if (char === '¤') {
      flush();
      parts.push({ type: 'currency', value: currencySymbol(state) });
    } else literal += char;
  }
  flush();
  return parts;
}

// A pattern of the locale for a sign: [before, sizes of groups, after].
function signed(pattern, sign) {
  const [positive, negative] = pattern.split(';');
  const [before, number, after] = affixes(positive);
  const sizes = groupSizes(number);
  if (!sign) return [before, sizes, after];
  if (negative === undefined) return [`-${before}`, sizes, after];
  const [negativeBefore, , negativeAfter] = affixes(negative);
  if (sign === '+' && !`${negativeBefore}${negativeAfter}`.includes('-')) return [`-${before}`, sizes, after];
  return [negativeBefore, sizes, negativeAfter];
}

// A currency that ends in a letter, or begins with one, is kept apart from the digits.
function spaced(parts, side, system) {
  const at = side === 'before' ? parts.length - 1 : 0;
  const part = parts[at];
  if (part?.type !== 'currency') return;
  const edge = side === 'before' ? part.value.at(-1) : part.value[0];
  if (/[\p{S}\p{Z}]/u.test(edge)) return;
  const space = { type: 'literal', value: (side === 'before' ? system.after : system.before) ?? '\u00a0' };
  if (side === 'before') parts.push(space);
  else parts.unshift(space);
}

function standardPattern(state, system) {
  if (state.style === 'percent') return system.percent;
  if (state.style !== 'currency' || state.currencyDisplay === 'name') return system.decimal;
  const accounting = state.currencySign === 'accounting';
  return accounting ? system.accounting : system.currency;
}

// `{0}` of a pattern replaced by parts, the rest being of one kind.
function inside(pattern, parts, kind, state, system) {
  const at = pattern.indexOf('{0}');
  if (at < 0) return affixParts(pattern, state, system, '', kind);
  return [
    ...affixParts(pattern.slice(0, at), state, system, '', kind),
    ...parts,
    ...affixParts(pattern.slice(at + 3), state, system, '', kind),
  ];
}

// The pattern of a unit that is one by another.
function unitPattern(state, name) {
  const units = load('unit', state.data)[state.unitDisplay];
  const known = units[state.unit];
  if (known) return pick(known[0], name);
  const [unit, below] = state.unit.split('-per-');
  const first = pick(units[unit][0], name);
  const [patterns, per] = units[below];
  if (per) return per.replace('{0}', () => first);
  const second = pick(patterns, 'one').replace('{0}', '').trim();
  return units.per.replace('{0}', () => first).replace('{1}', () => second);
}

function unitParts(state, system, parts, name) {
  if (state.unit === 'percent' && state.unitDisplay !== 'long' && state.notation !== 'compact') {
    const [before, , after] = affixes(system.percent);
    const sign = (text) => affixParts(text, state, system, '', 'literal').map((part) => (part.type === 'percentSign' ? { ...part, type: 'unit' } : part));
    return [...sign(before), ...parts, ...sign(after)];
  }
  const pattern = unitPattern(state, name);
  const made = [];
  // A percent sign in a unit is one of the unit.
  for (const part of inside(pattern.replaceAll('%', '\ue000').replace(/[-+]/g, "'$&'"), parts, 'unit', state, system)) {
    made.push(part.type === 'unit' ? { type: 'unit', value: part.value.replaceAll('\ue000', '%') } : part);
  }
  return made;
}

const isOne = (value) => value.digits === '1' && value.point === 1;

// One has a pattern of its own in a few languages, which says it in words.
function compactPattern(state, { found, value, least }) {
  if (isOne(value) && typeof found === 'object' && found['1']) return found['1'];
  return pick(found, category(state, value, least));
}

function formatParts(state, value) {
  const system = forSystem(state);
  const digits = digitsOf(state.numberingSystem);
  const made = scale(state, system, value);
  const sign = signOf(state, made.value);
  const named = state.style === 'currency' && state.currencyDisplay === 'name';
  const standard = signed(standardPattern(state, system), sign);
  let [before, sizes, after] = standard;
  let kind = 'literal';
  const count = () => category(state, made.value, made.least, state.notation === 'compact' ? made.by : 0);
  if (made.found) {
    const [first, , last] = signed(compactPattern(state, made), sign);
    [before, after, kind] = [first, last, 'compact'];
    // What a currency in brackets is, it stays.
    if (sign && state.currencySign === 'accounting' && standard[0].includes('(')) [before, after] = [`(${first.replace('-', '')}`, `${last})`];
    if (state.style === 'percent') after += affixes(system.percent)[2];
  } else if (state.notation === 'compact' && state.style === 'currency' && !named) [before, , after] = standard;
  if (sign === '+' && !before.includes('-') && !after.includes('-')) before = `-${before}`;
  const first = affixParts(before, state, system, sign, kind);
  const last = affixParts(after, state, system, sign, kind);
  if (state.style === 'currency' && !named && !made.value.special) {
    spaced(first, 'before', system);
    spaced(last, 'after', system);
  }
  const inWords = made.found && !PATTERN_NUMBER.test(compactPattern(state, made));
  const middle = inWords ? [] : digitParts(state, system, made.value, made.least, sizes, digits);
  if ((state.notation === 'scientific' || state.notation === 'engineering') && !made.value.special) {
    middle.push(...exponentParts(system, made.by, digits));
  }
  const parts = [...first, ...middle, ...last];
  if (named) {
    const names = currencyNames(state);
    const name = pick(names[3] || names[2] || state.currency, count());
    const pattern = pick(system.named, count()) || '{0} {1}';
    const [head, tail] = pattern.split('{0}');
    const around = (text) =>
      text.split(/(\{1\})/).flatMap((piece) => (piece === '{1}' ? [{ type: 'currency', value: name }] : piece ? [{ type: 'literal', value: piece }] : []));
    return joined([...around(head), ...parts, ...around(tail)]);
  }
  if (state.style === 'unit') return joined(unitParts(state, system, parts, count()));
  return joined(parts);
}

const isDigit = (part) => /^(integer|group|decimal|fraction|nan|infinity|exponent.*)$/.test(part.type);
const isSign = (part) => part.type === 'minusSign' || part.type === 'plusSign';

// What stands before and after the digits.
function around(parts) {
  const first = parts.findIndex(isDigit);
  const last = parts.findLastIndex(isDigit);
  return [parts.slice(0, first), parts.slice(first, last + 1), parts.slice(last + 1)];
}

// Parts of `from` to `to`. As ICU does, what surrounds both numbers alike is written once if it is more than one character.
function rangeParts(state, from, to) {
  const system = forSystem(state);
  const [one, two] = [formatParts(state, from), formatParts(state, to)];
  const shared = (part) => ({ ...part, source: 'shared' });
  if (join(one) === join(two)) {
    return [{ type: 'approximatelySign', value: system.approximatelySign ?? '~' }, ...one].map(shared);
  }
  const [before, digits, after] = around(one);
  const [otherBefore, otherDigits, otherAfter] = around(two);
  const [, left, between, right] = /^(.*?)\{0\}(.*)\{1\}(.*)$/s.exec(system.range ?? '{0}–{1}');
  const literal = (value) => (value ? [{ type: 'literal', value, source: 'shared' }] : []);
  const from1 = (part) => ({ ...part, source: 'startRange' });
  const to1 = (part) => ({ ...part, source: 'endRange' });
  const outside = join([...before, ...after]);
  const isUnit = state.style === 'unit' || state.currencyDisplay === 'name';
  const alike = isUnit
    ? ![...before, ...otherBefore].some(isSign)
    : outside === join([...otherBefore, ...otherAfter]) && Array.from(outside).length > 1 && state.notation !== 'compact';
  if (alike) {
    const middle = [...literal(left), ...digits.map(from1), ...literal(between), ...otherDigits.map(to1), ...literal(right)];
    return [...otherBefore.map(shared), ...middle, ...otherAfter.map(shared)];
  }
  const bare = !outside && !otherBefore.length && !otherAfter.length;
  const space = bare || /^\s|\s$/.test(between) ? between : ` ${between} `;
  return [...literal(left), ...one.map(from1), ...literal(space), ...two.map(to1), ...literal(right)];
}

module.exports = { formatParts, rangeParts, join, rounded, category, digitsOf, inSystem, forSystem };
