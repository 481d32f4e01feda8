// The object `Temporal`.
'use strict';
const { make } = require('./inside');

const Temporal = {};
const parts = {
  ...require('./duration'),
  ...require('./instant'),
  ...require('./now'),
  ...require('./plain_date'),
  ...require('./plain_date_time'),
  ...require('./plain_parts'),
  ...require('./plain_time'),
  ...require('./zoned_date_time'),
};
const NAMES = ['Duration', 'Instant', 'Now', 'PlainDate', 'PlainDateTime', 'PlainMonthDay', 'PlainTime', 'PlainYearMonth', 'ZonedDateTime'];
NAMES.forEach((name) => Object.defineProperty(Temporal, name, { value: parts[name], writable: true, configurable: true }));
Object.defineProperty(Temporal, Symbol.toStringTag, { value: 'Temporal', configurable: true });

// The instant of a `Date`.
const instantOf = (time) => make('Instant', `${BigInt(time) * 1000000n}`);

module.exports = { Temporal, instantOf };
