// The module `stream/consumers`: all that a stream gives, as one value.
'use strict';
const { Blob, Buffer } = require('buffer');

async function bytes(stream) {
  const pieces = [];
  for await (const chunk of stream) pieces.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return Buffer.concat(pieces);
}

async function text(stream) {
  return new TextDecoder().decode(await bytes(stream));
}

module.exports = {
  buffer: bytes,
  text,
  json: async (stream) => JSON.parse(await text(stream)),
  blob: async (stream) => new Blob([await bytes(stream)]),
  bytes: async (stream) => new Uint8Array(await bytes(stream)),
  arrayBuffer: async (stream) => {
    const whole = await bytes(stream);
    return whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.length);
  },
};
