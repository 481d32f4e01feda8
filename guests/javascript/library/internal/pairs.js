// Keys in pairs and their forms: PKCS #1, PKCS #8, SEC 1, SubjectPublicKeyInfo, each as DER or PEM, and JWK.
//
// A key is { type, kind, bytes }: `private` or `public`; `RSA`, the name of a curve as WebCrypto has it, `Ed25519` or `X25519`; and what the
// native library knows it by (native/pairs.rs).
'use strict';
const { Buffer } = require('buffer');
const der = require('internal/der');

const none = new Uint8Array(0);
// What the native library answers, as a Buffer; undefined: nothing.
const ask = (words, key, data = none, more = none) => {
  const answer = native.pair(words, key, data, more);
  return answer ? Buffer.from(answer) : undefined;
};

// Of each curve the identifier, the name that Node.js has, and the bytes of a number.
const curves = {
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

function refused(what) {
  return Object.assign(new Error(what), { code: 'ERR_OSSL_UNSUPPORTED' });
}
const unreadable = () => refused('error:1E08010C:DECODER routines::unsupported');

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

const toPublic = (key) => (key.type === 'public' ? key : { type: 'public', kind: key.kind, bytes: ask(`public ${key.kind}`, key.bytes) });

// --- DER.

function kindOfAlgorithm(element) {
  const [id, parameters] = der.elements(der.body(element, 0x30));
  const algorithm = der.ofObject(id);
  const kind = algorithm === RSA ? 'RSA' : algorithm === CURVE ? kindOf(curves, der.ofObject(parameters)) : kindOf(others, algorithm);
  if (!kind) throw unreadable();
  return kind;
}

function algorithmOf(kind) {
  if (kind === 'RSA') return der.structure(der.object(RSA), der.nothing);
  if (isCurve(kind)) return der.structure(der.object(CURVE), der.object(curves[kind].id));
  return der.structure(der.object(others[kind]));
}

function ofPkcs8(bytes) {
  const [, algorithm, key] = der.sequence(bytes);
  const kind = kindOfAlgorithm(algorithm);
  const inner = der.ofOctets(key);
  if (kind === 'RSA') return privateKey(kind, inner);
  if (isCurve(kind)) return privateKey(kind, der.ofOctets(der.sequence(inner)[1]));
  return privateKey(kind, der.ofOctets(der.elements(inner)[0]));
}

function ofSpki(bytes) {
  const [algorithm, key] = der.sequence(bytes);
  return publicKey(kindOfAlgorithm(algorithm), der.ofBits(key));
}

function ofSec1(bytes) {
  const [, scalar, ...rest] = der.sequence(bytes);
  const named = rest.find((element) => element.tag === 0xa0);
  const kind = named && kindOf(curves, der.ofObject(der.elements(named.body)[0]));
  if (!kind) throw unreadable();
  return privateKey(kind, der.ofOctets(scalar));
}

function toSec1({ kind, bytes }, isWhole) {
  const parts = [der.integer(Uint8Array.of(1)), der.octets(bytes)];
  if (isWhole) parts.push(der.make(0xa0, der.object(curves[kind].id)));
  return der.structure(...parts, der.make(0xa1, der.bits(ask(`public ${kind}`, bytes))));
}

function toDer(key, form) {
  const { type, kind, bytes } = key;
  if (form === 'pkcs1' && kind === 'RSA') return Buffer.from(bytes);
  if (type === 'public' && form === 'spki') return der.structure(algorithmOf(kind), der.bits(bytes));
  if (type === 'private' && form === 'sec1' && isCurve(kind)) return toSec1(key, true);
  if (type === 'private' && form === 'pkcs8') {
    const inner = kind === 'RSA' ? bytes : isCurve(kind) ? toSec1(key, false) : der.octets(bytes);
    return der.structure(der.integer(Uint8Array.of(0)), algorithmOf(kind), der.octets(inner));
  }
  throw Object.assign(new TypeError(`The form ${form} is none of a ${type} key of ${kind}`), { code: 'ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS' });
}

const readers = {
  pkcs8: ofPkcs8,
  spki: ofSpki,
  sec1: ofSec1,
};
function ofDer(bytes, form, type) {
  if (form === 'pkcs1') return type === 'private' ? privateKey('RSA', bytes) : publicKey('RSA', bytes);
  if (!readers[form]) throw unreadable();
  return readers[form](bytes);
}

// Whatever form the bytes have.
function ofAnyDer(bytes, type) {
  for (const form of type === 'private' ? ['pkcs8', 'sec1', 'pkcs1'] : ['spki', 'pkcs1']) {
    try {
      return ofDer(bytes, form, type);
    } catch {
      // It is another one.
    }
  }
  throw unreadable();
}

// --- PEM (RFC 7468).

const labels = { 'PRIVATE KEY': ['pkcs8', 'private'], 'PUBLIC KEY': ['spki', 'public'], 'RSA PRIVATE KEY': ['pkcs1', 'private'], 'RSA PUBLIC KEY': ['pkcs1', 'public'], 'EC PRIVATE KEY': ['sec1', 'private'] };

function ofPem(text) {
  const blocks = text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----\s([^-]*)-----END \1-----/g);
  for (const [, label, content] of blocks) {
    if (label === 'ENCRYPTED PRIVATE KEY' || content.includes('ENCRYPTED')) throw refused('private keys with a passphrase are not read in this sandbox: give the key without one');
    if (label === 'CERTIFICATE') throw refused('certificates are not read in this sandbox: give the public key');
    const [form, type] = labels[label] ?? [];
    if (!form) continue;
    try {
      return ofDer(Buffer.from(content, 'base64'), form, type);
    } catch {
      break;
    }
  }
  throw unreadable();
}

function toPem(key, form) {
  const label = Object.keys(labels).find((name) => labels[name][0] === form && labels[name][1] === key.type);
  const lines = toDer(key, form).toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}

// --- JWK (RFC 7517, 7518, 8037).

const rsaNames = ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'];
const encode = (bytes) => Buffer.from(bytes).toString('base64url');
function decode(jwk, name) {
  if (typeof jwk[name] !== 'string') throw Object.assign(new TypeError('Invalid JWK data'), { code: 'ERR_CRYPTO_INVALID_JWK' });
  return Buffer.from(jwk[name], 'base64url');
}

function ofJwk(jwk) {
  const type = jwk.d === undefined ? 'public' : 'private';
  if (jwk.kty === 'RSA') {
    const numbers = (type === 'public' ? rsaNames.slice(0, 2) : rsaNames).map((name) => der.integer(decode(jwk, name)));
    return type === 'public' ? publicKey('RSA', der.structure(...numbers)) : privateKey('RSA', der.structure(der.integer(Uint8Array.of(0)), ...numbers));
  }
  const kind = jwk.kty === 'EC' ? curveOf(jwk.crv) : jwk.kty === 'OKP' && Object.hasOwn(others, jwk.crv) ? jwk.crv : undefined;
  if (!kind) throw Object.assign(new TypeError('Invalid JWK data'), { code: 'ERR_CRYPTO_INVALID_JWK' });
  const given = jwk.kty === 'EC' ? publicKey(kind, Buffer.concat([Uint8Array.of(4), decode(jwk, 'x'), decode(jwk, 'y')])) : publicKey(kind, decode(jwk, 'x'));
  if (type === 'public') return given;
  const key = privateKey(kind, decode(jwk, 'd'));
  if (!toPublic(key).bytes.equals(given.bytes)) throw Object.assign(new TypeError('Invalid JWK data'), { code: 'ERR_CRYPTO_INVALID_JWK' });
  return key;
}

function toJwk(key) {
  const { type, kind, bytes } = key;
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
  const bytes = ask(`generate ${kind} - ${bits}`, none, exponent);
  if (!bytes) throw refused(`a key of RSA has 512 to 8192 bits and an odd exponent of at least 3; ${bits} bits were asked for`);
  return { type: 'private', kind, bytes };
}

module.exports = { ask, curveOf, curves, generate, isCurve, isPair, ofAnyDer, ofDer, ofJwk, ofPem, ofRsa, privateKey, publicKey, toDer, toJwk, toPem, toPublic };
