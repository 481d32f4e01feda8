// Frames of WebSocket (RFC 6455): those of a server are read, those of a client written.
'use strict';
const { Buffer } = require('buffer');

// Bytes of one message.
const MOST = 64 << 20;

const opcodes = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };

class FrameError extends Error {
  // `code`: with which the connection is closed.
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// Bytes that came and were not taken.
class Held {
  length = 0;
  #pieces = [];
  push(piece) {
    this.#pieces.push(piece);
    this.length += piece.length;
  }
  // The first bytes, which stay.
  peek(length) {
    if (this.#pieces[0].length < length) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0].subarray(0, length);
  }
  take(length) {
    if (!length) return Buffer.alloc(0);
    const taken = this.peek(length);
    const rest = this.#pieces[0].subarray(length);
    if (rest.length) this.#pieces[0] = rest;
    else this.#pieces.shift();
    this.length -= length;
    return taken;
  }
}

class FrameReader {
  #held = new Held();
  #message = [];
  #size = 0;
  #kind;
  #on;
  // `on`: told of `text` and `binary` messages, and of `close`, `ping` and `pong`, with bytes.
  constructor(on) {
    this.#on = on;
  }
  // Throws a FrameError.
  push(piece) {
    this.#held.push(piece);
    while (this.#next()) {
      // The next one.
    }
  }
  // Whether there was a whole frame.
  #next() {
    const held = this.#held;
    if (held.length < 2) return false;
    const [first, second] = held.peek(2);
    const isLast = Boolean(first & 0x80);
    const opcode = first & 0x0f;
    const short = second & 0x7f;
    if (first & 0x70) throw new FrameError(1002, 'a frame has bits that nobody agreed on');
    if (second & 0x80) throw new FrameError(1002, 'a frame of the server is masked');
    if (opcode >= 8 && (!isLast || short > 125)) throw new FrameError(1002, 'a control frame is in pieces or too long');
    const head = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
    if (held.length < head) return false;
    const bytes = held.peek(head);
    const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
    if (length + this.#size > MOST) throw new FrameError(1009, `a message has more than ${MOST} bytes`);
    if (held.length < head + length) return false;
    held.take(head);
    this.#take(opcode, isLast, held.take(length));
    return true;
  }
  #take(opcode, isLast, payload) {
    const name = Object.keys(opcodes).find((each) => opcodes[each] === opcode);
    if (name === undefined) throw new FrameError(1002, `there are no frames of kind ${opcode}`);
    if (opcode >= 8) return void this.#on[name](payload);
    if ((name === 'more') === (this.#kind === undefined)) throw new FrameError(1002, 'a message begins within another, or goes on without a beginning');
    if (name !== 'more') this.#kind = name;
    this.#message.push(payload);
    this.#size += payload.length;
    if (!isLast) return;
    const [kind, whole] = [this.#kind, this.#message.length === 1 ? payload : Buffer.concat(this.#message)];
    [this.#kind, this.#message, this.#size] = [undefined, [], 0];
    this.#on[kind](whole);
  }
}

// A frame of a client, masked as clients have to.
function frame(name, payload) {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 6 : length < 65536 ? 8 : 14);
  head[0] = 0x80 | opcodes[name];
  head[1] = 0x80 | (length < 126 ? length : length < 65536 ? 126 : 127);
  if (head.length === 8) head.writeUInt16BE(length, 2);
  else if (head.length === 14) head.writeBigUInt64BE(BigInt(length), 2);
  const mask = head.subarray(-4);
  crypto.getRandomValues(mask);
  // Four bytes at a time.
  const words = new Uint32Array(Math.ceil(length / 4));
  const bytes = Buffer.from(words.buffer);
  bytes.set(payload);
  const [word] = new Uint32Array(Uint8Array.from(mask).buffer);
  for (let at = 0; at < words.length; at++) words[at] ^= word;
  return Buffer.concat([head, bytes.subarray(0, length)]);
}

module.exports = { FrameError, FrameReader, frame };
