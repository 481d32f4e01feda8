// Agents: how many requests to one place are under way at one time, and what they go over. The host keeps connections; here is none to keep.
'use strict';
const net = require('net');
const EventEmitter = require('events');
const { socketFor } = require('internal/http_exchange');

class Agent extends EventEmitter {
  sockets = Object.create(null);
  freeSockets = Object.create(null);
  requests = Object.create(null);
  protocol = 'http:';
  defaultPort = 80;
  constructor(options = {}) {
    super();
    this.options = { ...options };
    this.keepAlive = options.keepAlive ?? false;
    this.keepAliveMsecs = options.keepAliveMsecs ?? 1000;
    this.maxSockets = options.maxSockets ?? Infinity;
    this.maxFreeSockets = options.maxFreeSockets ?? 256;
    this.maxTotalSockets = options.maxTotalSockets ?? Infinity;
    this.scheduling = options.scheduling ?? 'lifo';
  }
  getName({ host, port, localAddress, family, socketPath } = {}) {
    const rest = `${family === 4 || family === 6 ? `:${family}` : ''}${socketPath ? `:${socketPath}` : ''}`;
    return `${host || 'localhost'}:${port || ''}:${localAddress || ''}${rest}`;
  }
  get totalSocketCount() {
    return Object.values(this.sockets).reduce((sum, list) => sum + list.length, 0);
  }
  addRequest(request, given, port, localAddress) {
    const options = typeof given === 'string' ? { host: given, port, localAddress } : { ...given, ...this.options };
    const name = this.getName(options);
    if ((this.sockets[name]?.length ?? 0) < this.maxSockets && this.totalSocketCount < this.maxTotalSockets) this.#give(request, options, name);
    else (this.requests[name] ??= []).push(Object.assign(request, { _waits: options }));
  }
  #give(request, options, name) {
    this.createSocket(request, options, (failure, socket) => {
      if (socket && !failure) {
        (this.sockets[name] ??= []).push(socket);
        socket.on('close', () => this.#leave(name, socket));
      }
      request.onSocket(socket, failure);
    });
  }
  #leave(name, socket) {
    const left = (this.sockets[name] ?? []).filter((each) => each !== socket);
    if (left.length) this.sockets[name] = left;
    else delete this.sockets[name];
    for (const [waiting, list] of Object.entries(this.requests)) {
      const request = list.find((each) => !each.destroyed);
      const rest = list.slice(list.indexOf(request) + 1);
      if (request && rest.length) this.requests[waiting] = rest;
      else delete this.requests[waiting];
      if (request) return void this.addRequest(request, request._waits);
    }
  }
  // What a request goes over: a connection that the program makes, or one on which the program goes on in another protocol; else what
  // stands for one, and the host makes it.
  createSocket(request, options, callback) {
    const isOwn = this.createConnection !== Agent.prototype.createConnection;
    if (!isOwn && !request._upgrades) {
      callback(null, socketFor(request.protocol, request));
      return;
    }
    let isTold = false;
    const tell = (failure, socket) => {
      if (!isTold) callback(failure, socket);
      isTold = true;
    };
    const given = { ...options, host: request.host, port: request.port, path: undefined, timeout: request.timeout };
    const socket = isOwn ? this.createConnection(given, tell) : connect(request.protocol, given);
    if (socket) tell(null, socket);
  }
  createConnection(options, ...rest) {
    return connect(this.protocol, options, ...rest);
  }
  keepSocketAlive() {
    return false;
  }
  reuseSocket() {}
  destroy() {
    for (const list of Object.values(this.sockets)) for (const socket of list) socket.destroy();
  }
}

function connect(protocol, ...values) {
  return protocol === 'https:' ? require('tls').connect(...values) : net.connect(...values);
}

module.exports = { Agent, globalAgent: new Agent({ keepAlive: true, scheduling: 'lifo', timeout: 5000 }) };
