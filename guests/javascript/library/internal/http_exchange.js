// A request whose HTTP the host speaks: what stands for its socket, its body on the way out, and its answer.
'use strict';
const { IncomingMessage } = require('internal/http_incoming');
const { STATUS_CODES } = require('internal/http_names');
const { addressOf } = require('internal/names');
const { Exchange, Incoming } = require('internal/network');
const net = require('net');

// Headers between two neighbours: the host has its own.
const ofConnection = new Set(['connection', 'keep-alive', 'transfer-encoding', 'expect']);

// What stands for the socket of a request, of one of the classes of sockets.
const standIn = (Kind) =>
  class extends Kind {
    exchange;
    constructor({ host, port }) {
      super();
      this.remoteAddress = net.isIP(host) ? host : addressOf(host);
      this.remoteFamily = net.isIPv6(host) ? 'IPv6' : 'IPv4';
      this.remotePort = Number(port);
      if (this.encrypted) Object.assign(this, { authorized: true, servername: host });
    }
    get pending() {
      return false;
    }
    _read() {}
    _destroy(failure, callback) {
      this.exchange?.close(failure ?? undefined);
      super._destroy(failure, callback);
    }
  };

let plain, secure;

function socketFor(protocol, place) {
  if (protocol !== 'https:') return new (plain ??= standIn(net.Socket))(place);
  secure ??= standIn(require('tls').TLSSocket);
  return new secure(place);
}

const isStandIn = (socket) => Boolean((plain && socket instanceof plain) || (secure && socket instanceof secure));

// Names and values in turn, of a head as it is written.
function headersOf(head, authority) {
  const lines = head.split('\r\n').slice(1, -2);
  return lines.flatMap((line) => {
    const at = line.indexOf(':');
    const [name, value] = [line.slice(0, at), line.slice(at + 2)];
    const isUsual = name.toLowerCase() === 'host' && value === authority;
    return isUsual || ofConnection.has(name.toLowerCase()) ? [] : [name, value];
  });
}

// Sends the head of a request.
function begin(request, hasBody) {
  const { host, method, path, port, protocol, socket } = request;
  const name = net.isIPv6(host) ? `[${host}]` : host;
  const authority = port === (protocol === 'https:' ? 443 : 80) ? name : `${name}:${port}`;
  const url = { href: `${protocol}//${authority}${path}`, hostname: host, port, protocol };
  socket.exchange = new Exchange({ method, url, headers: headersOf(request._header, authority), hasBody });
  answer(request, socket);
}

async function answer(request, socket) {
  const { exchange } = socket;
  let head;
  try {
    head = await exchange.head();
  } catch (failure) {
    request.destroy(failure);
    return;
  }
  socket._act();
  const [status, raw] = head;
  const response = new IncomingMessage(socket);
  response._fill({ major: 1, minor: 1, status, message: STATUS_CODES[status] ?? '', raw });
  const isBare = request.method === 'HEAD' || status === 204 || status === 304;
  const incoming = isBare ? undefined : new Incoming(exchange);
  if (isBare) exchange.discard();
  response._read = () => read(response, incoming, socket);
  process.nextTick(() => request._answer(response));
}

// What a listener throws is thrown by itself, and rejects no promise.
function read(response, incoming, socket) {
  const give = (piece) => {
    socket._act();
    if (piece) socket.bytesRead += piece.length;
    else response.complete = true;
    response.push(piece);
  };
  const next = incoming ? incoming.read() : Promise.resolve(null);
  next.then(
    (piece) => process.nextTick(give, piece),
    (failure) => process.nextTick(() => response._abort(failure)),
  );
}

module.exports = { begin, isStandIn, socketFor };
