// The parts of dates, of what is relative to now, and of time zones.
import { counted } from './numbers.mjs';

const plain = (source) => Object.fromEntries(Object.entries(source).filter(([name]) => !name.includes('-alt-')));
const listed = (source, names) => names.map((name) => source[name]);
const MONTHS = Array.from({ length: 12 }, (_, at) => `${at + 1}`);
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const WIDTHS = ['wide', 'abbreviated', 'narrow'];
const APPENDED = ['Era', 'Year', 'Month', 'Day-Of-Week', 'Day', 'Hour', 'Minute', 'Second', 'Timezone'];

function widths(source, make) {
  return Object.fromEntries(WIDTHS.map((width) => [width, make(source[width])]));
}

function patterns(calendar) {
  const formats = calendar.dateTimeFormats;
  const styles = ['full', 'long', 'medium', 'short'];
  const skeletons = Object.entries(plain(formats.availableFormats)).filter(([name]) => !/[QWw]|-count-/.test(name));
  const intervals = Object.entries(formats.intervalFormats)
    .filter(([name]) => !/[QWw]|-alt-/.test(name))
    .map(([name, value]) => [name, typeof value === 'string' ? value : plain(value)]);
  return {
    date: listed(calendar.dateFormats, styles).map((style) => style._value ?? style),
    time: calendar.timeFormats && listed(calendar.timeFormats, styles).map((style) => style._value ?? style),
    both: listed((calendar['dateTimeFormats-atTime'] ?? { standard: formats }).standard, styles),
    plain: listed(formats, styles),
    skeletons: Object.fromEntries(skeletons),
    appended: formats.appendItems && listed(formats.appendItems, APPENDED),
    intervals: Object.fromEntries(intervals),
  };
}

export function datePart(get) {
  const { gregorian } = get('dates', 'ca-gregorian').dates.calendars;
  const { fields } = get('dates', 'dateFields').dates;
  const both = (source, make) => ({ format: widths(source.format, make), alone: widths(source['stand-alone'], make) });
  const eras = gregorian.eras;
  return {
    months: both(gregorian.months, (names) => listed(names, MONTHS)),
    days: both(gregorian.days, (names) => listed(names, DAYS)),
    periods: widths(gregorian.dayPeriods.format, plain),
    eras: [eras.eraNames, eras.eraAbbr, eras.eraNarrow].map((names) => listed(names, ['0', '1'])),
    gregory: patterns(gregorian),
    fields: ['era', 'year', 'month', 'weekday', 'day', 'hour', 'minute', 'second', 'zone'].map((name) => fields[name].displayName),
  };
}

const UNITS = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second'];

// {unit: [name, {offset: text}, future, past]} for each style; and the names of fields.
export function fieldPart(get) {
  const { fields } = get('dates', 'dateFields').dates;
  const found = {};
  for (const style of ['', '-short', '-narrow']) {
    const into = (found[style.slice(1) || 'long'] = {});
    for (const unit of UNITS) {
      const entry = fields[unit + style];
      const relative = {};
      for (const [name, text] of Object.entries(entry)) {
        const offset = /^relative-type-(-?\d+)$/.exec(name);
        if (offset) relative[offset[1]] = text;
      }
      into[unit] = {
        relative,
        future: counted(entry['relativeTime-type-future'], 'relativeTimePattern'),
        past: counted(entry['relativeTime-type-past'], 'relativeTimePattern'),
      };
    }
    into.names = Object.fromEntries(
      ['era', 'year', 'quarter', 'month', 'week', 'weekday', 'day', 'dayperiod', 'hour', 'minute', 'second', 'zone'].map((name) => [
        name,
        fields[name + style].displayName,
      ]),
    );
  }
  return found;
}

// [standard, daylight, generic] of the long and of the short names.
const zoneNames = (entry) =>
  ['long', 'short'].map((width) => {
    const row = ['standard', 'daylight', 'generic'].map((kind) => entry[width]?.[kind] ?? 0);
    while (row.length && row.at(-1) === 0) row.pop();
    return row;
  });

export function zonePart(get) {
  const names = get('dates', 'timeZoneNames').dates.timeZoneNames;
  const zones = {};
  const walk = (source, prefix) => {
    for (const [name, entry] of Object.entries(source)) {
      if (typeof entry !== 'object') continue;
      const path = prefix + name;
      if (entry._type !== 'zone') {
        walk(entry, `${path}/`);
        continue;
      }
      if (entry.long || entry.short) zones[path] = zoneNames(entry);
    }
  };
  walk(names.zone ?? {}, '');
  return {
    hour: names.hourFormat,
    gmt: names.gmtFormat,
    zero: names.gmtZeroFormat,
    region: [names['regionFormat-type-standard'], names['regionFormat-type-daylight'], names.regionFormat],
    fallback: names.fallbackFormat,
    zones,
    metazones: Object.fromEntries(Object.entries(names.metazone ?? {}).map(([name, entry]) => [name, zoneNames(entry)])),
  };
}
