// The old name of the module `util`.
'use strict';
module.exports = require('util');
