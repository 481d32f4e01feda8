// What all parts of `Intl` do with locales and options, as ECMA-402 words it.
'use strict';
const { intl } = native;
const { dataLocale, bestAvailable, root } = require('./data');

const DEFAULT_LOCALE = 'en-US';
const LONGEST_TAG = 1000;

function canonicalTag(tag) {
  // What long tags say is of no use; reading them costs time.
  const valid = tag.length <= LONGEST_TAG && !tag.includes('_') && /^[\x00-\x7f]*$/.test(tag);
  // ICU4X knows no languages of more than three letters, of which there are none.
  const long = /^[a-z]{5,8}(?=-|$)/i.exec(tag)?.[0];
  const canonical = valid ? intl('canonicalize', long ? `und${tag.slice(long.length)}` : tag) : undefined;
  if (canonical === undefined) throw new RangeError(`Incorrect locale information provided: ${tag.slice(0, 100)}`);
  const renamed = /-[ut]-/.test(canonical) ? withNewNames(canonical) : canonical;
  return long ? long.toLowerCase() + renamed.slice(3) : renamed;
}

// Values of keywords that have a newer name.
function withNewNames(tag) {
  const names = root('tag');
  const [body, ...rest] = tag.split('-x-');
  const renamed = body.replace(/-([a-z0-9]{2}|[a-z]\d)((?:-[a-z0-9]{3,8})+)/g, (whole, key, values) => {
    const value = values.slice(1);
    const found = names[key]?.[value] ?? (value === 'yes' && names.yes.includes(key) ? 'true' : value);
    return found === 'true' && !/\d$/.test(key) ? `-${key}` : `-${key}-${found}`;
  });
  return [renamed, ...rest].join('-x-');
}

// To a list that may have been made another one's.
const append = (list, value) =>
  Object.defineProperty(list, list.length, { __proto__: null, value, writable: true, enumerable: true, configurable: true });

// Told by locale.js, which knows its objects.
const localeTags = new WeakMap();

function canonicalizeLocaleList(locales) {
  if (locales === undefined) return [];
  const seen = [];
  const known = new Set();
  const isOne = typeof locales === 'string' || localeTags.has(Object(locales));
  const source = isOne ? [locales] : Object(locales);
  if (locales === null) throw new TypeError('Cannot convert undefined or null to object');
  const length = isOne ? 1 : Math.min(Math.max(Math.trunc(Number(source.length)) || 0, 0), Number.MAX_SAFE_INTEGER);
  for (let at = 0; at < length; at++) {
    if (!(at in source)) continue;
    const value = source[at];
    if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) {
      if (typeof value !== 'function') throw new TypeError('Language ID should be string or object.');
    }
    const tag = localeTags.get(Object(value)) ?? canonicalTag(`${value}`);
    if (known.has(tag)) continue;
    known.add(tag);
    append(seen, tag);
  }
  return seen;
}

// The keywords of a Unicode extension, and the tag without any extension.
function splitExtension(tag) {
  const keywords = new Map();
  const start = /-(?:[a-wyz0-9]-|x-)/i.exec(tag);
  const base = start ? tag.slice(0, start.index) : tag;
  const extension = /-u-((?:[a-z0-9]{2,8}(?:-|$))+)/.exec(tag.split('-x-')[0])?.[1];
  let key = null;
  for (const part of extension ? extension.replace(/-$/, '').split('-') : []) {
    if (part.length === 2) {
      key = part;
      if (!keywords.has(key)) keywords.set(key, '');
    } else if (key !== null) {
      const before = keywords.get(key);
      keywords.set(key, before ? `${before}-${part}` : part);
    }
  }
  return { base, keywords };
}

// `keys`: for each keyword, a function of the data's locale that gives the values, the default first; `null` among them is no value.
function resolveLocale(requested, keys = {}, options = {}) {
  let base = DEFAULT_LOCALE;
  let keywords = new Map();
  for (const tag of requested) {
    const split = splitExtension(tag);
    const available = bestAvailable(split.base);
    if (available === undefined) continue;
    base = available;
    keywords = split.keywords;
    break;
  }
  const data = dataLocale(base);
  const result = { __proto__: null, base, data };
  let supported = '';
  for (const key of Object.keys(keys)) {
    const values = keys[key](data, base);
    let value = values[0];
    let addition = '';
    if (keywords.has(key)) {
      let wanted = keywords.get(key);
      if (wanted === '' && values.includes('true')) wanted = 'true';
      if (values.includes(wanted)) {
        value = wanted;
        addition = wanted === 'true' ? `-${key}` : `-${key}-${wanted}`;
      }
    }
    const option = options[key];
    if (option !== undefined && values.includes(option) && option !== value) {
      value = option;
      addition = '';
    }
    result[key] = value;
    supported += addition;
  }
  result.locale = supported ? `${base}-u${supported}` : base;
  return result;
}

function coerceOptions(options) {
  if (options === undefined) return { __proto__: null };
  if (options === null) throw new TypeError('Cannot convert undefined or null to object');
  return Object(options);
}

function getOptionsObject(options) {
  if (options === undefined) return { __proto__: null };
  if ((typeof options !== 'object' && typeof options !== 'function') || options === null) {
    throw new TypeError('Incorrect options information provided');
  }
  return options;
}

function invalid(value, name) {
  return new RangeError(`Value ${String(value).slice(0, 100)} out of range for Intl options property ${name}`);
}

function getOption(options, name, values, fallback) {
  const given = options[name];
  if (given === undefined) return fallback;
  const value = `${given}`;
  if (values && !values.includes(value)) throw invalid(value, name);
  return value;
}

function getBooleanOption(options, name, fallback) {
  const value = options[name];
  return value === undefined ? fallback : Boolean(value);
}

function defaultNumber(value, least, most, fallback, name) {
  if (value === undefined) return fallback;
  const number = +value;
  if (!(number >= least && number <= most)) throw new RangeError(`${name} value is out of range.`);
  return Math.floor(number);
}

const getNumberOption = (options, name, least, most, fallback) =>
  defaultNumber(options[name], least, most, fallback, name);

// An option that is a keyword of locales, such as a calendar.
function getTypeOption(options, name) {
  const value = getOption(options, name);
  if (value !== undefined && !/^[a-z0-9]{3,8}(-[a-z0-9]{3,8})*$/i.test(value)) throw invalid(value, name);
  return value?.toLowerCase();
}

const getMatcher = (options) => getOption(options, 'localeMatcher', ['lookup', 'best fit'], 'best fit');

function supportedLocalesOf(locales, options) {
  const requested = canonicalizeLocaleList(locales);
  getMatcher(coerceOptions(options));
  const found = [];
  for (const tag of requested) if (bestAvailable(splitExtension(tag).base) !== undefined) append(found, tag);
  return found;
}

// Makes a constructor whole: methods and getters of `members` on its prototype, and its name.
function define(constructor, name, members, statics = {}) {
  const hidden = (from, to) => {
    for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
      Object.defineProperty(to, key, { ...descriptor, enumerable: false });
    }
  };
  hidden(members, constructor.prototype);
  hidden(statics, constructor);
  Object.defineProperty(constructor.prototype, Symbol.toStringTag, { value: `Intl.${name}`, configurable: true });
  Object.defineProperty(constructor, 'prototype', { writable: false });
  return constructor;
}

const withLocales = {
  supportedLocalesOf(locales, options = undefined) {
    return supportedLocalesOf(locales, options);
  },
};

// The inside of objects of one kind.
function slots(name) {
  const inside = new WeakMap();
  return {
    create(target, value) {
      const object = Reflect.construct(Object, [], target);
      inside.set(object, value);
      return object;
    },
    set: (object, value) => inside.set(object, value),
    has: (object) => inside.has(object),
    of(object, method) {
      const value = inside.get(Object(object) === object ? object : {});
      if (!value) throw new TypeError(`Method Intl.${name}.prototype.${method} called on incompatible receiver`);
      return value;
    },
  };
}

// Functions that belong to an object and have no name, such as the `format` of formatters.
const bound = (call) => Object.defineProperty(call, 'name', { value: '', configurable: true });

module.exports = {
  DEFAULT_LOCALE,
  canonicalTag,
  localeTags,
  canonicalizeLocaleList,
  splitExtension,
  resolveLocale,
  coerceOptions,
  getOptionsObject,
  getOption,
  getBooleanOption,
  getNumberOption,
  getTypeOption,
  defaultNumber,
  getMatcher,
  define,
  withLocales,
  slots,
  bound,
  invalid,
};
