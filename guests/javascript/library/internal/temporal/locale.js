// `toLocaleString` of the classes of `Temporal`, by the formats of `Intl`.
'use strict';
const { make } = require('./inside');
const { create, partsOf, formatWith } = require('../intl/date');
const { floorMilliseconds, checkCalendar } = require('../intl/date_temporal');
const { join } = require('../intl/number_format');
const { formatDuration } = require('../intl/duration_format');

// Which options a format has to have, and which it has without them.
const KINDS = { __proto__: null, PlainTime: ['time', 'time'], PlainDateTime: ['any', 'all'], Instant: ['any', 'all'] };

function zoned(word, locales, options) {
  const [nanoseconds, zone, calendar] = word.split(',');
  const state = create(locales, options, 'any', 'all', zone);
  checkCalendar('ZonedDateTime', calendar, state.calendar);
  return formatWith(state, floorMilliseconds(nanoseconds));
}

function format(kind, word, locales, options) {
  if (kind === 'ZonedDateTime') return zoned(word, locales, options);
  const [required, defaults] = KINDS[kind] ?? ['date', 'date'];
  return join(partsOf(create(locales, options, required, defaults), make(kind, word)));
}

module.exports = { format, formatDuration };
