// The module `http2`: it imports, and connects to nobody.
'use strict';
const http = require('http');
const { refusing } = require('internal/refuse');

const constants = { NGHTTP2_NO_ERROR: 0, HTTP2_HEADER_STATUS: ':status', HTTP2_HEADER_METHOD: ':method', HTTP2_HEADER_AUTHORITY: ':authority', HTTP2_HEADER_SCHEME: ':scheme', HTTP2_HEADER_PATH: ':path', HTTP2_HEADER_CONTENT_TYPE: 'content-type', HTTP2_HEADER_CONTENT_LENGTH: 'content-length', HTTP_STATUS_OK: 200 };

class Http2ServerRequest extends http.IncomingMessage {}
class Http2ServerResponse extends http.ServerResponse {}

module.exports = { constants, Http2ServerRequest, Http2ServerResponse, connect: refusing('connect', 'ENOSYS', 'no HTTP/2 in this sandbox: use the modules `http` and `https`, or fetch'), createServer: http.createServer, createSecureServer: http.createServer, getDefaultSettings: () => ({}), sensitiveHeaders: Symbol('sensitiveHeaders') };
