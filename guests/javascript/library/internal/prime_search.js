// The search for a long prime p that is `rest` modulo `step`; a safe one is such that (p - 1) / 2 is a prime too. A sieve takes away what small
// numbers divide, since a power of long numbers takes a thousand times as long as a step of the sieve.
'use strict';
const { error } = require('internal/arguments');
const { isPrime, mayBePrime, randomBits } = require('internal/numbers');

// As many rounds make the mistake less probable than 2 to the power of -100, for a number of at least 128 bits that was drawn here.
const ROUNDS = 24;
const roundsOf = (size) => (size >= 1024 ? 6 : ROUNDS);
const MOST_TURNS = 1000;
const LARGEST = 1 << 20;

let divisors = [];
let known = 0;
// The odd primes below a limit.
function divisorsBelow(limit) {
  if (limit > known) {
    const isComposite = new Uint8Array(limit);
    divisors = [];
    for (let number = 3; number < limit; number += 2) {
      if (isComposite[number]) continue;
      divisors.push(number);
      for (let multiple = number * number; multiple < limit; multiple += 2 * number) isComposite[multiple] = 1;
    }
    known = limit;
  }
  return divisors;
}

function inverse(number, modulus) {
  let [left, right, from, to] = [number, modulus, 1, 0];
  while (left > 1) {
    const times = Math.floor(right / left);
    [left, right, from, to] = [right - times * left, left, to - times * from, from];
  }
  return ((from % modulus) + modulus) % modulus;
}

// Of the numbers `first + count * step`, those that have a divisor.
function sieve(first, step, isSafe, size) {
  const taken = new Uint8Array(isSafe ? 1 << 17 : 1 << 13);
  const limit = Math.min(size * 256, LARGEST);
  for (const divisor of divisorsBelow(limit)) {
    if (divisor >= limit) break;
    const wide = BigInt(divisor);
    const stride = Number(step % wide);
    if (stride === 0) continue;
    const back = inverse(stride, divisor);
    const start = Number(first % wide);
    for (let at = ((divisor - start) * back) % divisor; at < taken.length; at += divisor) taken[at] = 1;
    if (!isSafe) continue;
    for (let at = ((divisor - start + 1) * back) % divisor; at < taken.length; at += divisor) taken[at] = 1;
  }
  return taken;
}

function searchPrime(size, step, rest, isSafe) {
  const [limit, top] = [1n << BigInt(size), 3n << BigInt(size - 2)];
  const rounds = roundsOf(size);
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const drawn = randomBits(size) | top;
    const first = drawn - (drawn % step) + rest;
    const taken = sieve(first, step, isSafe, size);
    for (let count = taken.indexOf(0); count >= 0; count = taken.indexOf(0, count + 1)) {
      const number = first + BigInt(count) * step;
      if (number >= limit) break;
      const half = (number - 1n) / 2n;
      if (number < limit >> 1n || (isSafe && !mayBePrime(half))) continue;
      if (mayBePrime(number) && isPrime(number, rounds) && (!isSafe || isPrime(half, rounds))) return number;
    }
  }
  throw error(RangeError, 'ERR_OUT_OF_RANGE', 'no such prime was found');
}

module.exports = { searchPrime };
