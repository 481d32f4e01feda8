// Makes locales.txt of the packages of CLDR that package.json names: what `Intl` of this guest needs of each locale, in parts that are
// parsed when they are asked for. `npm install --ignore-scripts && node pack.mjs` in this folder.
//
// The first line of locales.txt is the index: for each locale and part, where its line begins and how many bytes it has. A locale
// other than `root` holds what differs from its parent; `null` takes away. `parents` names the parents that are no prefix.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { numberPart, currencyPart, unitPart } from './numbers.mjs';
import { datePart, fieldPart, zonePart } from './dates.mjs';
import { namePart, rootParts } from './names.mjs';

// With every region that CLDR has for them.
const languages =
  'ar az bg bn ca cs da de el en es et fa fi fil fr he hi hr hu hy id is it ja ka kk ko lt lv mr ms nb nl nn no pl pt ro ru sk sl sr sv sw ta te th tr uk ur vi zh'.split(
    ' ',
  );

// Scripts and spellings that next to nobody writes these languages in.
const rare = /-(Dsrt|Shaw|Polyton|polyton)|^(az-Cyrl|kk-Arab|ms-Arab)/;

const read = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}.json`, import.meta.url), 'utf8'));
const supplemental = (name) => read(`cldr-core/supplemental/${name}`).supplemental;
const parents = supplemental('parentLocales').parentLocales.parentLocale;
// A few rare scripts lack some of the files.
const files = ['localenames-full/main/NAME/languages', 'dates-full/main/NAME/timeZoneNames', 'units-full/main/NAME/units'];
const has = (name) => files.every((file) => existsSync(new URL(`node_modules/cldr-${file.replace('NAME', name)}.json`, import.meta.url)));
const all = read('cldr-core/availableLocales').availableLocales.full.filter(has);
const chosen = all.filter((name) => languages.includes(name.split('-')[0]) && !rare.test(name)).sort();

const parentOf = (name) => {
  let parent = parents[name] ?? name.replace(/-?[^-]*$/, '');
  while (parent && parent !== 'und' && !chosen.includes(parent)) parent = parents[parent] ?? parent.replace(/-?[^-]*$/, '');
  return parent === 'und' ? '' : parent;
};

const parts = { number: numberPart, currency: currencyPart, unit: unitPart, date: datePart, field: fieldPart, zone: zonePart, name: namePart };

// What has to be merged into `old` to get `value`.
function difference(old, value) {
  if (!old || typeof old !== 'object' || !value || typeof value !== 'object' || Array.isArray(value) || Array.isArray(old)) {
    return JSON.stringify(old) === JSON.stringify(value) ? undefined : value;
  }
  const changed = {};
  for (const name of Object.keys(value)) {
    const inner = difference(old[name], value[name]);
    if (inner !== undefined) changed[name] = inner;
  }
  for (const name of Object.keys(old)) if (!(name in value)) changed[name] = null;
  return Object.keys(changed).length ? changed : undefined;
}

const index = {};
const lines = [];
let at = 0;
const put = (locale, part, value) => {
  const line = JSON.stringify(value);
  const length = Buffer.byteLength(line);
  (index[locale] ??= {})[part] = [at, length];
  lines.push(line);
  at += length + 1;
};

const whole = {};
const sizes = {};
for (const [part, value] of Object.entries(rootParts(read, supplemental))) put('root', part, value);
function add(name) {
  if (whole[name]) return;
  if (parentOf(name)) add(parentOf(name));
  const get = (pack, file) => read(`cldr-${pack}-full/main/${name}/${file}`).main[name];
  whole[name] = {};
  index[name] = {};
  for (const [part, make] of Object.entries(parts)) {
    const value = make(get);
    whole[name][part] = value;
    const changed = difference(whole[parentOf(name)]?.[part] ?? {}, value);
    if (!changed) continue;
    put(name, part, changed);
    sizes[part] = (sizes[part] ?? 0) + Buffer.byteLength(JSON.stringify(changed));
  }
}
chosen.forEach(add);
const renamed = Object.fromEntries(
  chosen.map((name) => [name, parentOf(name)]).filter(([name, parent]) => parent !== name.replace(/-?[^-]*$/, '')),
);
const head = JSON.stringify({ locales: index, parents: renamed });
writeFileSync(new URL('locales.txt', import.meta.url), `${head}\n${lines.join('\n')}\n`);
console.log(`${chosen.length} locales, index ${head.length}, bodies ${at}`, sizes);
