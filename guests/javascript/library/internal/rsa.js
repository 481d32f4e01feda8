// RSA's encryption.
'use strict';
const { need } = require('internal/arguments');
const { Buffer } = require('buffer');
const { bytesOf } = require('internal/crypto_bytes');
const { pairOf } = require('internal/keys');
const { openssl, unsupportedOperation } = require('internal/openssl_error');
const pairs = require('internal/pairs');
const { constants, digestOf } = require('internal/signing');

const { RSA_PKCS1_PADDING, RSA_NO_PADDING, RSA_PKCS1_OAEP_PADDING } = constants;
const unknownPadding = () => openssl('02000076:rsa routines::unknown padding type');
const unfitPadding = () => openssl('1C8000A5:Provider routines::illegal or unsupported padding mode');
const tooLarge = () => openssl('0200006E:rsa routines::data too large for key size');
const wrongPadding = () => openssl('0200008A:rsa routines::invalid padding');

// What is done with the pair and the data, by the padding that is asked for.
const crypt = (type, usual, work) => (key, buffer) => {
  const pair = pairOf(key, type);
  const data = bytesOf(buffer, key?.encoding, 'buffer');
  const { padding = usual, oaepHash, oaepLabel, encoding } = key;
  if (oaepHash !== undefined) need('string', 'key.oaepHash', oaepHash);
  const label = oaepLabel === undefined ? undefined : bytesOf(oaepLabel, encoding, 'key.oaepLabel');
  if (pair.kind !== 'RSA' || pairs.isPss(pair)) throw unsupportedOperation();
  return work(pair, data, padding, () => `RSA-OAEP ${digestOf(oaepHash ?? 'sha1')}`, label);
};
const sizeOf = (pair) => Math.ceil(pairs.ofRsa(pair).bits / 8);

// RSA itself, without padding.
function raise(pair, data) {
  const size = sizeOf(pair);
  if (data.length > size) throw tooLarge();
  if (data.length < size) throw openssl('0200007A:rsa routines::data too small for key size');
  const made = pairs.ask(`raise RSA ${pair.type}`, pair.bytes, data);
  if (!made) throw openssl('02000084:rsa routines::data too large for modulus');
  return made;
}

// A cipher text may have lost its zeros in front.
function widened(pair, data) {
  const size = sizeOf(pair);
  if (data.length > size) throw openssl('0200006C:rsa routines::data greater than mod len');
  return Buffer.concat([Buffer.alloc(size - data.length), data]);
}

const publicEncrypt = crypt('public', RSA_PKCS1_OAEP_PADDING, (pair, data, padding, oaep, label) => {
  if (padding === RSA_NO_PADDING) return raise(pair, data);
  if (padding !== RSA_PKCS1_PADDING && padding !== RSA_PKCS1_OAEP_PADDING) throw unknownPadding();
  const made = pairs.ask(`encrypt ${padding === RSA_PKCS1_PADDING ? 'RSA-PKCS1' : oaep()}`, pair.bytes, data, label);
  if (!made) throw tooLarge();
  return made;
});

const privateDecrypt = crypt('private', RSA_PKCS1_OAEP_PADDING, (pair, data, padding, oaep, label) => {
  const whole = widened(pair, data);
  if (padding === RSA_NO_PADDING) return raise(pair, whole);
  if (padding !== RSA_PKCS1_PADDING && padding !== RSA_PKCS1_OAEP_PADDING) throw unknownPadding();
  const made = pairs.ask(`decrypt ${padding === RSA_PKCS1_PADDING ? 'RSA-PKCS1' : oaep()}`, pair.bytes, whole, label);
  if (!made) throw openssl('02000079:rsa routines::oaep decoding error');
  return made;
});

// With the keys the other way round the padding is that of signatures (RFC 8017, 9.2), around any bytes.
const privateEncrypt = crypt('private', RSA_PKCS1_PADDING, (pair, data, padding) => {
  if (padding === RSA_NO_PADDING) return raise(pair, data);
  if (padding !== RSA_PKCS1_PADDING) throw unfitPadding();
  const rest = sizeOf(pair) - 3 - data.length;
  if (rest < 8) throw tooLarge();
  return raise(pair, Buffer.concat([Uint8Array.of(0, 1), Buffer.alloc(rest, 0xff), Uint8Array.of(0), data]));
});

const publicDecrypt = crypt('public', RSA_PKCS1_PADDING, (pair, data, padding) => {
  const whole = widened(pair, data);
  if (padding === RSA_NO_PADDING) return raise(pair, whole);
  if (padding !== RSA_PKCS1_PADDING) throw unfitPadding();
  const made = raise(pair, whole);
  const end = made.indexOf(0, 1);
  if (made[0] !== 0 || made[1] !== 1 || end < 10 || made.subarray(2, end).some((byte) => byte !== 0xff)) throw wrongPadding();
  return made.subarray(end + 1);
});

module.exports = { privateDecrypt, privateEncrypt, publicDecrypt, publicEncrypt };
