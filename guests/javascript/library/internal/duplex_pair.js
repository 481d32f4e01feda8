// Two streams of which each gives what is written to the other.
'use strict';
const { Duplex } = require('readable-stream');

function duplexPair(options) {
  // For each side, the callback of a write that its reader has not asked for yet.
  const waiting = [null, null];
  const sides = [0, 1].map(
    (side) =>
      new Duplex({
        ...options,
        read() {
          const callback = waiting[side];
          waiting[side] = null;
          callback?.();
        },
        write(chunk, _encoding, callback) {
          if (chunk.length === 0) {
            process.nextTick(callback);
            return;
          }
          waiting[1 - side] = callback;
          sides[1 - side].push(chunk);
        },
        final(callback) {
          sides[1 - side].on('end', callback);
          sides[1 - side].push(null);
        },
      }),
  );
  return sides;
}

module.exports = { duplexPair };
