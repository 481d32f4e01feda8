// The module `https`: that of `http`, which answers that there is no network.
'use strict';
const http = require('http');

class Agent extends http.Agent {
  constructor(options) {
    super(options);
    this.protocol = 'https:';
    this.defaultPort = 443;
  }
}

const { ClientRequest, Server, createServer, request, get } = http;
module.exports = { Agent, ClientRequest, Server, createServer, request, get, globalAgent: new Agent({ keepAlive: true }) };
