// Frames of WebSocket (RFC 6455): those of a server are read, those of a client written.
'use strict';
const { Buffer } = require('buffer');

// Bytes of one message.
const MOST = 64 << 20;

const opcodes = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };
const names = Object.keys(opcodes).reduce((list, name) => Object.assign(list, { [opcodes[name]]: name }), []);

class FrameError extends Error {
  // `code`: with which the connection is closed.
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// Room for so many bytes.
function roomFor(length) {
  try {
    return new Uint8Array(length);
  } catch {
    throw new FrameError(1009, `there is no memory for a message of ${length} bytes`);
  }
}

class FrameReader {
  // Of a head that has not come as a whole: its beginning.
  #head = Buffer.alloc(0);
  // The frame whose payload is read: how long that is, and what has come of it.
  #frame;
  #message = [];
  #size = 0;
  #kind;
  #on;
  // `on`: told of `text` and `binary` messages, and of `close`, `ping` and `pong`, with bytes. Of those that are all of their buffer nobody else
  // has it.
  constructor(on) {
    this.#on = on;
  }
  // Throws a FrameError.
  push(piece) {
    let rest = this.#head.length ? Buffer.concat([this.#head, piece]) : piece;
    this.#head = rest.subarray(0, 0);
    while (rest.length) {
      const head = this.#frame ? 0 : this.#begin(rest);
      if (!this.#frame) {
        this.#head = Buffer.from(rest);
        return;
      }
      rest = rest.subarray(this.#fill(head ? rest.subarray(head) : rest) + head);
    }
  }
  // Begins with a frame, if its head is whole. Of how many bytes that is.
  #begin(bytes) {
    if (bytes.length < 2) return 0;
    const [first, second] = [bytes[0], bytes[1]];
    const isLast = first >= 0x80;
    const opcode = first & 0x0f;
    const short = second & 0x7f;
    if (first & 0x70) throw new FrameError(1002, 'a frame has bits that nobody agreed on');
    if (second & 0x80) throw new FrameError(1002, 'a frame of the server is masked');
    if (opcode >= 8 && (!isLast || short > 125)) throw new FrameError(1002, 'a control frame is in pieces or too long');
    if (names[opcode] === undefined) throw new FrameError(1002, `there are no frames of kind ${opcode}`);
    const head = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
    if (bytes.length < head) return 0;
    const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
    if (length + this.#size > MOST) throw new FrameError(1009, `a message has more than ${MOST} bytes`);
    this.#frame = { opcode, isLast, length, came: 0, payload: undefined };
    return head;
  }
  // Takes what is there of the payload. How many bytes that was.
  #fill(bytes) {
    const frame = this.#frame;
    const part = bytes.subarray(0, frame.length - frame.came);
    // What has come in one piece is not copied.
    if (part.length === frame.length) frame.payload = part;
    else {
      frame.payload ??= roomFor(frame.length);
      frame.payload.set(part, frame.came);
    }
    frame.came += part.length;
    if (frame.came === frame.length) {
      this.#frame = undefined;
      this.#take(frame);
    }
    return part.length;
  }
  #take({ opcode, isLast, payload }) {
    const name = names[opcode];
    if (opcode >= 8) return void this.#on[name](payload);
    if ((name === 'more') === (this.#kind === undefined)) throw new FrameError(1002, 'a message begins within another, or goes on without a beginning');
    if (name !== 'more') this.#kind = name;
    if (isLast && !this.#message.length) {
      this.#kind = undefined;
      return void this.#on[name](payload);
    }
    this.#message.push(payload);
    this.#size += payload.length;
    if (!isLast) return;
    const [kind, whole] = [this.#kind, this.#join()];
    [this.#kind, this.#size] = [undefined, 0];
    this.#on[kind](whole);
  }
  // The message as one, whose parts are let go meanwhile.
  #join() {
    const whole = roomFor(this.#size);
    let at = 0;
    for (let part; (part = this.#message.shift()); at += part.length) whole.set(part, at);
    return whole;
  }
}

// A frame of a client, masked as clients have to.
function frame(name, payload) {
  const { length } = payload;
  const size = length < 126 ? 6 : length < 65536 ? 8 : 14;
  const bytes = Buffer.from(new ArrayBuffer(size + length));
  bytes[0] = 0x80 | opcodes[name];
  bytes[1] = 0x80 | (length < 126 ? length : length < 65536 ? 126 : 127);
  if (size === 8) bytes.writeUInt16BE(length, 2);
  else if (size === 14) bytes.writeBigUInt64BE(BigInt(length), 2);
  crypto.getRandomValues(bytes.subarray(size - 4, size));
  bytes.set(payload, size);
  native.netMask(bytes, size);
  return bytes;
}

module.exports = { FrameError, FrameReader, frame };
