// The parts of names, and what is of no locale.
import { readdirSync } from 'node:fs';

// Names, with those of the variant `short` apart.
function split(source) {
  const long = {};
  const short = {};
  for (const [name, value] of Object.entries(source)) {
    const at = name.indexOf('-alt-');
    if (at < 0) {
      if (value !== name) long[name] = value;
    } else if (name.endsWith('-alt-short')) short[name.slice(0, at)] = value;
  }
  return [long, short];
}

export function namePart(get) {
  const localeNames = (file, key) => get('localenames', file).localeDisplayNames[key];
  const rest = get('localenames', 'localeDisplayNames').localeDisplayNames;
  return {
    language: split(localeNames('languages', 'languages')),
    script: split(localeNames('scripts', 'scripts')),
    region: split(localeNames('territories', 'territories')),
    calendar: rest.types?.calendar ?? {},
    pattern: rest.localeDisplayPattern,
  };
}

export function rootParts(read, supplemental) {
  const { currencyData } = supplemental('currencyData');
  const digits = {};
  for (const [code, entry] of Object.entries(currencyData.fractions)) digits[code] = Number(entry._digits);
  const systems = {};
  for (const [name, entry] of Object.entries(supplemental('numberingSystems').numberingSystems)) {
    if (entry._type === 'numeric') systems[name] = entry._digits;
  }
  const { weekData } = supplemental('weekData');
  const { timeData } = supplemental('timeData');
  const hours = {};
  for (const [region, entry] of Object.entries(timeData)) hours[region] = [entry._preferred, entry._allowed];
  const { metaZones } = supplemental('metaZones');
  const zones = {};
  const walk = (source, prefix) => {
    for (const [name, entry] of Object.entries(source)) {
      if (!Array.isArray(entry)) walk(entry, `${prefix}${name}/`);
      else zones[prefix + name] = entry.map(({ usesMetazone: { _mzone, _from, _to } }) => [_mzone, _from ?? 0, _to ?? 0]);
    }
  };
  walk(metaZones.metazoneInfo.timezone, '');
  const aliases = {};
  const regions = {};
  const bcp47 = read('cldr-bcp47/bcp47/timezone').keyword.u.tz;
  for (const [key, entry] of Object.entries(bcp47)) {
    if (!entry?._alias) continue;
    const [main, ...others] = entry._alias.split(' ');
    for (const other of others) aliases[other] = main;
    if (/^[a-z]{2}/.test(key)) regions[main] = entry._region ?? key.slice(0, 2).toUpperCase();
  }
  // What values of keywords were called before.
  const tag = { yes: [] };
  for (const file of readdirSync(new URL('node_modules/cldr-bcp47/bcp47', import.meta.url))) {
    const { keyword } = read(`cldr-bcp47/bcp47/${file.replace('.json', '')}`);
    for (const [extension, keys] of Object.entries(keyword ?? {})) {
      for (const [key, values] of Object.entries(keys)) {
        for (const [value, entry] of Object.entries(values)) {
          if (value.startsWith('_') || typeof entry !== 'object') continue;
          if (entry._preferred) (tag[key] ??= {})[value] = entry._preferred;
          else {
            for (const alias of (entry._alias ?? '').split(' ')) {
              const old = alias.toLowerCase();
              if (old !== value && /^[a-z0-9]{3,8}(-[a-z0-9]{3,8})*$/.test(old)) (tag[key] ??= {})[old] = value;
            }
          }
          if (value === 'true' && extension === 'u') tag.yes.push(key);
        }
      }
    }
  }
  return {
    tag,
    number: { digits, systems },
    time: {
      hours,
      week: { first: weekData.firstDay, start: weekData.weekendStart, end: weekData.weekendEnd },
      calendars: supplemental('calendarPreferenceData').calendarPreferenceData,
      periods: supplemental('dayPeriods').dayPeriodRuleSet,
    },
    zone: { zones, aliases, regions, primary: supplemental('primaryZones')?.primaryZones ?? {} },
  };
}
