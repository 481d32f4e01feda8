// Writes the answers of Node.js to javascript_intl.txt: `node javascript_intl.mjs`. The committed ones are those of
// Node.js 20.20.2 with ICU 78.2 (CLDR 48.0); the guest has CLDR 48.2.
import { writeFileSync } from 'node:fs';

const rows = [];
const add = (...expressions) => rows.push(...expressions);
const locales = ['en-US', 'de', 'fr', 'es', 'pt-BR', 'ja', 'hi', 'ar-EG', 'ru', 'pl', 'en-IN', 'de-CH', 'zh-TW', 'tr'];
const text = (value) => JSON.stringify(value);

const numbers = [
  [1234567.891, {}],
  [-0.256, { style: 'percent', maximumFractionDigits: 1 }],
  [1234.5, { style: 'currency', currency: 'EUR' }],
  [-1234.5, { style: 'currency', currency: 'USD', currencySign: 'accounting' }],
  [2, { style: 'currency', currency: 'JPY', currencyDisplay: 'name' }],
  [1234567, { notation: 'compact' }],
  [1234567, { notation: 'compact', compactDisplay: 'long' }],
  [65, { style: 'unit', unit: 'kilometer-per-hour' }],
  [3.5, { style: 'unit', unit: 'liter', unitDisplay: 'long' }],
];
const dates = [
  {},
  { dateStyle: 'full', timeStyle: 'short' },
  { dateStyle: 'medium' },
  { month: 'long', day: 'numeric' },
  { weekday: 'long', year: 'numeric', month: 'short', day: 'numeric' },
  { year: 'numeric', month: '2-digit', day: '2-digit' },
  { hour: 'numeric', minute: '2-digit', timeZone: 'America/New_York', timeZoneName: 'long' },
];
const time = 'new Date(Date.UTC(2026, 0, 2, 15, 4, 5))';

for (const locale of locales) {
  for (const [value, options] of numbers) add(`(${value}).toLocaleString(${text(locale)}, ${text(options)})`);
  for (const options of dates) add(`${time}.toLocaleString(${text(locale)}, ${text(options)})`);
  add(`new Intl.RelativeTimeFormat(${text(locale)}, { numeric: 'auto' }).format(-1, 'day')`);
  add(`new Intl.RelativeTimeFormat(${text(locale)}).format(5, 'weeks')`);
  add(`new Intl.ListFormat(${text(locale)}).format(['A', 'B', 'C'])`);
  add(`new Intl.DisplayNames(${text(locale)}, { type: 'region' }).of('DE')`);
  add(`new Intl.DisplayNames(${text(locale)}, { type: 'language' }).of('pt-BR')`);
  add(`new Intl.PluralRules(${text(locale)}, { type: 'ordinal' }).select(22) + new Intl.PluralRules(${text(locale)}).select(1.5)`);
}

add(
  "Intl.getCanonicalLocales(['EN-us', 'zh-hant-tw', 'en-us', 'iw', 'cmn', 'de-x-A'])",
  "Intl.NumberFormat.supportedLocalesOf(['de-XX', 'tlh', 'zh-TW', 'en-u-nu-thai'])",
  "['de-XX', 'zh-TW', 'zh-HK', 'sr-ME', 'en-ZA', 'es-419', 'xx'].map((tag) => new Intl.NumberFormat(tag).resolvedOptions().locale)",
  "JSON.stringify(new Intl.NumberFormat('de', { style: 'currency', currency: 'EUR' }).formatToParts(-1234.5))",
  "JSON.stringify(new Intl.DateTimeFormat('en', { dateStyle: 'long', timeStyle: 'short', timeZone: 'Asia/Tokyo' }).formatToParts(0))",
  "new Intl.NumberFormat('en').format(12345678901234567890n)",
  "new Intl.NumberFormat('en', { maximumFractionDigits: 20 }).format('1234.56789012345678901234')",
  "['ceil', 'floor', 'expand', 'trunc', 'halfCeil', 'halfFloor', 'halfExpand', 'halfTrunc', 'halfEven'].map((roundingMode) => [-1.5, -0.2, 0.5, 1.5].map((x) => new Intl.NumberFormat('en', { roundingMode, maximumFractionDigits: 0 }).format(x)).join()).join(' ')",
  "[1, 2.5, 3.75, 12.5].map((x) => new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1, roundingIncrement: 5 }).format(x)).join()",
  "[0, -0, 1, -1, NaN, Infinity].map((x) => ['auto', 'always', 'never', 'exceptZero', 'negative'].map((signDisplay) => new Intl.NumberFormat('en', { signDisplay }).format(x)).join(' ')).join()",
  "[1, 1000, 10000, 1e6].map((x) => ['auto', 'always', 'min2', false].map((useGrouping) => new Intl.NumberFormat('es', { useGrouping }).format(x)).join(' ')).join()",
  "[0.00001234, 123456, 0].map((x) => ['scientific', 'engineering'].map((notation) => new Intl.NumberFormat('en', { notation }).format(x)).join(' ')).join()",
  "[1, 123.456, 0.001234].map((x) => new Intl.NumberFormat('en', { maximumSignificantDigits: 2 }).format(x)).join()",
  "new Intl.NumberFormat('en-u-nu-deva').format(1234.5)",
  "new Intl.NumberFormat('en', { style: 'currency', currency: 'USD' }).formatRange(3, 5)",
  "new Intl.NumberFormat('de', { style: 'unit', unit: 'meter' }).formatRange(3, 5)",
  "new Intl.NumberFormat('en', { maximumFractionDigits: 0 }).formatRange(1.1, 1.2)",
  "[1.005, 1.255, 0.1 + 0.2].map((x) => x.toLocaleString('en', { maximumFractionDigits: 2 })).join()",
  "[1234.5, 'x', null, undefined, 5n].toLocaleString('de')",
  "new Float64Array([1234.5, 2]).toLocaleString('en')",
  "new Date(NaN).toLocaleString()",
  "new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' }).formatRange(0, 86400000)",
  "new Intl.DateTimeFormat('de', { year: 'numeric', month: 'long', day: 'numeric', timeZone: 'UTC' }).formatRange(0, 400 * 86400000)",
  "new Intl.DateTimeFormat('en', { hour: 'numeric', minute: 'numeric', timeZone: 'UTC' }).formatRange(0, 46800000)",
  "[Date.UTC(2026, 2, 8, 6, 59), Date.UTC(2026, 2, 8, 7)].map((t) => new Intl.DateTimeFormat('en', { timeStyle: 'full', timeZone: 'America/New_York' }).format(t)).join()",
  "[Date.UTC(2026, 9, 25, 0, 30), Date.UTC(2026, 9, 25, 1, 30)].map((t) => new Intl.DateTimeFormat('de', { dateStyle: 'short', timeStyle: 'long', timeZone: 'Europe/Berlin' }).format(t)).join()",
  "new Intl.DateTimeFormat('en', { timeZone: 'Australia/Lord_Howe', timeStyle: 'long' }).format(0)",
  "new Intl.DateTimeFormat('en', { timeZone: 'europe/berlin' }).resolvedOptions().timeZone",
  "new Intl.DateTimeFormat('en', { hour: 'numeric', minute: 'numeric', second: 'numeric', fractionalSecondDigits: 3, timeZone: 'UTC' }).format(1234)",
  "new Intl.DateTimeFormat('en', { year: 'numeric', era: 'short', timeZone: 'UTC' }).format(new Date('-000043-03-15'))",
  "new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: 'UTC' }).format(0)",
  "new Intl.DateTimeFormat('en', { dayPeriod: 'long', hour: 'numeric', timeZone: 'UTC' }).format(36e5 * 15)",
  "['z', 'ä', 'a', 'Z', 'A', 'é', 'e'].sort(new Intl.Collator('de').compare).join('')",
  "['z', 'ä', 'a', 'ö', 'å'].sort(new Intl.Collator('sv').compare).join('')",
  "['chaque', 'chemin', 'cote', 'côte', 'coté', 'côté'].sort(new Intl.Collator('fr').compare).join()",
  "['file10', 'file2', 'file1'].sort(new Intl.Collator('en', { numeric: true }).compare).join()",
  "['base', 'accent', 'case', 'variant'].map((sensitivity) => ['a', 'á', 'A', 'b'].map((x) => new Intl.Collator('en', { sensitivity }).compare('a', x)).join('')).join()",
  "['upper', 'lower'].map((caseFirst) => ['a', 'A', 'b'].sort(new Intl.Collator('en', { caseFirst }).compare).join('')).join()",
  "[new Intl.Collator('en', { ignorePunctuation: true }).compare('a-b', 'ab'), new Intl.Collator('en').compare('a-b', 'ab')].join()",
  "['a'.localeCompare('b'), 'b'.localeCompare('a'), 'a'.localeCompare('a'), 'réservé'.localeCompare('RESERVE', 'en', { sensitivity: 'base' })].join()",
  "['東京', '大阪', '京都', 'アイ', 'あい'].sort(new Intl.Collator('ja').compare).join()",
  "['中', '国', '人', '大'].sort(new Intl.Collator('zh').compare).join('') + ['中', '国', '人', '大'].sort(new Intl.Collator('zh-u-co-stroke').compare).join('')",
  "['Ärger', 'Affe', 'Arzt'].sort(new Intl.Collator('de-u-co-phonebk').compare).join()",
  "[...new Intl.Segmenter('en', { granularity: 'word' }).segment('Hello, world! 1.5')].map((s) => s.segment + (s.isWordLike ? '*' : '')).join('|')",
  "[...new Intl.Segmenter('en').segment('e\\u0301👨‍👩‍👧🇩🇪x')].map((s) => s.segment).join('|')",
  "[...new Intl.Segmenter('en', { granularity: 'sentence' }).segment('One. Two! Three?')].map((s) => s.index).join()",
  "[...new Intl.Segmenter('ja', { granularity: 'word' }).segment('吾輩は猫である。')].map((s) => s.segment).join('|')",
  "JSON.stringify(new Intl.Segmenter('en', { granularity: 'word' }).segment('ab cd').containing(3))",
  "['conjunction', 'disjunction', 'unit'].map((type) => ['long', 'short', 'narrow'].map((style) => new Intl.ListFormat('en', { type, style }).format(['a', 'b', 'c'])).join(' / ')).join(' / ')",
  "JSON.stringify(new Intl.ListFormat('es').formatToParts(['España', 'Italia']))",
  "new Intl.ListFormat('de').format([]) + new Intl.ListFormat('de').format(['x'])",
  "['en', 'ar', 'ru', 'fr'].map((tag) => new Intl.PluralRules(tag).resolvedOptions().pluralCategories.length).join()",
  "[0, 1, 2, 3, 11, 100].map((n) => new Intl.PluralRules('ar').select(n)).join()",
  "['en', 'ru'].map((tag) => new Intl.PluralRules(tag).selectRange(1, 2)).join()",
  "JSON.stringify(new Intl.RelativeTimeFormat('en').formatToParts(-3.5, 'hour'))",
  "['I'.toLocaleLowerCase('tr'), 'i'.toLocaleUpperCase('tr'), 'i'.toLocaleUpperCase('en'), 'Ì'.toLocaleLowerCase('lt'), 'ΆΈ'.toLocaleUpperCase('el'), 'ß'.toLocaleUpperCase('de')].join()",
  "new Intl.Locale('zh').maximize().toString() + new Intl.Locale('sr-Cyrl-RS').minimize()",
  "((l) => [l.language, l.script, l.region, l.calendar, l.numberingSystem, l.hourCycle, l.numeric, l.baseName].join())(new Intl.Locale('ar-Arab-EG-u-ca-islamic-nu-latn-hc-h12-kn'))",
  "new Intl.Locale('en', { region: 'GB', calendar: 'buddhist', numeric: true }).toString()",
  "['script', 'currency', 'calendar', 'dateTimeField'].map((type) => new Intl.DisplayNames('fr', { type }).of({ script: 'Cyrl', currency: 'CHF', calendar: 'islamic-civil', dateTimeField: 'weekOfYear' }[type])).join()",
  "[new Intl.DisplayNames('en', { type: 'region' }).of('XQ'), new Intl.DisplayNames('en', { type: 'region', fallback: 'none' }).of('XQ')].map(String).join()",
  "typeof Intl + Object.prototype.toString.call(Intl) + Object.prototype.toString.call(new Intl.Collator())",
);

// Node has CLDR's narrow space (U+202F) in some of what it says of times and a plain one in the rest; the guest always has the plain one.
const answer = (code) => {
  const found = JSON.stringify((0, eval)(code));
  return code.includes('Date') ? found.replaceAll('\u202f', ' ') : found;
};
const lines = rows.map((code) => `${code}\t${answer(code)}`);
writeFileSync(new URL('javascript_intl.txt', import.meta.url), `${lines.join('\n')}\n`);
