// Keys in pairs and their forms: PKCS #1, PKCS #8, SEC 1, SubjectPublicKeyInfo, each as DER or PEM, and JWK.
//
// A key is { type, kind, bytes }: `private` or `public`; `RSA`, the name of a curve as WebCrypto has it, `Ed25519` or `X25519`; and what the
// native library knows it by (native/pairs.rs). One of RSA that is for PSS alone has `pss`, what it is restricted to (internal/pss.js). Keys of
// kind `DH` and `DSA` have their number, and their group in `domain` (internal/groups.js).
'use strict';
const { error, need, wrongValue } = require('internal/arguments');
const { Buffer } = require('buffer');
const der = require('internal/der');
const groups = require('internal/groups');
const { openssl, unreadable } = require('internal/openssl_error');
const passphrases = require('internal/passphrases');
const pss = require('internal/pss');

const none = new Uint8Array(0);
// What the native library answers, as a Buffer; undefined: nothing.
const ask = (words, key, data = none, more = none) => {
  const answer = native.pair(words, key, data, more);
  return answer ? Buffer.from(answer) : undefined;
};

// Of each curve the identifier, the name that Node.js has, and the bytes of a number.
const curves = {
  secp224r1: { id: '2b81040021', name: 'secp224r1', size: 28 },
  'P-256': { id: '2a8648ce3d030107', name: 'prime256v1', size: 32 },
  'P-384': { id: '2b81040022', name: 'secp384r1', size: 48 },
  'P-521': { id: '2b81040023', name: 'secp521r1', size: 66 },
  secp256k1: { id: '2b8104000a', name: 'secp256k1', size: 32 },
};
const RSA = '2a864886f70d010101';
const CURVE = '2a8648ce3d0201';
const others = { Ed25519: '2b6570', X25519: '2b656e' };
const kindOf = (table, id) => Object.keys(table).find((kind) => (table[kind].id ?? table[kind]) === id);
const isCurve = (kind) => Object.hasOwn(curves, kind);
// A curve by any of its names.
const curveOf = (name) => (name === 'secp256r1' ? 'P-256' : Object.keys(curves).find((kind) => kind === name || curves[kind].name === name));

const refused = (what) => error(Error, 'ERR_OSSL_UNSUPPORTED', what);

const isPair = (key) => key?.type === 'private' || key?.type === 'public';

// A private key, once the library has taken it.
function privateKey(kind, bytes) {
  const own = isCurve(kind) && bytes.length < curves[kind].size ? Buffer.concat([Buffer.alloc(curves[kind].size - bytes.length), bytes]) : Buffer.from(bytes);
  if (!ask(`public ${kind}`, own)) throw unreadable();
  return { type: 'private', kind, bytes: own };
}

function publicKey(kind, bytes) {
  const own = ask(`check ${kind}`, bytes);
  if (!own) throw unreadable();
  return { type: 'public', kind, bytes: own };
}

function toPublic(key) {
  if (key.type === 'public') return key;
  return groups.isOfGroup(key.kind) ? groups.publicOf(key) : { ...key, type: 'public', bytes: ask(`public ${key.kind}`, key.bytes) };
}

// --- DER.

function ofAlgorithm(element) {
  const [id, parameters] = der.elements(der.body(element, 0x30));
  const algorithm = der.ofObject(id);
  if (algorithm === pss.ID) return { kind: 'RSA', pss: pss.ofDer(parameters) };
  const ofGroup = kindOf(groups.ids, algorithm);
  if (ofGroup) return { kind: ofGroup, domain: groups.read(ofGroup, der.make(0x30, der.body(parameters, 0x30))) };
  const kind = algorithm === RSA ? 'RSA' : algorithm === CURVE ? kindOf(curves, der.ofObject(parameters)) : kindOf(others, algorithm);
  if (!kind) throw unreadable();
  return { kind };
}

function algorithmOf(key) {
  const { kind } = key;
  if (isPss(key)) return der.structure(der.object(pss.ID), ...pss.toDer(key.pss));
  if (key.domain) return der.structure(der.object(groups.ids[kind]), key.domain);
  if (kind === 'RSA') return der.structure(der.object(RSA), der.nothing);
  if (isCurve(kind)) return der.structure(der.object(CURVE), der.object(curves[kind].id));
  return der.structure(der.object(others[kind]));
}
const isPss = (key) => key.pss !== undefined;

function ofPkcs8(bytes) {
  const [, algorithm, key] = der.sequence(bytes);
  const { kind, ...more } = ofAlgorithm(algorithm);
  const inner = der.ofOctets(key);
  if (more.domain) return groups.keyOf('private', kind, more.domain, der.ofInteger(der.elements(inner)[0]));
  if (kind === 'RSA') return { ...privateKey(kind, inner), ...more };
  if (isCurve(kind)) return privateKey(kind, der.ofOctets(der.sequence(inner)[1]));
  return privateKey(kind, der.ofOctets(der.elements(inner)[0]));
}

function ofSpki(bytes) {
  const [algorithm, key] = der.sequence(bytes);
  const { kind, ...more } = ofAlgorithm(algorithm);
  if (more.domain) return groups.keyOf('public', kind, more.domain, der.ofInteger(der.elements(der.ofBits(key))[0]));
  return { ...publicKey(kind, der.ofBits(key)), ...more };
}

function ofSec1(bytes) {
  const [, scalar, ...rest] = der.sequence(bytes);
  const named = rest.find((element) => element.tag === 0xa0);
  const kind = named && kindOf(curves, der.ofObject(der.elements(named.body)[0]));
  if (!kind) throw unreadable();
  return privateKey(kind, der.ofOctets(scalar));
}

// The older form of DSA: the group, and both numbers.
function ofOpenssl(bytes) {
  const numbers = der.sequence(bytes).slice(1).map(der.ofInteger);
  const domain = groups.read('DSA', der.structure(...numbers.slice(0, 3).map(der.integer)));
  return groups.keyOf('private', 'DSA', domain, numbers[4]);
}

function toSec1({ kind, bytes }, isWhole) {
  const parts = [der.integer(Uint8Array.of(1)), der.octets(bytes)];
  if (isWhole) parts.push(der.make(0xa0, der.object(curves[kind].id)));
  return der.structure(...parts, der.make(0xa1, der.bits(ask(`public ${kind}`, bytes))));
}

function toDer(key, form) {
  const { type, kind, bytes } = key;
  if (form === 'pkcs1' && kind === 'RSA' && !isPss(key)) return Buffer.from(bytes);
  if (type === 'public' && form === 'spki') return der.structure(algorithmOf(key), der.bits(key.domain ? der.integer(bytes) : bytes));
  if (type === 'private' && form === 'sec1' && isCurve(kind)) return toSec1(key, true);
  if (type === 'private' && form === 'pkcs8') {
    const inner = kind === 'RSA' ? bytes : isCurve(kind) ? toSec1(key, false) : key.domain ? der.integer(bytes) : der.octets(bytes);
    return der.structure(der.integer(Uint8Array.of(0)), algorithmOf(key), der.octets(inner));
  }
  throw error(Error, 'ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS', `The selected key encoding ${form} ${form === 'sec1' ? 'can only be used for EC keys' : form === 'pkcs1' ? 'can only be used for RSA keys' : `is none of a ${type} key`}.`);
}

const readers = {
  pkcs8: ofPkcs8,
  spki: ofSpki,
  sec1: ofSec1,
  openssl: ofOpenssl,
};
function ofDer(bytes, form, type) {
  if (form === 'pkcs1') return type === 'private' ? privateKey('RSA', bytes) : publicKey('RSA', bytes);
  if (!readers[form]) throw unreadable();
  try {
    return readers[form](bytes);
  } catch (failure) {
    throw failure.code ? failure : unreadable();
  }
}

// DER of a form that is told, or of a private key of any form, encrypted or not. What is wanted may be any of both.
function ofGivenDer(bytes, form, type, passphrase) {
  if (form === 'pkcs8' && passphrases.isEncrypted(bytes)) {
    if (passphrase === undefined) throw error(TypeError, 'ERR_MISSING_PASSPHRASE', 'Passphrase required for encrypted key');
    return ofDer(passphrases.decryptPkcs8(bytes, passphrase), form, 'private');
  }
  const types = form === 'pkcs1' && type === 'public' ? ['public', 'private'] : [type];
  for (const each of types) {
    try {
      return ofDer(bytes, form, each);
    } catch (failure) {
      if (each === types.at(-1)) throw failure;
    }
  }
  return undefined;
}

// --- PEM (RFC 7468).

const labels = { 'PRIVATE KEY': ['pkcs8', 'private'], 'PUBLIC KEY': ['spki', 'public'], 'RSA PRIVATE KEY': ['pkcs1', 'private'], 'RSA PUBLIC KEY': ['pkcs1', 'public'], 'EC PRIVATE KEY': ['sec1', 'private'], 'DSA PRIVATE KEY': ['openssl', 'private'] };

function ofPem(text, passphrase) {
  const blocks = text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----\s([^-]*(?:-[^-]+)*)-----END \1-----/g);
  for (const [, label, content] of blocks) {
    if (label === 'CERTIFICATE') return ofDer(require('internal/certificate').parse(Buffer.from(content, 'base64')).key, 'spki', 'public');
    const isLocked = label === 'ENCRYPTED PRIVATE KEY';
    const [form, type] = isLocked ? labels['PRIVATE KEY'] : labels[label] ?? [];
    if (!form) continue;
    const parts = passphrases.partsOf(content);
    const hasHeaders = /ENCRYPTED/.test(parts.headers['Proc-Type']);
    if ((isLocked || hasHeaders) && passphrase === undefined) throw passphrases.missing();
    if (isLocked) return ofDer(passphrases.decryptPkcs8(parts.bytes, passphrase), form, type);
    return ofDer(hasHeaders ? passphrases.decryptPem(parts, passphrase) : parts.bytes, form, type);
  }
  throw unreadable();
}

// With a lock, { cipher, passphrase }, a key is encrypted by it.
function toLockedDer(key, form, lock) {
  const plain = toDer(key, form);
  return lock ? passphrases.encryptPkcs8(plain, lock.cipher, lock.passphrase) : plain;
}

function toPem(key, form, lock) {
  const label = Object.keys(labels).find((name) => labels[name][0] === form && labels[name][1] === key.type);
  const plain = toDer(key, form);
  if (!lock) return pemOf(label, plain);
  if (form === 'pkcs8') return pemOf(`ENCRYPTED ${label}`, passphrases.encryptPkcs8(plain, lock.cipher, lock.passphrase));
  const { bytes, headers } = passphrases.encryptPem(plain, lock.cipher, lock.passphrase);
  return pemOf(label, bytes, headers);
}

function pemOf(label, bytes, headers = '') {
  const lines = bytes.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN ${label}-----\n${headers}${lines}\n-----END ${label}-----\n`;
}

// --- JWK (RFC 7517, 7518, 8037).

const rsaNames = ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'];
const encode = (bytes) => Buffer.from(bytes).toString('base64url');
const invalidJwk = (what) => error(TypeError, 'ERR_CRYPTO_INVALID_JWK', `Invalid JWK ${what}`);
const decode = (jwk, name) => Buffer.from(need('string', `key.${name}`, jwk[name]), 'base64url');
function oneOf(name, value, names) {
  if (!names.includes(value)) throw wrongValue(name, value, `must be one of: ${names.map((each) => `'${each}'`).join(', ')}`);
}

function ofJwk(jwk) {
  oneOf('key.kty', jwk.kty, ['RSA', 'EC', 'OKP']);
  const type = jwk.d === undefined ? 'public' : 'private';
  if (jwk.kty === 'RSA') return ofJwkOfRsa(jwk, type);
  const isOfCurve = jwk.kty === 'EC';
  oneOf('key.crv', jwk.crv, isOfCurve ? ['P-256', 'secp256k1', 'P-384', 'P-521'] : ['Ed25519', 'Ed448', 'X25519', 'X448']);
  if (/448$/.test(jwk.crv)) throw refused(`${jwk.crv} is not part of this sandbox`);
  const numbers = (isOfCurve ? ['x', 'y'] : ['x']).map((name) => decode(jwk, name));
  const secret = type === 'private' ? decode(jwk, 'd') : undefined;
  const what = isOfCurve ? 'EC key' : 'data';
  try {
    const given = publicKey(jwk.crv, isOfCurve ? Buffer.concat([Uint8Array.of(4), ...numbers]) : numbers[0]);
    if (!secret) return given;
    const key = privateKey(jwk.crv, secret);
    if (toPublic(key).bytes.equals(given.bytes)) return key;
  } catch {
    // The numbers are none of a key.
  }
  throw invalidJwk(what);
}

function ofJwkOfRsa(jwk, type) {
  const numbers = (type === 'public' ? rsaNames.slice(0, 2) : rsaNames).map((name) => der.integer(decode(jwk, name)));
  try {
    return type === 'public' ? publicKey('RSA', der.structure(...numbers)) : privateKey('RSA', der.structure(der.integer(Uint8Array.of(0)), ...numbers));
  } catch {
    throw invalidJwk('RSA key');
  }
}

function toJwk(key) {
  const { type, kind, bytes } = key;
  if (isPss(key) || key.domain) throw error(Error, 'ERR_CRYPTO_JWK_UNSUPPORTED_KEY_TYPE', 'Unsupported JWK Key Type.');
  if (kind === 'secp224r1') throw error(Error, 'ERR_CRYPTO_JWK_UNSUPPORTED_CURVE', `Unsupported JWK EC curve: ${kind}.`);
  if (kind === 'RSA') {
    const numbers = der.sequence(bytes).map((element) => encode(der.ofInteger(element)));
    if (type === 'private') numbers.shift();
    return { kty: 'RSA', ...Object.fromEntries(numbers.slice(0, 8).map((number, at) => [rsaNames[at], number])) };
  }
  const point = toPublic(key).bytes;
  const secret = type === 'private' ? { d: encode(bytes) } : {};
  if (!isCurve(kind)) return { crv: kind, x: encode(point), kty: 'OKP', ...secret };
  const { size } = curves[kind];
  return { kty: 'EC', x: encode(point.subarray(1, 1 + size)), y: encode(point.subarray(1 + size)), crv: kind, ...secret };
}

// --- What a key is.

// Bits of the modulus, and the public exponent in bytes.
function ofRsa(key) {
  const [modulus, exponent] = der.sequence(toPublic(key).bytes).map(der.ofInteger);
  return { bits: modulus.length * 8 - Math.clz32(modulus[0]) + 24, exponent };
}

// A new private key.
function generate(kind, bits = 0, exponent = Uint8Array.of(1, 0, 1)) {
  if (Object.hasOwn(others, kind)) return privateKey(kind, native.fillRandom(Buffer.alloc(32)));
  if (kind === 'RSA') checkRsa(bits, exponent);
  const bytes = ask(`generate ${kind} - ${bits}`, none, exponent);
  if (!bytes) throw refused(`a key of RSA has 512 to 8192 bits and an odd exponent of at least 3; ${bits} bits were asked for`);
  return { type: 'private', kind, bytes };
}

function checkRsa(bits, exponent) {
  const bare = der.bare(exponent);
  if (!(bits >= 512)) throw openssl('1C8000AB:Provider routines::key size too small');
  if (bare.length > 4 || !(bare.at(-1) % 2) || (bare.length === 1 && bare[0] < 3)) throw openssl('020000B2:rsa routines::pub exponent out of range');
}

module.exports = { ask, checkRsa, curveOf, curves, generate, isCurve, isPair, isPss, ofDer, ofGivenDer, ofJwk, ofPem, ofRsa, privateKey, publicKey, toDer: toLockedDer, toJwk, toPem, toPublic };
