// The module `stream/promises`.
'use strict';
module.exports = require('readable-stream/lib/stream/promises.js');
