// The module `string_decoder`: that of the package of this name.
'use strict';
module.exports = require('string_decoder/lib/string_decoder.js');
