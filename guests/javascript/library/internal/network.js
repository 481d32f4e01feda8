// The network: exchanges of HTTP, of which only so many are under way at one time, the bodies of their answers, and errors of connections.
'use strict';
const { netClose, netExchange, netFinish, netReceive, netResponse, netRuns, netSend, netWatch } = native;

// Exchanges that are under way at one time: fewer than the host's usual budget of connections, so that sockets find room beside them.
const AT_ONCE = 16;
// Bytes of a request that lie between this program and the host at most: if more were taken, the host has begun with it.
const BETWEEN = 64 << 10;
// Bytes of an answer that are read before anyone asks for them. What is read stays when its run, and so its connection, is over.
const AHEAD = 256 << 10;

// --- Errors.

const errors = {
  denied: ['EACCES', -13, 'connect'],
  'unknown-name': ['ENOTFOUND', -3008, 'getaddrinfo'],
  refused: ['ECONNREFUSED', -111, 'connect'],
  reset: ['ECONNRESET', -104, 'read'],
  closed: ['ECONNRESET', -104, 'read'],
  'timed-out': ['ETIMEDOUT', -110, 'connect'],
  untrusted: ['UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  protocol: ['EPROTO', -71, 'read'],
  exhausted: ['EDQUOT', -122, 'connect'],
};
const certificates = [
  [/expired/, 'CERT_HAS_EXPIRED'],
  [/not valid yet/, 'CERT_NOT_YET_VALID'],
  [/another name/, 'ERR_TLS_CERT_ALTNAME_INVALID'],
];

// The error of a trouble, with the codes of Node.js. `sentence`: what the host says of it. `place`: the host, and its port.
function errorOf(trouble, sentence, { host, port }) {
  const [usual, errno, syscall] = errors[trouble] ?? errors.protocol;
  const code = trouble === 'untrusted' ? (certificates.find(([words]) => words.test(sentence))?.[1] ?? usual) : usual;
  const message = code === 'ENOTFOUND' ? `getaddrinfo ENOTFOUND ${host}` : code === 'ECONNREFUSED' ? `connect ECONNREFUSED ${host}:${port}` : sentence;
  const error = Object.assign(new Error(message), { code });
  if (errno) Object.assign(error, { errno, syscall });
  return Object.assign(error, syscall === 'getaddrinfo' ? { hostname: host } : syscall === 'connect' ? { address: host, port } : {});
}

// What a call of the network threw: told of by the host, or thrown on.
function failureOf(thrown, place) {
  if (thrown?.trouble === undefined) throw thrown;
  return errorOf(thrown.trouble, thrown.message, place);
}

// --- Exchanges.

// Those that are under way in this run, and those that wait for their turn.
let run;
let open = new Set();
let waiting = [];
let limit = AT_ONCE;

function enter() {
  if (run === netRuns()) return;
  run = netRuns();
  open = new Set();
  waiting = [];
  limit = AT_ONCE;
}

let begin;

function next() {
  while (waiting.length && open.size < limit) {
    // The host may allow fewer.
    if (!begin(waiting[0], open.size > 0)) limit = open.size;
    else waiting.shift();
  }
  if (waiting.length) for (const exchange of open) exchange.incoming?.hurry();
}

// A request and its answer.
class Exchange {
  // The body of the answer, and who is told of the end.
  incoming;
  onclose;
  #about;
  #run;
  #id;
  #failure;
  #begun = Promise.withResolvers();
  // Who waits for the connection.
  #wakes = new Set();
  // What was to be sent, as long as the host may not have begun with the request; and how much of it was taken.
  #sent = [];
  #taken = 0;
  #isFinished = false;
  // How often it was begun, and what is sent anew.
  #times = 0;
  #anew;
  // `about`: its method, URL (an object), headers (names and values in turn), and whether it has a body.
  constructor(about) {
    enter();
    this.#run = run;
    this.#about = about;
    this.#begun.promise.catch(() => {});
    waiting.push(this);
    next();
  }
  static {
    // False: there are as many as may be. `mayWait`: there will be fewer.
    begin = (exchange, mayWait) => {
      const { method, url, headers, hasBody } = exchange.#about;
      try {
        exchange.#id = netExchange(method, url.href, headers, hasBody);
        open.add(exchange);
        exchange.#begun.resolve();
      } catch (thrown) {
        if (thrown?.trouble === 'exhausted' && mayWait) return false;
        exchange.#failure = failureOf(thrown, exchange.#place);
        exchange.#begun.reject(exchange.#failure);
      }
      return true;
    };
  }
  get isOver() {
    return Boolean(this.#failure);
  }
  get #place() {
    const { hostname: host, port, protocol } = this.#about.url;
    return { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
  }
  // What a call gives, once it gives something.
  async #get(call, writes) {
    for (;;) {
      await this.#begun.promise;
      if (this.#failure) throw this.#failure;
      try {
        const given = call(this.#id);
        if (given !== undefined) return given;
      } catch (thrown) {
        const failure = failureOf(thrown, this.#place);
        if (thrown.trouble === 'exhausted' && this.#sent && open.size > 1) {
          this.#beginAnew();
          continue;
        }
        // An answer may be there all the same when nothing more can be sent.
        if (!writes) this.close(failure);
        throw failure;
      }
      await new Promise((wake) => {
        this.#wakes.add(wake);
        netWatch(() => this.#wake(wake), this.#id, writes);
      });
    }
  }
  #wake(wake) {
    this.#wakes.delete(wake);
    wake();
  }
  // The host allows fewer connections at one time, so it has not begun with this one: it waits for its turn again.
  #beginAnew() {
    netClose(this.#id);
    this.#id = undefined;
    this.#begun = Promise.withResolvers();
    this.#begun.promise.catch(() => {});
    this.#times++;
    this.#taken = 0;
    open.delete(this);
    limit = open.size;
    waiting.unshift(this);
    this.#anew = this.#sendAnew(this.#sent.splice(0)).catch(() => {});
    for (const wake of this.#wakes) this.#wake(wake);
  }
  async #sendAnew(pieces) {
    const isFinished = this.#isFinished;
    for (const piece of pieces) await this.#send(piece);
    if (isFinished) await this.#finish();
  }
  // Its status, and its headers: names and values in turn.
  async head() {
    const head = await this.#get((id) => netResponse(id), false);
    this.#sent = undefined;
    return head;
  }
  // The next bytes of the answer; null: its end.
  async read() {
    const piece = await this.#get((id) => netReceive(id), false);
    if (piece.byteLength) return new Uint8Array(piece);
    this.close();
    return null;
  }
  // Sends all bytes, as fast as they are taken.
  async write(bytes) {
    await this.#anew;
    await this.#send(bytes);
  }
  async #send(bytes) {
    this.#sent?.push(bytes);
    const times = this.#times;
    // If it is begun anew, this piece is sent anew as well.
    const send = (at) => (id) => (times === this.#times ? netSend(id, bytes, at) : bytes.length - at);
    for (let at = 0; at < bytes.length; ) {
      const taken = await this.#get(send(at), true);
      at += taken;
      if (times === this.#times) this.#taken += taken;
      if (this.#taken > BETWEEN) this.#sent = undefined;
    }
  }
  async finish() {
    await this.#anew;
    await this.#finish();
  }
  async #finish() {
    this.#isFinished = true;
    await this.#begun.promise;
    if (!this.#failure) netFinish(this.#id);
  }
  // Throws when the run is over in which it was made.
  check() {
    if (this.#run === netRuns()) return;
    const failure = errorOf('closed', 'the connection ended with its run: read an answer in the run that asks for it', this.#place);
    this.close(failure);
    throw failure;
  }
  // Ends it. Who waits for something of it has the failure.
  close(failure = errorOf('closed', 'the connection is closed', this.#place)) {
    if (this.#failure) return;
    this.#failure = failure;
    if (this.#id === undefined) {
      waiting = waiting.filter((each) => each !== this);
      this.#begun.reject(failure);
      return;
    }
    netClose(this.#id);
    if (open.delete(this)) next();
    for (const wake of this.#wakes) this.#wake(wake);
    this.onclose?.();
  }
  // Reads what is left of an answer that nobody wants, if that is little: the connection can be used again then.
  async discard() {
    try {
      for (let left = 64 << 10; left > 0; ) left -= (await this.read())?.length ?? Infinity;
    } catch {
      // It is over.
    }
    this.close();
  }
}

// The body of an answer: read ahead, and to its end when others wait for its place.
class Incoming {
  // Is told of a failure that its reader does not wait for.
  onfailure;
  #exchange;
  #pieces;
  // What was read and nobody has asked for.
  #read = [];
  #size = 0;
  #hurries = false;
  #isFilling = false;
  #isOver = false;
  #failure;
  #changed;
  #told;
  // `decode`: makes what is to be read of the pieces that come. `told`: the error that its reader has for a failure.
  constructor(exchange, { decode = (pieces) => pieces, told = (failure) => failure } = {}) {
    this.#exchange = exchange;
    this.#told = told;
    this.#pieces = decode(Incoming.#piecesOf(exchange));
    exchange.incoming = this;
    this.#hurries = waiting.length > 0;
    this.#fill();
  }
  static async *#piecesOf(exchange) {
    for (let piece; (piece = await exchange.read()); ) yield piece;
  }
  async #fill() {
    if (this.#isFilling) return;
    this.#isFilling = true;
    try {
      while (!this.#isOver && (this.#hurries || this.#size < AHEAD)) {
        const { value, done } = await this.#pieces.next();
        if (this.#isOver) break;
        if (done) {
          this.#isOver = true;
          this.#exchange.close();
        } else {
          this.#read.push(value);
          this.#size += value.length;
        }
        this.#tell();
      }
    } catch (failure) {
      this.fail(this.#told(failure));
    }
    this.#isFilling = false;
  }
  #tell() {
    this.#changed?.resolve();
    this.#changed = undefined;
  }
  // The next bytes; null: the end.
  async read() {
    while (!this.#read.length) {
      if (this.#failure) throw this.#failure;
      if (this.#isOver) return null;
      this.#check();
      this.#fill();
      this.#changed ??= Promise.withResolvers();
      await this.#changed.promise;
    }
    const piece = this.#read.shift();
    this.#size -= piece.length;
    this.#fill();
    return piece;
  }
  #check() {
    try {
      this.#exchange.check();
    } catch (failure) {
      this.fail(this.#told(failure));
      throw this.#failure;
    }
  }
  hurry() {
    if (this.#hurries) return;
    this.#hurries = true;
    this.#fill();
  }
  // Nobody reads on.
  cancel(reason) {
    this.#isOver = true;
    this.#read = [];
    this.#exchange.close(reason);
    this.#tell();
  }
  fail(failure) {
    if (this.#isOver) return;
    this.#failure = failure;
    this.cancel(failure);
    this.onfailure?.(failure);
  }
}

module.exports = { Exchange, Incoming, errorOf, failureOf };
