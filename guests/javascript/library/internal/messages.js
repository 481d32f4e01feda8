// MessageChannel and BroadcastChannel, within one program.
'use strict';

const { missing } = require('internal/arguments');
const { MessageEvent } = require('internal/events');

let making = false;
let connect;
let take;

class MessagePort extends EventTarget {
  #other;
  #queue = [];
  #started = false;
  #closed = false;
  #handler = null;
  // Listeners of Node.js's kind, by the function that was given.
  #wrapped = new Map();
  constructor() {
    if (!making) throw new TypeError('Illegal constructor');
    super();
  }
  static {
    connect = (left, right) => {
      left.#other = right;
      right.#other = left;
    };
    take = (port) => (port.#queue.length ? { message: port.#queue.shift() } : undefined);
  }
  postMessage(value, transfer) {
    const copy = structuredClone(value, { transfer: Array.isArray(transfer) ? transfer : transfer?.transfer });
    const to = this.#other;
    if (this.#closed || to.#closed) return;
    to.#queue.push(copy);
    to.#deliver();
  }
  #deliver() {
    if (!this.#started || !this.#queue.length) return;
    setImmediate(() => {
      if (!this.#queue.length || this.#closed) return;
      this.dispatchEvent(new MessageEvent('message', { data: this.#queue.shift() }));
      this.#deliver();
    });
  }
  start() {
    this.#started = true;
    this.#deliver();
  }
  close() {
    if (this.#closed) return;
    this.#closed = this.#other.#closed = true;
    for (const port of [this, this.#other]) setImmediate(() => port.dispatchEvent(new Event('close')));
  }
  get onmessage() {
    return this.#handler;
  }
  set onmessage(handler) {
    const before = this.#handler;
    this.#handler = typeof handler === 'function' ? handler : null;
    if (!before && this.#handler) this.addEventListener('message', (event) => this.#handler?.call(this, event));
    this.start();
  }
  on(name, listener) {
    const wrapped = (event) => listener(event.data);
    this.#wrapped.set(listener, wrapped);
    this.addEventListener(name, wrapped);
    if (name === 'message') this.start();
    return this;
  }
  once(name, listener) {
    const first = (data) => {
      this.off(name, first);
      listener(data);
    };
    return this.on(name, first);
  }
  off(name, listener) {
    this.removeEventListener(name, this.#wrapped.get(listener) ?? listener);
    this.#wrapped.delete(listener);
    return this;
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
}
MessagePort.prototype.addListener = MessagePort.prototype.on;
MessagePort.prototype.removeListener = MessagePort.prototype.off;

class MessageChannel {
  constructor() {
    making = true;
    this.port1 = new MessagePort();
    this.port2 = new MessagePort();
    making = false;
    connect(this.port1, this.port2);
  }
}

const open = new Set();

class BroadcastChannel extends EventTarget {
  #name;
  #handler = null;
  onmessageerror = null;
  constructor(name) {
    if (arguments.length === 0) throw new TypeError('BroadcastChannel needs a name');
    super();
    this.#name = `${name}`;
    this.addEventListener('message', (event) => this.#handler?.call(this, event));
    open.add(this);
  }
  get name() {
    return this.#name;
  }
  get onmessage() {
    return this.#handler;
  }
  set onmessage(handler) {
    this.#handler = typeof handler === 'function' ? handler : null;
  }
  postMessage(value) {
    if (arguments.length === 0) throw missing('message');
    if (!open.has(this)) throw new DOMException('The channel is closed', 'InvalidStateError');
    for (const other of open) {
      if (other === this || other.#name !== this.#name) continue;
      const data = structuredClone(value);
      setImmediate(() => {
        if (!open.has(other)) return;
        other.dispatchEvent(new MessageEvent('message', { data }));
      });
    }
  }
  close() {
    open.delete(this);
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
}

module.exports = { MessagePort, MessageChannel, BroadcastChannel, receive: (port) => take(port) };
