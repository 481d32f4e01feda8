// AES key wrap (RFC 3394), over a function that encrypts or decrypts one block.
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

function unwrap(block, data, start) {
  if (data.length < 24 || data.length % 8) return undefined;
  const out = Buffer.from(data);
  const count = data.length / 8 - 1;
  for (let step = 6 * count; step > 0; step--) {
    const at = 8 * (((step - 1) % count) + 1);
    mix(out, step);
    const made = Buffer.from(block(Buffer.concat([out.subarray(0, 8), out.subarray(at, at + 8)])));
    made.copy(out, 0, 0, 8);
    made.copy(out, at, 8);
  }
  return native.sameBytes(out.subarray(0, 8), start) ? out.subarray(8) : undefined;
}

module.exports = { unwrap, wrap };
