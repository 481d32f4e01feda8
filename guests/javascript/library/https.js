// The module `https`: that of `http`. The host speaks TLS and checks certificates; options of a program change nothing.
'use strict';
const http = require('http');

class Agent extends http.Agent {
  constructor(options) {
    super(options);
    this.protocol = 'https:';
    this.defaultPort = 443;
  }
}

const { ClientRequest, Server, createServer } = http;
const globalAgent = new Agent({ keepAlive: true });

// The options that stand first, or second after a URL, with what is usual for `https`.
function usual(values) {
  const [first, second, ...rest] = values;
  const preset = { defaultProtocol: 'https:', defaultPort: 443, _defaultAgent: globalAgent };
  if (typeof first === 'string' || first instanceof URL) {
    const options = typeof second === 'object' && second !== null ? second : {};
    return [first, { ...preset, ...options }, ...(typeof second === 'function' ? [second] : rest)];
  }
  return [{ ...preset, ...first }, second, ...rest];
}

const request = (...values) => http.request(...usual(values));
const get = (...values) => http.get(...usual(values));
module.exports = { Agent, ClientRequest, Server, createServer, request, get, globalAgent };
