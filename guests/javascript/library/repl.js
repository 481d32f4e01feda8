// The module `repl`: snippets are the prompt here.
'use strict';
const { refusing } = require('internal/refuse');
module.exports = { start: refusing('start', 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', 'there is no terminal in this sandbox'), builtinModules: require('module').builtinModules };
