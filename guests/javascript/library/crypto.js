// The module `crypto`. What it is made of is in internal: hashing.js, derived.js, ciphers.js, random.js, primes.js, keys.js, key_pairs.js,
// signing.js, rsa.js, agreement.js, diffie_hellman.js.
'use strict';
const { atOnce, later } = require('internal/crypto_bytes');
const agreement = require('internal/agreement');
const ciphers = require('internal/ciphers');
const derived = require('internal/derived');
const diffieHellman = require('internal/diffie_hellman');
const hashing = require('internal/hashing');
const keyPairs = require('internal/key_pairs');
const keys = require('internal/keys');
const pairs = require('internal/pairs');
const primes = require('internal/primes');
const random = require('internal/random');
const rsa = require('internal/rsa');
const signing = require('internal/signing');

module.exports = {
  constants: signing.constants,
  ECDH: agreement.ECDH,
  Hash: hashing.Hash,
  Hmac: hashing.Hmac,
  Cipheriv: ciphers.Cipheriv,
  Decipheriv: ciphers.Decipheriv,
  KeyObject: keys.KeyObject,
  Sign: signing.Sign,
  Verify: signing.Verify,
  createHash: hashing.createHash,
  createHmac: hashing.createHmac,
  hash: hashing.hash,
  getHashes: hashing.getHashes,
  createCipheriv: ciphers.createCipheriv,
  createDecipheriv: ciphers.createDecipheriv,
  getCipherInfo: ciphers.getCipherInfo,
  getCiphers: ciphers.getCiphers,
  getCurves: () => Object.values(pairs.curves).map(({ name }) => name).sort(),
  ...random,
  getRandomValues: (array) => crypto.getRandomValues(array),
  createECDH: agreement.createECDH,
  ...diffieHellman,
  diffieHellman: agreement.diffieHellman,
  createPrivateKey: keys.createPrivateKey,
  createPublicKey: keys.createPublicKey,
  createSecretKey: keys.createSecretKey,
  createSign: signing.createSign,
  createVerify: signing.createVerify,
  sign: signing.sign,
  verify: signing.verify,
  generateKeyPair: keyPairs.generateKeyPair,
  generateKeyPairSync: keyPairs.generateKeyPairSync,
  privateDecrypt: rsa.privateDecrypt,
  privateEncrypt: rsa.privateEncrypt,
  publicDecrypt: rsa.publicDecrypt,
  publicEncrypt: rsa.publicEncrypt,
  get X509Certificate() {
    return require('internal/x509').X509Certificate;
  },
  getFips: () => 0,
  setFips(value) {
    if (value) throw new Error('FIPS is not part of this sandbox');
  },
  secureHeapUsed: () => ({ total: 0, used: 0, utilization: 0, min: 0 }),
  get webcrypto() {
    return crypto;
  },
  get subtle() {
    return crypto.subtle;
  },
};
// Each of these looks at its arguments, and gives what is to be done.
for (const [name, prepare] of Object.entries({ ...derived, ...primes, generateKey: keyPairs.generateKey })) {
  const both = { [name]: later(prepare), [`${name}Sync`]: atOnce(prepare) };
  for (const each of Object.keys(both)) Object.defineProperty(both[each], 'name', { value: each });
  Object.assign(module.exports, both);
}
