// Intl.Locale.
'use strict';
const { intl } = native;
const { root, maximal, dataLocale } = require('./data');
const {
  canonicalTag,
  localeTags,
  splitExtension,
  coerceOptions,
  getOption,
  getBooleanOption,
  getTypeOption,
  define,
  slots,
  invalid,
} = require('./options');
const { systemsOf } = require('./number');
const { allZones } = require('./zones');

const inside = slots('Locale');

const isLanguage = (text) => /^([a-z]{2,3}|[a-z]{5,8})$/i.test(text);
const isScript = (text) => /^[a-z]{4}$/i.test(text);
const isRegion = (text) => /^([a-z]{2}|\d{3})$/i.test(text);
const isVariant = (text) => /^([a-z0-9]{5,8}|\d[a-z0-9]{3})$/i.test(text);

// [language, script, region, variants, rest] of a tag, the rest with its extensions.
function split(tag) {
  const { base } = splitExtension(tag);
  const [language, ...parts] = base.split('-');
  const script = parts.length && isScript(parts[0]) ? parts.shift() : undefined;
  const region = parts.length && isRegion(parts[0]) ? parts.shift() : undefined;
  return { language, script, region, variants: parts, rest: tag.slice(base.length) };
}

function withOptions(tag, options) {
  const take = (name, valid) => {
    const value = getOption(options, name);
    if (value !== undefined && !valid(value)) throw invalid(value, name);
    return value;
  };
  const parts = split(tag);
  const language = take('language', isLanguage) ?? parts.language;
  const script = take('script', isScript) ?? parts.script;
  const region = take('region', isRegion) ?? parts.region;
  const given = options.variants;
  let { variants } = parts;
  if (given !== undefined) {
    const list = `${given}`.toLowerCase().split('-');
    if (!list.every(isVariant) || new Set(list).size !== list.length) throw invalid(given, 'variants');
    variants = list;
  }
  return canonicalTag([language, script, region, ...variants].filter(Boolean).join('-') + parts.rest);
}

// Keywords put into a tag.
function withKeywords(tag, wanted) {
  const { keywords } = splitExtension(tag);
  let changed = false;
  for (const [key, value] of Object.entries(wanted)) {
    if (value === undefined) continue;
    keywords.set(key, value === 'true' ? '' : value);
    changed = true;
  }
  if (!changed) return tag;
  const [body, ...privates] = tag.split(/-x-/);
  const attributes = /-u((?:-[a-z0-9]{3,8})*)/.exec(body)?.[1] ?? '';
  const before = body.replace(/-u(-[a-z0-9]{2,8})+/, '');
  const text = [...keywords].map(([key, value]) => (value ? `-${key}-${value}` : `-${key}`)).join('');
  const rest = privates.length ? `-x-${privates.join('-x-')}` : '';
  return canonicalTag(`${before}-u${attributes}${text}${rest}`);
}

function create(target, tag, givenOptions) {
  if (typeof tag !== 'string' && (typeof tag !== 'object' || tag === null)) {
    throw new TypeError('First argument to Intl.Locale constructor can\'t be empty or missing');
  }
  const text = localeTags.get(Object(tag)) ?? `${tag}`;
  const options = coerceOptions(givenOptions);
  const base = withOptions(canonicalTag(text), options);
  const wanted = {};
  wanted.ca = getTypeOption(options, 'calendar');
  wanted.co = getTypeOption(options, 'collation');
  let firstDay = getOption(options, 'firstDayOfWeek');
  if (firstDay !== undefined) {
    firstDay = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'][firstDay] ?? firstDay;
    if (!/^[a-z0-9]{3,8}(-[a-z0-9]{3,8})*$/i.test(firstDay)) throw invalid(firstDay, 'firstDayOfWeek');
  }
  wanted.fw = firstDay;
  wanted.hc = getOption(options, 'hourCycle', ['h11', 'h12', 'h23', 'h24']);
  wanted.kf = getOption(options, 'caseFirst', ['upper', 'lower', 'false']);
  const numeric = getBooleanOption(options, 'numeric', undefined);
  wanted.kn = numeric === undefined ? undefined : String(numeric);
  wanted.nu = getTypeOption(options, 'numberingSystem');
  const object = inside.create(target, undefined);
  const whole = withKeywords(base, wanted);
  inside.set(object, { tag: whole });
  localeTags.set(object, whole);
  return object;
}

const state = (object, name) => inside.of(object, name).tag;
const keyword = (object, name, key) => splitExtension(state(object, name)).keywords.get(key);
const DAYS = { mon: 1, tue: 2, wed: 3, thu: 4, fri: 5, sat: 6, sun: 7 };

const regionOf = (tag) => {
  const override = splitExtension(tag).keywords.get('rg');
  return override && /^[a-z]{2}zzzz$/.test(override) ? override.slice(0, 2).toUpperCase() : maximal(splitExtension(tag).base)[2];
};

// ICU4X knows no languages of more than three letters; nothing is likely of them.
const likely = (object, name) => intl(name, state(object, name)) ?? state(object, name);

const hourCycles = { h: 'h12', H: 'h23', K: 'h11', k: 'h24' };

const Locale = define(
  function Locale(tag, options = undefined) {
    if (new.target === undefined) throw new TypeError("Constructor Intl.Locale requires 'new'");
    return create(new.target, tag, options);
  },
  'Locale',
  {
    maximize() {
      return create(Locale, likely(this, 'maximize'));
    },
    minimize() {
      return create(Locale, likely(this, 'minimize'));
    },
    toString() {
      return state(this, 'toString');
    },
    get baseName() {
      return splitExtension(state(this, 'baseName')).base;
    },
    get calendar() {
      return keyword(this, 'calendar', 'ca');
    },
    get caseFirst() {
      return keyword(this, 'caseFirst', 'kf');
    },
    get collation() {
      return keyword(this, 'collation', 'co');
    },
    get firstDayOfWeek() {
      return keyword(this, 'firstDayOfWeek', 'fw');
    },
    get hourCycle() {
      return keyword(this, 'hourCycle', 'hc');
    },
    get numeric() {
      const value = keyword(this, 'numeric', 'kn');
      return value === '' || value === 'true';
    },
    get numberingSystem() {
      return keyword(this, 'numberingSystem', 'nu');
    },
    get language() {
      return split(state(this, 'language')).language;
    },
    get script() {
      return split(state(this, 'script')).script;
    },
    get region() {
      return split(state(this, 'region')).region;
    },
    get variants() {
      const { variants } = split(state(this, 'variants'));
      return variants.length ? variants.join('-') : undefined;
    },
    getCalendars() {
      const own = keyword(this, 'getCalendars', 'ca');
      const { calendars } = root('time');
      const region = regionOf(state(this, 'getCalendars'));
      const names = String(calendars[region] ?? calendars['001']).split(/[ ,]+/);
      return own ? [own] : names.map((name) => (name === 'gregorian' ? 'gregory' : name));
    },
    getCollations() {
      const own = keyword(this, 'getCollations', 'co');
      return own ? [own] : ['emoji', 'eor'];
    },
    getHourCycles() {
      const own = keyword(this, 'getHourCycles', 'hc');
      if (own) return [own];
      const tag = state(this, 'getHourCycles');
      const { hours } = root('time');
      const region = regionOf(tag);
      const [preferred] = hours[`${split(tag).language}-${region}`] ?? hours[region] ?? hours['001'];
      return [hourCycles[preferred[0]] ?? 'h23'];
    },
    getNumberingSystems() {
      const own = keyword(this, 'getNumberingSystems', 'nu');
      const data = dataLocale(splitExtension(state(this, 'getNumberingSystems')).base);
      return own ? [own] : [data ? systemsOf(data)[0] : 'latn'];
    },
    getTimeZones() {
      const { region } = split(state(this, 'getTimeZones'));
      if (region === undefined) return undefined;
      const { regions } = root('zone');
      return allZones().filter((name) => regions[name] === region);
    },
    getTextInfo() {
      const script = maximal(splitExtension(state(this, 'getTextInfo')).base)[1];
      return { direction: RIGHT_TO_LEFT.includes(script) ? 'rtl' : 'ltr' };
    },
    getWeekInfo() {
      const tag = state(this, 'getWeekInfo');
      const { week } = root('time');
      const region = regionOf(tag);
      const day = (table) => DAYS[table[region] ?? table['001']];
      const [start, end] = [day(week.start), day(week.end)];
      const weekend = [];
      for (let at = start; ; at = (at % 7) + 1) {
        weekend.push(at);
        if (at === end) break;
      }
      return { firstDay: DAYS[splitExtension(tag).keywords.get('fw')] ?? day(week.first), weekend: weekend.sort() };
    },
  },
);

const RIGHT_TO_LEFT = ['Arab', 'Hebr', 'Syrc', 'Thaa', 'Nkoo', 'Adlm', 'Rohg', 'Mand', 'Samr', 'Aran', 'Mend', 'Yezi'];

module.exports = { Locale };
