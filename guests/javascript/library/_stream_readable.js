// The old name of `stream.Readable`.
'use strict';
module.exports = require('stream').Readable;
