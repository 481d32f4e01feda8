// The module `http`: requests go over the network, as far as the host allows it; servers cannot listen.
'use strict';
const { need, needInteger, outOfRange } = require('internal/arguments');
const { Agent, globalAgent } = require('internal/http_agent');
const { ClientRequest } = require('internal/http_client');
const { validateHeaderName, validateHeaderValue } = require('internal/http_common');
const { IncomingMessage } = require('internal/http_incoming');
const { METHODS, STATUS_CODES } = require('internal/http_names');
const { OutgoingMessage } = require('internal/http_outgoing');
const { Server, ServerResponse } = require('internal/http_server');

const request = (...values) => (shared.asides.value = new ClientRequest(...values));
function get(...values) {
  const made = request(...values);
  made.end();
  return made;
}

module.exports = {
  METHODS,
  STATUS_CODES,
  Agent,
  ClientRequest,
  IncomingMessage,
  OutgoingMessage,
  Server,
  ServerResponse,
  createServer: (options, listener) => new Server(options, listener),
  request,
  get,
  globalAgent,
  maxHeaderSize: 16384,
  validateHeaderName,
  validateHeaderValue,
  setMaxIdleHTTPParsers(max) {
    need('number', 'max', max);
    if (!Number.isInteger(max)) throw outOfRange('max', 'an integer', max);
    require('_http_common').parsers.max = needInteger('max', max, 1);
  },
};
