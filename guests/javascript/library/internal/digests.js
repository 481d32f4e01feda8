// The digests that the native library has, by the names that it knows.
'use strict';
const { need } = require('internal/arguments');

// The bytes of each result.
const lengths = {
  md5: 16, sha1: 20, sha224: 28, sha256: 32, sha384: 48, sha512: 64, 'sha512-224': 28, 'sha512-256': 32,
  'sha3-224': 28, 'sha3-256': 32, 'sha3-384': 48, 'sha3-512': 64, ripemd160: 20, blake2b512: 64, blake2s256: 32, shake128: 16, shake256: 32,
};
// Those that HMAC, derived keys and signatures are made of.
const isKeyed = (name) => name !== undefined && !/^(blake|shake)/.test(name);
const isExtendable = (name) => name === 'shake128' || name === 'shake256';

function nameOf(given) {
  const name = need('string', 'algorithm', given).toLowerCase().replace(/^rsa-/, '').replace(/^sha-(?=1$|2|3|5)/, 'sha').replace('/', '-').replace(/^(rmd160|ripemd)$/, 'ripemd160').replace(/^ssl3-/, '');
  return Object.hasOwn(lengths, name) ? name : undefined;
}

module.exports = { isExtendable, isKeyed, lengths, nameOf };
