// The module `console`: the global, whose `Console` makes others.
'use strict';
module.exports = shared.console;
