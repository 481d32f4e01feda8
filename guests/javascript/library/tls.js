// The module `tls`: there is no network.
'use strict';
const net = require('net');

class TLSSocket extends net.Socket {
  // Tools reach for the class of streams that Node.js wraps sockets in.
  _handle = { _parentWrap: this };
}
class Server extends net.Server {}
const connect = (...values) => new TLSSocket().connect(...values);

module.exports = {
  TLSSocket,
  Server,
  connect,
  createServer: (options, listener) => new Server(options, listener),
  createSecureContext: () => ({ context: {} }),
  checkServerIdentity() {},
  getCiphers: () => [],
  rootCertificates: [],
  DEFAULT_ECDH_CURVE: 'auto',
  DEFAULT_MAX_VERSION: 'TLSv1.3',
  DEFAULT_MIN_VERSION: 'TLSv1.2',
  CLIENT_RENEG_LIMIT: 3,
  CLIENT_RENEG_WINDOW: 600,
};
