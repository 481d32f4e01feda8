// Keys that are numbers modulo a prime: those of Diffie-Hellman (kind `DH`) and of DSA. Besides its number such a key has its group in `domain`, as
// DER: the prime and the generator, and of DSA between them the order of the generator (PKCS #3; RFC 3279, 2.3.2).
'use strict';
const { Buffer } = require('buffer');
const der = require('internal/der');
const { LONGEST, bitsOf, bytesOf, isPrime, numberOf, powerOf, randomBelow, randomBits } = require('internal/numbers');
const { coded, openssl, unreadable } = require('internal/openssl_error');
const { searchPrime } = require('internal/prime_search');

const ids = { DH: '2a864886f70d010301', DSA: '2a8648ce380401' };
const isOfGroup = (kind) => Object.hasOwn(ids, kind);
const SHORTEST = 512;
const tooSmall = () => openssl('0280007E:Diffie-Hellman routines::modulus too small');
const tooLarge = () => openssl('02800067:Diffie-Hellman routines::modulus too large');

function write({ prime, order, generator }) {
  return der.structure(...[prime, order, generator].filter(Boolean).map(der.integer));
}

const names = { DH: ['prime', 'generator'], DSA: ['prime', 'order', 'generator'] };
function groupOf({ kind, domain }) {
  const numbers = der.sequence(domain).map(der.ofInteger);
  return Object.fromEntries(names[kind].map((name, at) => [name, numbers[at]]));
}

// The group of parameters that were read.
function read(kind, bytes) {
  const group = groupOf({ kind, domain: bytes });
  const isFit = (number) => number && number.at(-1) % 2 === 1 && bitsOf(number) > 1 && bitsOf(number) <= LONGEST;
  const isGroup = isFit(group.prime) && group.generator?.length <= group.prime.length && (kind !== 'DSA' || isFit(group.order));
  if (!isGroup) throw unreadable();
  return write(group);
}

// The public number of a private one; undefined: it is too long.
function raise({ prime, generator }, number) {
  const made = powerOf(generator, number, prime);
  return made && der.bare(made);
}

function publicOf(key) {
  const bytes = raise(groupOf(key), key.bytes);
  if (!bytes) throw unreadable();
  return { ...key, type: 'public', bytes };
}

// A key that was read.
function keyOf(type, kind, domain, number) {
  const key = { type, kind, domain, bytes: Buffer.from(der.bare(number)) };
  if (key.bytes.length * 8 > LONGEST) throw unreadable();
  if (type === 'private') publicOf(key);
  return key;
}

// --- Groups of Diffie-Hellman that have names (RFC 2409, RFC 3526): a prime between ones holds the digits of pi, and of each the number is told
// that makes a prime of it, and the bits of a private number (none: as many as the prime has).

const named = {
  modp1: [768, 149686n], modp2: [1024, 129093n], modp5: [1536, 741804n, 200], modp14: [2048, 124476n, 225], modp15: [3072, 1690314n, 275],
  modp16: [4096, 240904n, 325], modp17: [6144, 929484n, 375], modp18: [8192, 4743158n, 400],
};
const known = new Map();

// The whole part of pi, shifted to the left, by Machin's formula.
function piShifted(bits) {
  const one = 1n << BigInt(bits + 64);
  const arctangent = (inverse) => {
    let sum = 0n;
    let power = one / inverse;
    for (let odd = 1n; power > 0n; odd += 2n, power /= inverse * inverse) sum += odd % 4n === 1n ? power / odd : -(power / odd);
    return sum;
  };
  return (16n * arctangent(5n) - 4n * arctangent(239n)) >> 64n;
}

function namedGroup(name) {
  const given = name.toLowerCase();
  if (!Object.hasOwn(named, given)) throw coded(Error, 'ERR_CRYPTO_UNKNOWN_DH_GROUP', 'Unknown DH group');
  if (!known.has(given)) {
    const [bits, offset] = named[given];
    const size = BigInt(bits);
    const prime = (1n << size) - (1n << (size - 64n)) - 1n + ((piShifted(bits - 130) + offset) << 64n);
    known.set(given, { prime: bytesOf(prime), generator: Buffer.of(2) });
  }
  return known.get(given);
}

function nameOf({ prime, generator }) {
  const name = Object.keys(named).find((each) => named[each][0] === bitsOf(prime));
  return name && namedGroup(name).prime.equals(prime) && numberOf(generator) === 2n ? name : undefined;
}

// --- What is made.

// What the prime is modulo another number, so that the generator makes half of the numbers below it.
const residues = { 2: [24n, 23n], 5: [60n, 59n] };

function newGroup(bits, generator) {
  if (bits < SHORTEST) throw tooSmall();
  if (bits > LONGEST) throw tooLarge();
  if (generator <= 1) throw openssl('02800065:Diffie-Hellman routines::bad generator');
  const [step, rest] = residues[generator] ?? [12n, 11n];
  return groupOfNumbers(bytesOf(searchPrime(bits, step, rest, true)), generator);
}

// The group of a prime in bytes and a generator, which is a small number or bytes too.
function groupOfNumbers(prime, generator) {
  const bytes = typeof generator === 'number' ? bytesOf(BigInt(generator)) : generator;
  return { prime: der.bare(Buffer.from(prime)), generator: der.bare(Buffer.from(bytes)) };
}

// A private number of a group of Diffie-Hellman.
function newNumber(group) {
  const bits = bitsOf(group.prime);
  if (bits < SHORTEST) throw tooSmall();
  if (bits > LONGEST) throw tooLarge();
  const short = named[nameOf(group)]?.[2];
  if (short) return bytesOf(randomBelow(1n << BigInt(short)));
  return bytesOf(randomBits(bits - 1) | (1n << BigInt(bits - 2)));
}

const privateKey = (kind, group, bytes) => ({ type: 'private', kind, bytes: der.bare(bytes), domain: write(group) });
const generateDh = (group) => privateKey('DH', group, newNumber(group));

const weak = () => openssl('05000072:dsa routines::bad ffc parameters');
const isStrong = (bits, order) => (bits >= 2048 && order >= 224) || (bits >= 1024 && order >= 160);

function generateDsa(bits, orderBits) {
  if (bits < SHORTEST || bits > LONGEST || ![160, 224, 256].includes(orderBits)) throw new Error('Key generation job failed');
  if (!isStrong(bits, orderBits)) throw weak();
  const order = searchPrime(orderBits, 2n, 1n, false);
  const prime = searchPrime(bits, 2n * order, 1n, false);
  const group = { prime: bytesOf(prime), order: bytesOf(order), generator: generatorOf(prime, order) };
  return privateKey('DSA', group, bytesOf(randomBelow(order)));
}

function generatorOf(prime, order) {
  const exponent = bytesOf((prime - 1n) / order);
  for (let base = 2; ; base++) {
    const power = der.bare(powerOf(Uint8Array.of(base), exponent, bytesOf(prime)));
    if (power.length > 1 || base === 255) return power;
  }
}

// What is wrong with a group, as bits: 1 no prime, 2 not a safe one, 8 no generator, 128 too short, 256 too long.
function faultsOf(group) {
  if (nameOf({ ...group, generator: Buffer.of(2) })) return faultOfGenerator(group);
  const prime = numberOf(group.prime);
  const bits = bitsOf(group.prime);
  if (bits > LONGEST) return 257;
  const isOne = isPrime(prime);
  const isSafe = !isOne || isPrime((prime - 1n) / 2n);
  return (isOne && prime % 2n === 1n ? 0 : 1) | (isSafe ? 0 : 2) | (bits < SHORTEST ? 128 : 0) | faultOfGenerator(group);
}
function faultOfGenerator({ prime, generator }) {
  const number = numberOf(generator);
  return number > 1n && number < numberOf(prime) - 1n ? 0 : 8;
}

module.exports = { faultsOf, generateDh, generateDsa, groupOf, groupOfNumbers, ids, isOfGroup, keyOf, namedGroup, newGroup, newNumber, publicOf, raise, read };
