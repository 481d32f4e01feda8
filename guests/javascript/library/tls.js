// The module `tls`. The host speaks TLS and checks certificates, by its own authorities: what a program sets changes nothing.
'use strict';
const net = require('net');

const protocolsOf = (given) => [given ?? []].flat().map((protocol) => `${protocol}`);

class TLSSocket extends net.Socket {
  encrypted = true;
  authorized = false;
  authorizationError = null;
  alpnProtocol = false;
  // Tools reach for the class of streams that Node.js wraps sockets in.
  _handle = { _parentWrap: this };
  #options;
  constructor(socket, options = {}) {
    super(options);
    this.#options = options;
    if (socket) this.#takeOver(socket);
  }
  // Goes on with the connection of a socket on which nothing was sent.
  #takeOver(socket) {
    if (!(socket instanceof net.Socket)) {
      this._read = this._write = () => this.destroy(new TypeError('TLS goes over a connection of the module `net` only, because the host speaks it'));
      return;
    }
    this.connecting = true;
    this._host = socket._host;
    const take = () => {
      const connection = socket._give();
      socket.on('close', () => this.destroy());
      this.remoteAddress = socket.remoteAddress;
      this.remotePort = socket.remotePort;
      this.remoteFamily = socket.remoteFamily;
      this.#greet(connection, (failure) => {
        if (this.destroyed || failure) connection.close();
        if (failure) this.destroy(failure);
        else if (!this.destroyed) this._take(connection);
      });
    };
    socket.on('error', (failure) => this.destroy(failure));
    if (socket.connecting) socket.once('connect', take);
    else process.nextTick(take);
  }
  _open(address, port, options, callback) {
    super._open(address, port, options, (failure, connection) => {
      if (failure) callback(failure);
      else this.#greet(connection, (refused) => callback(refused, connection));
    });
  }
  #greet(connection, callback) {
    const { host } = connection.place;
    this.servername = this.#options.servername || host;
    connection.greet(host, protocolsOf(this.#options.ALPNProtocols), (failure, protocol) => {
      this.authorized = !failure;
      this.alpnProtocol = protocol ?? false;
      callback(failure);
    });
  }
  _take(connection) {
    super._take(connection);
    this.emit('secureConnect');
  }
  getPeerCertificate() {
    return {};
  }
  getCertificate() {
    return {};
  }
  getPeerX509Certificate() {}
  getX509Certificate() {}
  getProtocol() {
    return this.authorized ? 'TLSv1.3' : null;
  }
  getCipher() {
    return {};
  }
  getSession() {}
  getTLSTicket() {}
  getFinished() {}
  getPeerFinished() {}
  getEphemeralKeyInfo() {
    return {};
  }
  isSessionReused() {
    return false;
  }
  setServername(name) {
    this.#options = { ...this.#options, servername: name };
  }
  setSession() {}
  setMaxSendFragment() {
    return true;
  }
  disableRenegotiation() {}
  enableTrace() {}
  renegotiate(_options, callback) {
    const failure = new Error('TLS is not negotiated anew: the host speaks it');
    if (callback) process.nextTick(callback, failure);
    return false;
  }
}
class Server extends net.Server {}

// What was given, as options, and a function.
function optionsOf(values) {
  const options = {};
  let callback;
  for (const [at, value] of values.entries()) {
    if (typeof value === 'function') callback = value;
    else if (typeof value === 'object' && value !== null) Object.assign(options, value);
    else if (at === 0) options.port = value;
    else if (at === 1 && value !== undefined && value !== null) options.host = value;
  }
  return [options, callback];
}

function connect(...values) {
  const [options, callback] = optionsOf(values);
  const socket = new TLSSocket(options.socket, options);
  if (callback) socket.once('secureConnect', callback);
  if (options.timeout) socket.setTimeout(options.timeout);
  return (shared.asides.value = options.socket ? socket : socket.connect(options));
}

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
