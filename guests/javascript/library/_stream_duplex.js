// The old name of `stream.Duplex`.
'use strict';
module.exports = require('stream').Duplex;
