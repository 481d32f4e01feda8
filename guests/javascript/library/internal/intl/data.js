// The data of locales: parts of CLDR that are parsed when they are first asked for, and which locale has which.
'use strict';
const { intlData, intl } = native;

const { locales, parents } = JSON.parse(intlData(-1, 0));

function parentOf(locale) {
  if (Object.hasOwn(parents, locale)) return parents[locale];
  const end = locale.lastIndexOf('-');
  return end < 0 ? '' : locale.slice(0, end);
}

// What `changed` says over `old`.
function merge(old, changed) {
  if (changed === undefined) return old;
  if (typeof changed !== 'object' || changed === null || Array.isArray(changed)) return changed;
  if (typeof old !== 'object' || old === null || Array.isArray(old)) return changed;
  const merged = { ...old };
  for (const name of Object.keys(changed)) {
    if (changed[name] === null) delete merged[name];
    else merged[name] = merge(merged[name], changed[name]);
  }
  return merged;
}

const loaded = new Map();

// A part of a locale that `dataLocale` has found.
function load(part, locale) {
  const key = `${part} ${locale}`;
  const known = loaded.get(key);
  if (known) return known;
  const place = locales[locale]?.[part];
  const own = place && JSON.parse(intlData(place[0], place[1]));
  const parent = parentOf(locale);
  const value = parent && locale !== 'root' ? merge(load(part, parent), own) : (own ?? {});
  loaded.set(key, value);
  return value;
}

// What is of no locale: `number`, `time` and `zone`.
const root = (part) => load(part, 'root');

// [language, script, region] with what is likely.
const likely = new Map();
function maximal(tag) {
  let found = likely.get(tag);
  if (!found) {
    const parts = (intl('maximize', tag) ?? tag).split('-');
    const script = parts[1]?.length === 4 ? parts[1] : '';
    const region = parts[script ? 2 : 1];
    found = [parts[0], script, region && /^([A-Z]{2}|\d{3})$/.test(region) ? region : ''];
    if (likely.size > 500) likely.clear();
    likely.set(tag, found);
  }
  return found;
}

const has = (tag) => tag !== 'root' && Object.hasOwn(locales, tag);

// The locale whose data a tag without extensions takes; undefined: none.
const found = new Map();
function dataLocale(tag) {
  if (has(tag)) return tag;
  if (found.has(tag)) return found.get(tag);
  const [language, script, region] = maximal(tag);
  const result = [`${language}-${script}-${region}`, `${language}-${region}`, `${language}-${script}`, language].find(
    (each) => has(each) && maximal(each)[1] === script,
  );
  if (found.size > 500) found.clear();
  found.set(tag, result);
  return result;
}

// Whether there is data for a tag as it stands.
function isAvailable(tag) {
  if (has(tag)) return true;
  const parts = tag.split('-');
  if (parts.some((part, at) => at > 0 && !/^([A-Z][a-z]{3}|[A-Z]{2}|\d{3})$/.test(part))) return false;
  const from = dataLocale(tag);
  if (from === undefined) return false;
  const [one, other] = [maximal(from), maximal(tag)];
  return one[0] === other[0] && one[1] === other[1] && one[2] === other[2];
}

function bestAvailable(tag) {
  for (let candidate = tag; candidate; ) {
    if (isAvailable(candidate)) return candidate;
    let end = candidate.lastIndexOf('-');
    if (end >= 2 && candidate[end - 2] === '-') end -= 2;
    candidate = end < 0 ? '' : candidate.slice(0, end);
  }
  return undefined;
}

const tags = () => Object.keys(locales).filter((tag) => tag !== 'root');

module.exports = { load, root, maximal, dataLocale, bestAvailable, tags };
