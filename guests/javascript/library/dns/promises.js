// The module `dns/promises`.
'use strict';
module.exports = require('dns').promises;
