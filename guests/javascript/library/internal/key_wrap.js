// AES key wrap (RFC 3394), and the one with padding (RFC 5649), over a function that encrypts or decrypts one block.
'use strict';
const { Buffer } = require('buffer');

// Mixes the number of a step into the first half of a block.
function mix(half, step) {
  half.writeUInt32BE((half.readUInt32BE(4) ^ step) >>> 0, 4);
}

function wrap(block, data, start) {
  if (data.length < 16 || data.length % 8) return undefined;
  const out = Buffer.concat([start, data]);
  const count = data.length / 8;
  for (let step = 1; step <= 6 * count; step++) {
    const at = 8 * (((step - 1) % count) + 1);
    const made = Buffer.from(block(Buffer.concat([out.subarray(0, 8), out.subarray(at, at + 8)])));
    mix(made, step);
    made.copy(out, 0, 0, 8);
    made.copy(out, at, 8);
  }
  return out;
}

// What was wrapped, after the start.
function unmix(block, data) {
  const out = Buffer.from(data);
  const count = data.length / 8 - 1;
  for (let step = 6 * count; step > 0; step--) {
    const at = 8 * (((step - 1) % count) + 1);
    mix(out, step);
    const made = Buffer.from(block(Buffer.concat([out.subarray(0, 8), out.subarray(at, at + 8)])));
    made.copy(out, 0, 0, 8);
    made.copy(out, at, 8);
  }
  return out;
}

function unwrap(block, data, start) {
  if (data.length < 24 || data.length % 8) return undefined;
  const out = unmix(block, data);
  return native.sameBytes(out.subarray(0, 8), start) ? out.subarray(8) : undefined;
}

// With padding the start has four bytes, and four that are the length.
function wrapPadded(block, data, start) {
  if (!data.length || start.length !== 4) return undefined;
  const padded = Buffer.concat([data, Buffer.alloc((8 - (data.length % 8)) % 8)]);
  const whole = Buffer.concat([start, Buffer.alloc(4)]);
  whole.writeUInt32BE(data.length, 4);
  return padded.length === 8 ? Buffer.from(block(Buffer.concat([whole, padded]))) : wrap(block, padded, whole);
}

function unwrapPadded(block, data, start) {
  if (data.length < 16 || data.length % 8) return undefined;
  const plain = data.length === 16 ? Buffer.from(block(data)) : unmix(block, data);
  const length = plain.readUInt32BE(4);
  const padding = plain.length - 8 - length;
  const isRight = native.sameBytes(plain.subarray(0, 4), start) && padding >= 0 && padding < 8 && plain.subarray(8 + length).every((byte) => byte === 0);
  return isRight ? plain.subarray(8, 8 + length) : undefined;
}

module.exports = { unwrap, unwrapPadded, wrap, wrapPadded };
