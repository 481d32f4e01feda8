// The module `stream/web`.
'use strict';
const { CompressionStream, DecompressionStream } = require('internal/compression');
const { TextEncoderStream, TextDecoderStream } = require('internal/text_streams');
const { showAs, ...streams } = require('internal/web_streams');

module.exports = { ...streams, CompressionStream, DecompressionStream, TextEncoderStream, TextDecoderStream };
