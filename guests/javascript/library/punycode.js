// The module `punycode`: that of the package of this name.
'use strict';
module.exports = require('punycode/punycode.js');
