// Temporal.Now.
'use strict';
const { ask, make } = require('./inside');
const convert = require('./convert');

const { localZone } = native;
const { now } = Date;
const nanoseconds = () => `${now()}000000`;

// That of the variable TZ, if there is such a zone.
function systemZone() {
  try {
    return ask('read.zoneName', '', localZone() ?? 'UTC');
  } catch {
    return 'UTC';
  }
}

const zoneOr = (given) => (given === undefined ? systemZone() : convert.zone(given));
const zonedWord = (given) => `${nanoseconds()},${zoneOr(given)},iso8601`;
const both = (given) => convert.zonedFields(zonedWord(given))[0];

const functions = {
  timeZoneId() {
    return systemZone();
  },
  instant() {
    return make('Instant', ask('instant.new', nanoseconds()));
  },
  plainDateTimeISO(temporalTimeZoneLike = undefined) {
    return make('PlainDateTime', both(temporalTimeZoneLike));
  },
  zonedDateTimeISO(temporalTimeZoneLike = undefined) {
    return make('ZonedDateTime', zonedWord(temporalTimeZoneLike));
  },
  plainDateISO(temporalTimeZoneLike = undefined) {
    return make('PlainDate', convert.dateOf(both(temporalTimeZoneLike)));
  },
  plainTimeISO(temporalTimeZoneLike = undefined) {
    return make('PlainTime', convert.timeOf(both(temporalTimeZoneLike)));
  },
};

const Now = {};
Object.keys(functions).forEach((name) => {
  Object.defineProperty(Now, name, { value: functions[name], writable: true, configurable: true });
});
Object.defineProperty(Now, Symbol.toStringTag, { value: 'Temporal.Now', configurable: true });

module.exports = { Now };
