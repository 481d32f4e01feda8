// Time zones: their names of the IANA database, their offsets, and what a locale calls them.
'use strict';
const { intl, zoneOffset } = native;
const { load, root } = require('./data');
const { inSystem } = require('./number_format');

const offsets = /^([+-])([01]\d|2[0-3])(?::?([0-5]\d))?$/;

let names;
function known() {
  if (!names) {
    names = new Map();
    for (const name of intl('zones').split('\n')) names.set(name.toLowerCase(), name);
  }
  return names;
}

// The name as the database writes it, or an offset as `+01:00`; undefined: neither.
function zoneName(given) {
  const offset = offsets.exec(given);
  if (offset) {
    const [, sign, hours, minutes = '00'] = offset;
    return hours === '00' && minutes === '00' ? '+00:00' : `${sign}${hours}:${minutes}`;
  }
  return known().get(given.toLowerCase());
}

// {offset in milliseconds, daylight} at a time.
function zoneState(name, time) {
  const offset = offsets.exec(name);
  if (offset) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3] ?? 0);
    return { offset: (offset[1] === '-' ? -minutes : minutes) * 60000, daylight: false };
  }
  if (name === 'UTC') return { offset: 0, daylight: false };
  const found = zoneOffset(name, time);
  return { offset: Math.floor(found / 2) * 1000, daylight: Math.abs(found) % 2 === 1 };
}

// "GMT+1" and its like.
function offsetName(state, zone, offset, long, digits) {
  const seconds = Math.trunc(Math.abs(offset) / 1000);
  const [positive, negative] = zone.hour.split(';');
  const pattern = offset < 0 ? negative : positive;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const rest = seconds % 60;
  const two = (number) => String(number).padStart(2, '0');
  const separator = /H+(.)mm/.exec(pattern)?.[1] ?? ':';
  if (!long && !minutes && !rest) {
    return zone.gmt.replace('{0}', () => pattern.replace(/H+.mm.*$/, () => inSystem(String(hours), digits)));
  }
  let text = (long ? two(hours) : String(hours)) + separator + two(minutes);
  if (rest) text += separator + two(rest);
  return zone.gmt.replace('{0}', () => pattern.replace(/H+.mm/, () => inSystem(text, digits)));
}

// The metazone of a zone at a time.
function metazone(name, time) {
  const { zones, aliases } = root('zone');
  const periods = zones[name] ?? zones[aliases[name]] ?? zones[Object.keys(aliases).find((key) => aliases[key] === name && zones[key])];
  const at = new Date(time).toISOString().slice(-24, -8).replace('T', ' ');
  return periods?.find(([, from, to]) => (!from || from <= at) && (!to || at < to))?.[0];
}

// Where a zone is, for zones without a name: "Germany Time".
function place(state, name, zone) {
  const { regions, primary } = root('zone');
  const region = regions[name];
  const alone = region && Object.values(regions).filter((other) => other === region).length === 1;
  if (!alone && primary[region] !== name) return undefined;
  const country = load('name', state.data).region[0][region];
  return country && zone.region[2].replace('{0}', () => country);
}

// What `timeZoneName` shows: `style` is short, long, shortOffset, longOffset, shortGeneric or longGeneric.
function zoneText(state, given, time, style, digits) {
  const zone = load('zone', state.data);
  const { offset, daylight } = zoneState(given, time);
  const long = style.startsWith('long');
  const generic = style.endsWith('Generic');
  const plain = () => offsetName(state, zone, offset, long, digits);
  if (style.endsWith('Offset') || offsets.test(given) || (generic && given === 'UTC')) return plain();
  const name = root('zone').aliases[given] ?? given;
  const isUtc = name === 'Etc/UTC';
  const own = isUtc ? zone.zones['Etc/UTC'] : (zone.zones[given] ?? zone.zones[name]);
  // Names are those of the time since 1970.
  const meta = isUtc || time < 0 ? undefined : zone.metazones[metazone(given, Math.min(time, 4e12)) ?? ''];
  const width = long ? 0 : 1;
  for (const source of [own, meta]) {
    const row = source?.[width];
    if (!row) continue;
    if (!generic && row[daylight ? 1 : 0]) return row[daylight ? 1 : 0];
    // A zone that knows no summer time is called alike all year.
    const text = row[2] || (!row[1] && !own?.[width]?.[1] && row[0]);
    if (generic && text) return text;
  }
  if (isUtc && !long) return 'UTC';
  return (generic && place(state, name, zone)) || plain();
}

const allZones = () => [...known().values()];

module.exports = { zoneName, zoneState, zoneText, allZones };
