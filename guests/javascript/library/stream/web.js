// The module `stream/web`.
'use strict';
const { CompressionStream, DecompressionStream } = require('internal/compression');
const { TextEncoderStream, TextDecoderStream } = require('internal/text_streams');
module.exports = { ...require('web-streams-polyfill/dist/ponyfill.js'), CompressionStream, DecompressionStream, TextEncoderStream, TextDecoderStream };
