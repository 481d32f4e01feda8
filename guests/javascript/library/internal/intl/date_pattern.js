// Which pattern of a locale fits the fields that are asked for: the algorithm of UTS 35 ("Matching Skeletons") in the form that ICU
// has given it, so that the same fields give the same pattern.
'use strict';

// Fields in their order; `types` has for each letter [letters from, to, kind], a positive kind being a number.
const ERA = 0, YEAR = 1, MONTH = 2, WEEKDAY = 3, DAY = 4, PERIOD = 5, HOUR = 6, MINUTE = 7, SECOND = 8, FRACTION = 9, ZONE = 10;
const COUNT = 11;
const DATE_FIELDS = (1 << PERIOD) - 1;
const NUMBER = 0x100, NARROW = -0x101, SHORTER = -0x102, SHORT = -0x103, LONG = -0x104, STEP = 0x10;
const EXTRA = 0x10000, MISSING = 0x1000;

const TYPES = {
  G: [ERA, [1, 3, SHORT], [4, 4, LONG], [5, 5, NARROW]],
  y: [YEAR, [1, 20, NUMBER]],
  u: [YEAR, [1, 20, NUMBER + 2 * STEP]],
  r: [YEAR, [1, 20, NUMBER + 3 * STEP]],
  U: [YEAR, [1, 3, SHORT], [4, 4, LONG], [5, 5, NARROW]],
  M: [MONTH, [1, 2, NUMBER], [3, 3, SHORT], [4, 4, LONG], [5, 5, NARROW]],
  L: [MONTH, [1, 2, NUMBER + STEP], [3, 3, SHORT - STEP], [4, 4, LONG - STEP], [5, 5, NARROW - STEP]],
  E: [WEEKDAY, [1, 3, SHORT], [4, 4, LONG], [5, 5, NARROW], [6, 6, SHORTER]],
  c: [WEEKDAY, [1, 2, NUMBER + 2 * STEP], [3, 3, SHORT - 2 * STEP], [4, 4, LONG - 2 * STEP], [5, 5, NARROW - 2 * STEP]],
  e: [WEEKDAY, [1, 2, NUMBER + STEP], [3, 3, SHORT - STEP], [4, 4, LONG - STEP], [5, 5, NARROW - STEP]],
  d: [DAY, [1, 2, NUMBER]],
  a: [PERIOD, [1, 3, SHORT], [4, 4, LONG], [5, 5, NARROW]],
  b: [PERIOD, [1, 3, SHORT - STEP], [4, 4, LONG - STEP], [5, 5, NARROW - STEP]],
  B: [PERIOD, [1, 3, SHORT - 3 * STEP], [4, 4, LONG - 3 * STEP], [5, 5, NARROW - 3 * STEP]],
  H: [HOUR, [1, 2, NUMBER + 10 * STEP]],
  k: [HOUR, [1, 2, NUMBER + 11 * STEP]],
  h: [HOUR, [1, 2, NUMBER]],
  K: [HOUR, [1, 2, NUMBER + STEP]],
  m: [MINUTE, [1, 2, NUMBER]],
  s: [SECOND, [1, 2, NUMBER]],
  S: [FRACTION, [1, 1000, NUMBER]],
  v: [ZONE, [1, 1, SHORT - 2 * STEP], [4, 4, LONG - 2 * STEP]],
  z: [ZONE, [1, 3, SHORT], [4, 4, LONG]],
  O: [ZONE, [1, 1, SHORT - STEP], [4, 4, LONG - STEP]],
};

// [[letters, isText]] of a pattern.
function tokens(pattern) {
  const found = [];
  let text = '';
  for (let at = 0; at < pattern.length; ) {
    const char = pattern[at];
    if (char === "'") {
      const end = pattern.indexOf("'", at + 1);
      text += end === at + 1 ? "'" : pattern.slice(at + 1, end < 0 ? pattern.length : end);
      at = end < 0 ? pattern.length : end + 1;
    } else if (/[A-Za-z]/.test(char)) {
      let end = at + 1;
      while (pattern[end] === char) end++;
      if (text) found.push({ text });
      text = '';
      found.push({ letter: char, length: end - at });
      at = end;
    } else {
      text += char;
      at++;
    }
  }
  if (text) found.push({ text });
  return found;
}

// What a skeleton or a pattern asks for, by field: letter, length and kind.
function fieldsOf(pattern) {
  const fields = new Array(COUNT).fill(undefined);
  let mask = 0;
  for (const { letter, length } of tokens(pattern)) {
    const row = TYPES[letter];
    if (!row) continue;
    const type = row.slice(1).find(([least, most]) => length >= least && length <= most) ?? row.at(-1);
    const kind = type[2] > 0 ? type[2] + length : type[2];
    fields[row[0]] ??= { letter, length, kind };
    mask |= 1 << row[0];
  }
  // Hours up to twelve come with a part of the day.
  const hour = fields[HOUR]?.letter;
  if ((hour === 'h' || hour === 'K') && !fields[PERIOD]) {
    fields[PERIOD] = { letter: 'a', length: 1, kind: SHORT, added: true };
    mask |= 1 << PERIOD;
  } else if (hour && hour !== 'h' && hour !== 'K' && fields[PERIOD]?.letter === 'a') {
    fields[PERIOD] = undefined;
    mask &= ~(1 << PERIOD);
  }
  return { fields, mask };
}

// All patterns of a calendar of a locale.
function generator(source) {
  const entries = new Map();
  const canonical = (fields) => fields.map((field) => (field && !field.added ? field.letter.repeat(field.letter === 'y' && field.length !== 2 ? 1 : field.length) : '')).join('');
  const add = (skeleton, pattern, specified) => {
    const { fields, mask } = fieldsOf(skeleton);
    const key = canonical(fields);
    if (!entries.has(key) || specified) entries.set(key, { fields, mask, pattern, specified });
  };
  for (const letter of 'GyMEdaHmsSv') add(letter, letter, false);
  for (const pattern of [...source.date.slice(0, 3), ...(source.time ?? [])]) add(pattern, pattern, false);
  for (const [skeleton, pattern] of Object.entries(source.skeletons)) add(skeleton, pattern, true);
  return { ...source, entries: [...entries.values()] };
}

function nearest(made, wanted, include) {
  let best;
  let bestDistance = Infinity;
  let bestMissing = 0;
  for (const entry of made.entries) {
    let distance = 0;
    let missing = 0;
    for (let at = 0; at < COUNT; at++) {
      const mine = include & (1 << at) ? (wanted.fields[at]?.kind ?? 0) : 0;
      const other = entry.fields[at]?.kind ?? 0;
      if (mine === other) continue;
      if (mine === 0) distance += EXTRA;
      else if (other === 0) {
        distance += MISSING;
        missing |= 1 << at;
      } else distance += Math.abs(mine - other);
    }
    if (distance < bestDistance || (distance === bestDistance && bestMissing < missing)) {
      bestDistance = distance;
      bestMissing = missing;
      best = entry;
      if (distance === 0) break;
    }
  }
  return { entry: best, missing: bestMissing, extra: bestDistance >= EXTRA };
}

const quote = (text) => (/[A-Za-z']/.test(text) ? `'${text.replaceAll("'", "''")}'` : text);

// The pattern with the widths that were asked for.
function adjust(entry, wanted, fraction, decimal) {
  let made = '';
  for (const { text, letter, length } of tokens(entry.pattern)) {
    if (text !== undefined) {
      made += quote(text);
      continue;
    }
    const row = TYPES[letter];
    const asked = row && wanted.fields[row[0]];
    if (!row) {
      made += letter.repeat(length);
      continue;
    }
    const field = row[0];
    let one = letter.repeat(length);
    if (field === SECOND && fraction) one += decimal + 'S'.repeat(wanted.fields[FRACTION].length);
    else if (asked) {
      let askedLength = asked.length;
      if (asked.letter === 'E' && askedLength < 3) askedLength = 3;
      let result = askedLength;
      if (field === MINUTE || field === SECOND) result = length;
      else if (entry.specified && asked.letter !== 'c' && asked.letter !== 'e') {
        const skeleton = entry.fields[field];
        const isNumber = row.slice(1).find(([least, most]) => length >= least && length <= most)?.[2] > 0;
        const skeletonIsNumber = (skeleton?.kind ?? 0) > 0;
        if ((skeleton?.length ?? 0) === askedLength || isNumber !== skeletonIsNumber) result = length;
      }
      const keeps = field === HOUR || field === MONTH || field === WEEKDAY || field === YEAR;
      let char = keeps ? letter : asked.letter;
      if (field === HOUR) char = asked.letter;
      one = char.repeat(result);
    }
    made += one;
  }
  return made;
}

const APPENDED = [ERA, YEAR, MONTH, WEEKDAY, DAY, HOUR, MINUTE, SECOND, ZONE];

function appending(made, wanted, needed, decimal) {
  if (!needed) return undefined;
  const first = nearest(made, wanted, needed);
  let result = adjust(first.entry, wanted, false, decimal);
  let { missing } = first;
  while (missing) {
    const both = (1 << SECOND) | (1 << FRACTION);
    if ((missing & both) === 1 << FRACTION && (needed & both) === both) {
      result = adjust({ ...first.entry, pattern: result }, wanted, true, decimal);
      missing &= ~(1 << FRACTION);
      continue;
    }
    const next = nearest(made, wanted, missing);
    const added = adjust(next.entry, wanted, false, decimal);
    const found = missing & ~next.missing;
    if (!found) break;
    const top = 31 - Math.clz32(found);
    const at = APPENDED.indexOf(top);
    const pattern = (at >= 0 && made.appended?.[at]) || "{0} \u251c{2}: {1}\u2524";
    const name = top === FRACTION ? 'F14' : (made.names?.[at] ?? '');
    const before = result;
    result = pattern.replace(/\{(\d)\}/g, (_, index) => [before, added, quote(name)][index]);
    missing = next.missing;
  }
  return result;
}

// The pattern for a skeleton.
function bestPattern(made, skeleton, decimal) {
  const wanted = fieldsOf(skeleton);
  const { fields } = wanted;
  if (fields[FRACTION] && !fields[SECOND] && (fields[HOUR] || fields[MINUTE]) && fields[MINUTE]) {
    fields[SECOND] = { letter: 's', length: 1, kind: NUMBER + 1 };
    wanted.mask |= 1 << SECOND;
  }
  const whole = nearest(made, wanted, -1);
  if (!whole.missing && !whole.extra) return adjust(whole.entry, wanted, false, decimal);
  const date = appending(made, wanted, wanted.mask & DATE_FIELDS, decimal);
  const time = appending(made, wanted, wanted.mask & ~DATE_FIELDS, decimal);
  if (date === undefined) return time ?? '';
  if (time === undefined) return date;
  const month = fields[MONTH]?.length ?? 0;
  const style = month === 4 ? (fields[WEEKDAY] ? 0 : 1) : month === 3 ? 2 : 3;
  return made.both[style].replace(/\{(\d)\}/g, (_, index) => (index === '0' ? time : date));
}

module.exports = { tokens, fieldsOf, generator, bestPattern, nearest, adjust };
