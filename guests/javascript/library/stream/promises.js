// The module `stream/promises`.
'use strict';
// Streams are whole only with it.
require('stream');
module.exports = require('readable-stream/lib/stream/promises.js');
