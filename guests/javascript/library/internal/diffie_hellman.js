// Diffie-Hellman with the numbers of a group alone: createDiffieHellman and its classes.
'use strict';
const { needInteger, wrongType } = require('internal/arguments');
const { Buffer } = require('buffer');
const { bytesOf, callable, encoded, viewOf } = require('internal/crypto_bytes');
const der = require('internal/der');
const groups = require('internal/groups');
const { numberOf, powerOf } = require('internal/numbers');
const { coded, openssl } = require('internal/openssl_error');

const anyKind = 'one of type number or string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView';
const LEAST = -(2 ** 31);
const MOST = 2 ** 31 - 1;
const badGenerator = () => openssl('02800065:Diffie-Hellman routines::bad generator');

// The secret of both, as long as the prime.
function agree(group, own, other) {
  const [number, prime] = [numberOf(other), numberOf(group.prime)];
  if (number <= 1n) throw coded(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Supplied key is too small');
  if (number >= prime - 1n) throw coded(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Supplied key is too large');
  const secret = own && powerOf(der.bare(other), own, group.prime);
  if (!secret) throw coded(RangeError, 'ERR_CRYPTO_INVALID_KEYTYPE', 'Invalid key type');
  return secret;
}

// One of both classes has setters.
let setOwn, setTold;

// What both classes are.
class Exchange {
  #group;
  #own;
  #told;
  static {
    setOwn = (exchange, bytes) => (exchange.#own = der.bare(Buffer.from(bytes)));
    setTold = (exchange, bytes) => (exchange.#told = der.bare(Buffer.from(bytes)));
  }
  constructor(group) {
    this.#group = group;
    let faults;
    // The prime is looked at when somebody asks, because that takes long.
    Object.defineProperty(this, 'verifyError', { get: () => (faults ??= groups.faultsOf(group)), enumerable: true, configurable: true });
  }
  generateKeys(encoding) {
    this.#own ??= groups.newNumber(this.#group);
    this.#told = groups.raise(this.#group, this.#own);
    if (!this.#told) throw coded(Error, 'ERR_CRYPTO_OPERATION_FAILED', 'Key generation failed');
    return encoded(this.#told, encoding);
  }
  computeSecret(key, inputEncoding, outputEncoding) {
    return encoded(agree(this.#group, this.#own, bytesOf(key, inputEncoding, 'key')), outputEncoding);
  }
  getPrime(encoding) {
    return encoded(this.#group.prime, encoding);
  }
  getGenerator(encoding) {
    return encoded(this.#group.generator, encoding);
  }
  getPublicKey(encoding) {
    if (!this.#told) throw coded(Error, 'ERR_CRYPTO_INVALID_STATE', 'No public key - did you forget to generate one?');
    return encoded(this.#told, encoding);
  }
  getPrivateKey(encoding) {
    if (!this.#own) throw coded(Error, 'ERR_CRYPTO_INVALID_STATE', 'No private key - did you forget to generate one?');
    return encoded(this.#own, encoding);
  }
}

function generatorOf(given, encoding) {
  if (!given) return 2;
  if (typeof given === 'number') return needInteger('generator', given, LEAST, MOST);
  const bytes = viewOf(given, encoding);
  if (!bytes) throw wrongType('generator', anyKind, given);
  return Buffer.from(bytes);
}

function groupOf(sizeOrKey, keyEncoding, generator, encoding) {
  if (typeof sizeOrKey === 'number') needInteger('sizeOrKey', sizeOrKey, LEAST, MOST);
  const prime = typeof sizeOrKey === 'number' ? undefined : viewOf(sizeOrKey, keyEncoding);
  if (typeof sizeOrKey !== 'number' && !prime) throw wrongType('sizeOrKey', anyKind, sizeOrKey);
  const base = generatorOf(generator, encoding);
  if (!prime) {
    if (typeof base !== 'number') throw new Error('Initialization failed');
    return groups.newGroup(sizeOrKey, base);
  }
  if (!prime.length) throw openssl('01800076:bignum routines::bits too small');
  const number = typeof base === 'number' ? BigInt(base) : numberOf(base);
  if (number <= 1n) throw badGenerator();
  return groups.groupOfNumbers(prime, base);
}

const DiffieHellman = callable(class DiffieHellman extends Exchange {
  constructor(sizeOrKey, keyEncoding, generator, genEncoding) {
    // The encoding may be left out.
    const isLeftOut = keyEncoding && keyEncoding !== 'buffer' && !Buffer.isEncoding(keyEncoding);
    super(isLeftOut ? groupOf(sizeOrKey, undefined, keyEncoding, generator) : groupOf(sizeOrKey, keyEncoding, generator, genEncoding));
  }
  setPublicKey(key, encoding) {
    setTold(this, bytesOf(key, encoding, 'key'));
    return this;
  }
  setPrivateKey(key, encoding) {
    setOwn(this, bytesOf(key, encoding, 'key'));
    return this;
  }
});

const DiffieHellmanGroup = callable(class DiffieHellmanGroup extends Exchange {
  constructor(name) {
    if (typeof name !== 'string') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'Group name must be a string');
    super(groups.namedGroup(name));
  }
});

const createDiffieHellmanGroup = (name) => new DiffieHellmanGroup(name);

module.exports = {
  DiffieHellman,
  DiffieHellmanGroup,
  createDiffieHellman: (sizeOrKey, keyEncoding, generator, genEncoding) => new DiffieHellman(sizeOrKey, keyEncoding, generator, genEncoding),
  createDiffieHellmanGroup,
  getDiffieHellman: createDiffieHellmanGroup,
};
