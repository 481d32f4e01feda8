// Answers of HTTP/1.1 in the bytes of a connection.
'use strict';
const { Buffer } = require('buffer');

// Bytes of a head, of the line before a chunk, and of trailers.
const MAX_HEAD = 64 << 10;
const MAX_LINE = 4 << 10;

const nothing = Buffer.alloc(0);
const wrong = (reason) => Object.assign(new Error(`Parse Error: ${reason}`), { code: 'HPE_INVALID_CONSTANT', reason });
const tooLong = (what) => Object.assign(new Error(`Parse Error: ${what} overflow`), { code: 'HPE_HEADER_OVERFLOW', reason: `${what} overflow` });

// Names and values in turn.
function linesOf(text) {
  return text.split('\r\n').flatMap((line) => {
    const [, name, value] = /^([^\s:]+):[ \t]*(.*?)[ \t]*$/s.exec(line) ?? [];
    if (name === undefined) throw wrong('Invalid header line');
    return [name, value];
  });
}

// Reads one answer after another. It tells `on`: `head` of a head, whose answer is whether no body follows, and, with `'over'`, whether no
// HTTP follows, `data`, `end` with trailers, and `rest` of what follows when no HTTP does.
class AnswerParser {
  #on;
  #held = nothing;
  // Reads what is held; false: more has to come.
  #state = this.#head;
  #left = 0;
  constructor(on) {
    this.#on = on;
  }
  // Throws what is wrong.
  push(piece) {
    this.#held = this.#held.length ? Buffer.concat([this.#held, piece]) : piece;
    while (this.#held.length && this.#state()) {
      // The next state goes on.
    }
  }
  // The connection ended.
  end() {
    if (this.#state === this.#untilEnd) this.#finish([]);
    else if (this.#state !== this.#head || this.#held.length) throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
  }
  #take(length) {
    const taken = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(length);
    return taken;
  }
  // What stands before a mark, without it; undefined: the mark has not come.
  #before(mark, most, what) {
    const at = this.#held.indexOf(mark);
    if (at > most || (at < 0 && this.#held.length > most)) throw tooLong(what);
    if (at < 0) return undefined;
    const text = this.#take(at).latin1Slice();
    this.#take(mark.length);
    return text;
  }
  #head() {
    const text = this.#before('\r\n\r\n', MAX_HEAD, 'Header');
    if (text === undefined) return false;
    const [first, ...lines] = text.split('\r\n');
    const [, major, minor, status, message] = /^HTTP\/(\d)\.(\d) (\d{3})(?: (.*))?$/s.exec(first) ?? [];
    if (!status) throw wrong('Expected HTTP/');
    const raw = lines.length ? linesOf(lines.join('\r\n')) : [];
    const values = (wanted) => raw.filter((_, at) => at % 2 && raw[at - 1].toLowerCase() === wanted);
    const isBare = this.#on.head({ major: Number(major), minor: Number(minor), status: Number(status), message: message ?? '', raw });
    if (isBare === 'over') {
      this.#state = this.#over;
      return true;
    }
    const lengths = values('content-length');
    if (isBare) {
      if (Number(status) >= 200) this.#finish([]);
      return true;
    }
    if (/\bchunked\s*$/i.test(values('transfer-encoding').at(-1) ?? '')) {
      this.#state = this.#chunk;
    } else if (lengths.length) {
      if (!lengths.every((length) => /^\d+$/.test(length) && length === lengths[0])) throw wrong('Invalid Content-Length');
      this.#left = Number(lengths[0]);
      this.#state = this.#counted;
      if (!this.#left) this.#finish([]);
    } else this.#state = this.#untilEnd;
    return true;
  }
  #finish(trailers) {
    this.#state = this.#head;
    this.#on.end(trailers);
  }
  #pass() {
    const piece = this.#take(Math.min(this.#left, this.#held.length));
    this.#left -= piece.length;
    if (piece.length) this.#on.data(piece);
    return this.#left === 0;
  }
  #counted() {
    const isDone = this.#pass();
    if (isDone) this.#finish([]);
    return isDone;
  }
  #untilEnd() {
    this.#on.data(this.#take(this.#held.length));
    return false;
  }
  #chunk() {
    const text = this.#before('\r\n', MAX_LINE, 'Chunk');
    if (text === undefined) return false;
    const size = /^([\da-f]{1,12})[ \t]*(?:;.*)?$/i.exec(text)?.[1];
    if (!size) throw wrong('Invalid character in chunk size');
    this.#left = parseInt(size, 16);
    this.#state = this.#left ? this.#inChunk : this.#trailer;
    return true;
  }
  #inChunk() {
    const isDone = this.#pass();
    if (isDone) this.#state = this.#chunkEnd;
    return isDone;
  }
  #chunkEnd() {
    if (this.#held.length < 2) return false;
    if (this.#take(2).latin1Slice() !== '\r\n') throw wrong('Expected LF after chunk data');
    this.#state = this.#chunk;
    return true;
  }
  #trailer() {
    if (this.#held.length < 2) return false;
    if (this.#held.latin1Slice(0, 2) === '\r\n') {
      this.#take(2);
      this.#finish([]);
      return true;
    }
    const text = this.#before('\r\n\r\n', MAX_HEAD, 'Trailer');
    if (text === undefined) return false;
    this.#finish(linesOf(text));
    return true;
  }
  #over() {
    this.#on.rest(this.#take(this.#held.length));
    return false;
  }
}

module.exports = { AnswerParser };
