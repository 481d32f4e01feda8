// What packages that stand for globals of the web are asked for here.
'use strict';
module.exports = { AbortController, AbortSignal };
