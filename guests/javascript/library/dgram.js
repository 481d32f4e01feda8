// The module `dgram`: it imports, and sends nothing.
'use strict';
const { refusing } = require('internal/refuse');

class Socket extends require('events') {
  close() {}
  ref() {
    return this;
  }
  unref() {
    return this;
  }
}
for (const name of ['bind', 'connect', 'send']) Socket.prototype[name] = refusing(name, 'ENETUNREACH', 'no UDP in this sandbox: its programs connect by TCP, with the modules `net`, `tls`, `http` and `https`, or fetch');

module.exports = { Socket, createSocket: () => new Socket() };
