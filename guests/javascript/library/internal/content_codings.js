// What the body of an answer is packed in (`Content-Encoding`), taken off piece by piece.
'use strict';

// Codings of one body, as many as Node.js takes off.
const MOST = 5;
const codings = new Set(['gzip', 'x-gzip', 'deflate', 'x-deflate', 'br']);

// Data of `deflate` is that of zlib, or raw: its first byte tells.
function codecFor(coding, first) {
  const { codec } = require('internal/codecs');
  const { Z_SYNC_FLUSH } = require('internal/zlib_constants').constants;
  if (coding === 'br') return codec('BrotliDecompress', {});
  const name = coding.endsWith('gzip') ? 'Gunzip' : (first & 0x0f) === 8 ? 'Inflate' : 'InflateRaw';
  return codec(name, { flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH });
}

async function* takeOff(coding, pieces) {
  let unpacking;
  for await (const piece of pieces) {
    unpacking ??= codecFor(coding, piece[0]);
    for (const { buffer, byteOffset, length } of unpacking.run(piece, unpacking.flush)) yield new Uint8Array(buffer, byteOffset, length);
  }
}

// A function that makes of pieces those that are in them, by the header that says how they are packed. What is not known stays as it is.
module.exports = function decoding(header) {
  const names = (header ?? '').toLowerCase().split(',').map((name) => name.trim()).filter(Boolean);
  if (names.length > MOST) throw new Error(`the answer is packed in more than ${MOST} codings`);
  if (!names.every((name) => codings.has(name))) return undefined;
  return (pieces) => names.toReversed().reduce((inner, name) => takeOff(name, inner), pieces);
};
