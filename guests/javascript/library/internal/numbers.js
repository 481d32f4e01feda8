// Whole numbers: their bytes, powers of them modulo another, and whether one is a prime.
'use strict';
const { outOfRange } = require('internal/arguments');
const { Buffer } = require('buffer');
const { fillRandom, pair } = native;

// Longer numbers than this the native library does not take.
const LONGEST = 10000;
const ROUNDS = 24;
const none = new Uint8Array(0);

const numberOf = (bytes) => BigInt(`0x${Buffer.from(bytes).toString('hex') || 0}`);
function bytesOf(number, length) {
  const digits = number.toString(16);
  return Buffer.from(digits.padStart(length ? length * 2 : digits.length + (digits.length % 2), '0'), 'hex');
}

// The bits of a number that bytes are, of which the first is not zero.
const bitsOf = (bytes) => bytes.length * 8 - Math.clz32(bytes[0]) + 24;

// The bytes of a power, as many as the modulus has; undefined: a number is too long.
function powerOf(base, exponent, modulus) {
  const raised = pair('power', base, exponent, modulus);
  return raised ? Buffer.from(raised) : undefined;
}

// What a prime passes and hardly any other number, for odd numbers.
function mayBePrime(number) {
  const answer = pair('fermat', bytesOf(number), none, none);
  return answer ? new Uint8Array(answer)[0] === 1 : isPrime(number, 1);
}

const randomBits = (bits) => numberOf(fillRandom(Buffer.alloc(Math.ceil(bits / 8)))) & ((1n << BigInt(bits)) - 1n);
// A random number from 1 up to the limit, which is left out.
const randomBelow = (limit) => 1n + (numberOf(fillRandom(Buffer.alloc(bytesOf(limit).length + 8))) % (limit - 1n));

const small = [];
for (let number = 3n; small.length < 300; number += 2n) if (small.every((prime) => number % prime !== 0n)) small.push(number);

// Miller and Rabin's test, as often as is asked for.
function isPrime(number, rounds = ROUNDS) {
  if (number < 4n) return number > 1n;
  if (number % 2n === 0n) return false;
  for (const prime of small) if (number % prime === 0n) return number === prime;
  const modulus = bytesOf(number);
  const [odd, twos] = split(number - 1n);
  const exponent = bytesOf(odd);
  for (let round = 0; round < rounds; round++) if (isWitness(number, modulus, exponent, twos)) return false;
  return true;
}

function split(number) {
  let twos = 0;
  for (; number % 2n === 0n; number /= 2n) twos++;
  return [number, twos];
}

// Whether a random number tells that this one is no prime.
function isWitness(number, modulus, exponent, twos) {
  const raised = powerOf(bytesOf(1n + randomBelow(number - 2n)), exponent, modulus);
  if (!raised) throw outOfRange('candidate', `a number of at most ${LONGEST} bits`, modulus.length * 8);
  let power = numberOf(raised);
  if (power === 1n || power === number - 1n) return false;
  for (let step = 1; step < twos; step++) {
    power = (power * power) % number;
    if (power === number - 1n) return false;
  }
  return true;
}

module.exports = { LONGEST, bitsOf, bytesOf, isPrime, mayBePrime, numberOf, powerOf, randomBelow, randomBits };
