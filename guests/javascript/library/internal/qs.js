// What the package `url` uses of the package `qs`.
'use strict';
const { parse, stringify } = require('querystring');
module.exports = { parse, stringify: (object, options) => (options?.addQueryPrefix ? '?' : '') + stringify(object) };
