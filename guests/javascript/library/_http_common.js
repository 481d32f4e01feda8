// The module `_http_common`, as far as old programs ask for it.
'use strict';
const { hasInvalid, isToken } = require('internal/http_common');

module.exports = {
  _checkIsHttpToken: isToken,
  _checkInvalidHeaderChar: hasInvalid,
  get methods() {
    return require('http').METHODS;
  },
  parsers: { name: 'parsers', max: 1000 },
};
