// Signatures of DSA (FIPS 186-4, 4.6 and 4.7): both numbers, each as long as the order of the group.
'use strict';
const { Buffer } = require('buffer');
const { groupOf } = require('internal/groups');
const { digestOf } = require('internal/hashing');
const { bitsOf, bytesOf, numberOf, powerOf, randomBelow } = require('internal/numbers');
const { openssl } = require('internal/openssl_error');

// A number that is zero is drawn again, which in a group happens once in a lifetime.
const TRIES = 8;

const sizeOf = (key) => groupOf(key).order.length;

// As many bits of the digest as the order has.
function hashOf(name, data, order) {
  const bits = bitsOf(order);
  const digest = digestOf(name, [data]);
  const more = digest.length * 8 - bits;
  return numberOf(digest) >> BigInt(Math.max(more, 0));
}

// The order is a prime, so this power of a number is what one divides by it.
const inverse = (number, order) => numberOf(powerOf(bytesOf(number), bytesOf(numberOf(order) - 2n), order));

function sign(key, name, data) {
  const { prime, order, generator } = groupOf(key);
  const modulus = numberOf(order);
  const [hash, secret] = [hashOf(name, data, order), numberOf(key.bytes)];
  for (let tries = 0; tries < TRIES; tries++) {
    const once = randomBelow(modulus);
    const left = numberOf(powerOf(generator, bytesOf(once), prime)) % modulus;
    const right = (inverse(once, order) * (hash + secret * left)) % modulus;
    if (left && right) return Buffer.concat([bytesOf(left, order.length), bytesOf(right, order.length)]);
  }
  throw openssl('05000072:dsa routines::bad ffc parameters');
}

function verify(key, name, data, signature) {
  const { prime, order, generator } = groupOf(key);
  const [modulus, wide] = [numberOf(order), numberOf(prime)];
  if (signature.length !== 2 * order.length) return false;
  const [left, right] = [numberOf(signature.subarray(0, order.length)), numberOf(signature.subarray(order.length))];
  if (left === 0n || right === 0n || left >= modulus || right >= modulus) return false;
  const share = inverse(right, order);
  const first = powerOf(generator, bytesOf((hashOf(name, data, order) * share) % modulus), prime);
  const second = powerOf(key.bytes, bytesOf((left * share) % modulus), prime);
  return ((numberOf(first) * numberOf(second)) % wide) % modulus === left;
}

module.exports = { sign, sizeOf, verify };
