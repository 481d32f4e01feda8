// The module `constants`: those of `os`, `fs` and `crypto` together.
'use strict';
const os = require('os').constants;
module.exports = { ...os.errno, ...os.priority, ...os.signals, ...require('fs').constants, ...require('crypto').constants };
