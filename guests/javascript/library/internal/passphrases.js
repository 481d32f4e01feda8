// Private keys that are encrypted with a passphrase: PBES2 (RFC 8018, 6.2) around PKCS #8, and the older kind of PEM (RFC 1421).
'use strict';
const { error } = require('internal/arguments');
const { Buffer } = require('buffer');
const { aboutCipher } = require('internal/cipher_names');
const der = require('internal/der');
const { badDecrypt, openssl, unreadable } = require('internal/openssl_error');
const { cipher: begin, cipherFinish, cipherUpdate, digest, digestFinish, digestUpdate, fillRandom, pbkdf2, scrypt } = native;

const none = Buffer.alloc(0);
const PBES2 = '2a864886f70d01050d';
const PBKDF2 = '2a864886f70d01050c';
const SCRYPT = '2b06010401da47040b';
const hmacs = {
  '2a864886f70d0207': 'sha1', '2a864886f70d0208': 'sha224', '2a864886f70d0209': 'sha256', '2a864886f70d020a': 'sha384', '2a864886f70d020b': 'sha512',
  '2a864886f70d020c': 'sha512-224', '2a864886f70d020d': 'sha512-256',
};
const usualHmac = '2a864886f70d0209';
const ITERATIONS = 2048;
// More than this would be a key that is there to keep its reader busy.
const MOST_ITERATIONS = 1e7;
const LONGEST = 1024;

// Of AES each size has twenty numbers.
const ciphers = { '2a864886f70d0307': 'des-ede3-cbc' };
[128, 192, 256].forEach((size, at) => ['ecb', 'cbc', 'ofb', 'cfb'].forEach((mode, number) => {
  ciphers[`6086480165030401${(20 * at + number + 1).toString(16).padStart(2, '0')}`] = `aes-${size}-${mode}`;
}));

function through({ kind, keyLength }, key, start, data, decrypts) {
  const state = begin(kind, key.subarray(0, keyLength), start, decrypts);
  if (!state) throw unreadable();
  const first = Buffer.from(cipherUpdate(state, data));
  const last = cipherFinish(state);
  if (!last) throw badDecrypt();
  return Buffer.concat([first, Buffer.from(last)]);
}

function cipherOf(name) {
  const about = aboutCipher(name);
  if (!about) throw error(Error, 'ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
  return about;
}

const missing = () => openssl('07880109:common libcrypto routines::interrupted or cancelled');
function checked(passphrase) {
  if (passphrase.length > LONGEST) throw missing();
  return passphrase;
}

// --- PKCS #8.

function isEncrypted(bytes) {
  try {
    const [algorithm, data, ...rest] = der.sequence(bytes);
    return algorithm.tag === 0x30 && data.tag === 0x04 && rest.length === 0;
  } catch {
    return false;
  }
}

const numberOf = (element) => der.ofInteger(element).reduce((number, byte) => number * 256 + byte, 0);

function deriveOf(element, passphrase, length) {
  const [id, parameters] = der.elements(der.body(element, 0x30));
  const kind = der.ofObject(id);
  const [salt, ...rest] = der.elements(der.body(parameters, 0x30));
  const salted = der.ofOctets(salt);
  if (kind === SCRYPT) {
    const [cost, block, parallel] = rest.map(numberOf);
    const made = 128 * cost * block <= 64 << 20 && scrypt(passphrase, salted, Math.log2(cost), block, parallel, length);
    if (!made) throw unreadable();
    return new Uint8Array(made);
  }
  const hmac = rest.find((each) => each.tag === 0x30);
  const name = hmac ? hmacs[der.ofObject(der.elements(hmac.body)[0])] : 'sha1';
  const count = numberOf(rest[0]);
  if (kind !== PBKDF2 || !name || count < 1 || count > MOST_ITERATIONS) throw unreadable();
  return new Uint8Array(pbkdf2(name, passphrase, salted, count, length));
}

function decryptPkcs8(bytes, passphrase) {
  const [algorithm, data] = der.sequence(bytes);
  const [id, parameters] = der.elements(der.body(algorithm, 0x30));
  if (der.ofObject(id) !== PBES2) throw unreadable();
  const [derivation, encryption] = der.elements(der.body(parameters, 0x30));
  const [name, start] = der.elements(der.body(encryption, 0x30));
  const about = ciphers[der.ofObject(name)] && cipherOf(ciphers[der.ofObject(name)]);
  if (!about) throw unreadable();
  const key = deriveOf(derivation, checked(passphrase), about.keyLength);
  return through(about, key, start?.tag === 0x04 ? start.body : none, der.ofOctets(data), true);
}

function encryptPkcs8(bytes, name, passphrase) {
  const about = cipherOf(name);
  const id = Object.keys(ciphers).find((each) => ciphers[each] === about.name);
  if (!id) throw about.isSealed ? openssl('0300007A:digital envelope routines::cipher parameter error') : openssl('0680006C:asn1 encoding routines::cipher has no object identifier');
  const [salt, start] = [8, about.ivLength ?? 0].map((length) => fillRandom(Buffer.alloc(length)));
  const key = new Uint8Array(pbkdf2(hmacs[usualHmac], passphrase, salt, ITERATIONS, about.keyLength));
  const derivation = der.structure(der.object(PBKDF2), der.structure(der.octets(salt), der.integer(Uint8Array.of(ITERATIONS >> 8, ITERATIONS & 255)), der.structure(der.object(usualHmac), der.nothing)));
  const algorithm = der.structure(der.object(PBES2), der.structure(derivation, der.structure(der.object(id), der.octets(start))));
  return der.structure(algorithm, der.octets(through(about, key, start, bytes, false)));
}

// --- PEM with headers: the key is MD5 of the passphrase and the beginning of the vector, over and over.

function stretch(passphrase, start, length) {
  let key = none;
  let last = none;
  while (key.length < length) {
    const state = digest('md5');
    for (const part of [last, passphrase, start.subarray(0, 8)]) digestUpdate(state, part);
    last = Buffer.from(digestFinish(state, 16));
    key = Buffer.concat([key, last]);
  }
  return key;
}

// The content of a block of PEM: the headers and the bytes.
function partsOf(content) {
  const headers = {};
  const lines = content.split(/\r?\n/);
  while (lines.length && lines[0].includes(':')) {
    const [, name, value] = /^([^:]*):\s*(.*)$/.exec(lines.shift());
    headers[name] = value.trim();
  }
  return { headers, bytes: Buffer.from(lines.join(''), 'base64') };
}

function decryptPem({ headers, bytes }, passphrase) {
  const [name, start] = (headers['DEK-Info'] ?? '').split(',');
  const about = aboutCipher(name);
  if (!about?.ivLength || about.isSealed || !start) throw openssl('04800071:PEM routines::unsupported cipher');
  const vector = Buffer.from(start, 'hex');
  return through(about, stretch(checked(passphrase), vector, about.keyLength), vector, bytes, true);
}

function encryptPem(bytes, name, passphrase) {
  const about = cipherOf(name);
  if (!about.ivLength || about.isSealed || about.mode === 'wrap') throw openssl('04800071:PEM routines::unsupported cipher');
  const vector = fillRandom(Buffer.alloc(about.ivLength));
  const headers = `Proc-Type: 4,ENCRYPTED\nDEK-Info: ${about.name.toUpperCase()},${vector.toString('hex').toUpperCase()}\n\n`;
  return { headers, bytes: through(about, stretch(passphrase, vector, about.keyLength), vector, bytes, false) };
}

module.exports = { cipherOf, decryptPem, decryptPkcs8, encryptPem, encryptPkcs8, isEncrypted, missing, partsOf };
