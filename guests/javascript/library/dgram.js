// The module `dgram`: there is no network.
'use strict';
const { noNetwork } = require('internal/refuse');

class Socket extends require('events') {
  close() {}
  ref() {
    return this;
  }
  unref() {
    return this;
  }
}
for (const name of ['bind', 'connect', 'send']) Socket.prototype[name] = noNetwork(name);

module.exports = { Socket, createSocket: () => new Socket() };
