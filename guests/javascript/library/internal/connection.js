// A stream of bytes to a host, and the greeting that stands where a handshake of TLS would be: the host speaks TLS.
'use strict';
const { Buffer } = require('buffer');
const { errorOf, failureOf } = require('internal/network');
const { netClose, netFinish, netOpen, netReceive, netSend, netWaitedFor, netWatch } = native;

// The longest answer to a greeting.
const MAX_LINE = 4096;

class Connection {
  // Whether nothing was sent yet.
  isNew = true;
  #id;
  #place;
  // What was read beyond what was asked for.
  #left = [];
  // Throws the error of a connection that is refused at once.
  constructor(host, port) {
    this.#place = { host, port };
    try {
      this.#id = netOpen(host, port);
    } catch (thrown) {
      throw failureOf(thrown, this.#place);
    }
  }
  get place() {
    return this.#place;
  }
  // Calls back with an error, or with what a call gives, once it gives something.
  #get(call, writes, callback) {
    let given;
    try {
      given = call(this.#id);
      if (given === undefined) netWatch(() => this.#get(call, writes, callback), this.#id, writes);
    } catch (thrown) {
      callback(failureOf(thrown, this.#place));
      return;
    }
    if (given !== undefined) callback(null, given);
  }
  // The next bytes; null: the end.
  receive(callback) {
    if (this.#left.length) callback(null, this.#left.shift());
    else this.#get(netReceive, false, (error, piece) => callback(error, piece?.byteLength ? Buffer.from(piece) : null));
  }
  send(bytes, callback) {
    this.isNew = false;
    let at = 0;
    const go = (error, taken = 0) => {
      at += taken;
      if (error || at >= bytes.length) callback(error ?? null);
      else this.#get((id) => netSend(id, bytes, at), true, go);
    };
    go(null);
  }
  finish() {
    try {
      netFinish(this.#id);
    } catch {
      // It is closed.
    }
  }
  close() {
    netClose(this.#id);
  }
  waitFor(isWaitedFor) {
    try {
      netWaitedFor(this.#id, isWaitedFor);
    } catch {
      // It is closed.
    }
  }
  // Asks for TLS to a name. Calls back with an error, or with the protocol that was agreed on.
  greet(name, protocols, callback) {
    const { host } = this.#place;
    if (!this.isNew) {
      const sentence = `TLS to \`${host}\` cannot begin on a connection that carries bytes already: the host speaks TLS, from the beginning`;
      process.nextTick(callback, errorOf('protocol', sentence, this.#place));
      return;
    }
    const fail = (sentence) => callback(errorOf('protocol', sentence, this.#place));
    let line = Buffer.alloc(0);
    const read = (error, piece) => {
      if (error) return callback(error);
      if (piece === null) return fail(`the connection to \`${host}\` ended before TLS began`);
      line = Buffer.concat([line, piece]);
      const end = line.indexOf(10);
      if (line[0] !== 0x16 || (end < 0 && line.length > MAX_LINE)) return fail(`\`${host}\` speaks no TLS, or the rule for it is one of bytes (tcp)`);
      if (end < 0) return this.receive(read);
      if (end + 1 < line.length) this.#left.push(line.subarray(end + 1));
      return this.#agree(line.toString('utf8', 1, end), callback);
    };
    const greeting = JSON.stringify({ name, alpn: protocols });
    this.send(Buffer.concat([Buffer.of(0x16), Buffer.from(`${greeting}\n`)]), (error) => (error ? callback(error) : this.receive(read)));
  }
  #agree(text, callback) {
    let told;
    try {
      told = JSON.parse(text);
    } catch {
      callback(errorOf('protocol', `what \`${this.#place.host}\` answers is no TLS`, this.#place));
      return;
    }
    const { alpn, error: reason, message } = told;
    if (reason === undefined) callback(null, alpn ?? false);
    else callback(errorOf(troubleOf(reason), message, this.#place));
  }
}

// The trouble of a reason that the host's gate has.
function troubleOf(reason) {
  if (['refused', 'reset', 'untrusted'].includes(reason)) return reason;
  if (['unknown_name', 'timed_out'].includes(reason)) return reason.replace('_', '-');
  if (['requests', 'connections', 'bytes_out', 'bytes_in'].includes(reason)) return 'exhausted';
  return ['form', 'encoding', 'upgrade', 'cancelled'].includes(reason) ? 'protocol' : 'denied';
}

module.exports = { Connection };
