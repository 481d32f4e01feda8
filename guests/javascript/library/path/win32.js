// The module `path/win32`: that of the package `path`, which has both kinds.
'use strict';
module.exports = require('path/path.js').win32;
