// What is known of a file, in numbers of any length and times to the nanosecond.
'use strict';
const { Stats } = require('fs');

const PER_SECOND = 1000000000n;
const PER_MILLISECOND = 1000000n;
const numbers = ['dev', 'mode', 'nlink', 'uid', 'gid', 'rdev', 'blksize', 'ino', 'size', 'blocks'];
const times = ['atime', 'mtime', 'ctime', 'birthtime'];

class BigIntStats {
  constructor(stats, nanoseconds) {
    for (const name of numbers) this[name] = BigInt(stats[name]);
    const exact = times.map((name, index) => whole(stats[`${name}Ms`], nanoseconds[Math.min(index, 2)]));
    times.forEach((name, index) => (this[`${name}Ms`] = exact[index] / PER_MILLISECOND));
    times.forEach((name, index) => (this[`${name}Ns`] = exact[index]));
    for (const name of times) this[name] = stats[name];
  }
}
Object.setPrototypeOf(BigIntStats.prototype, Stats.prototype);

// Milliseconds as a number lose the last digits, which are known besides.
function whole(milliseconds, nanoseconds) {
  return BigInt(Math.round((milliseconds - nanoseconds / 1e6) / 1000)) * PER_SECOND + BigInt(nanoseconds);
}

module.exports = (stats, nanoseconds) => new BigIntStats(stats, nanoseconds);
