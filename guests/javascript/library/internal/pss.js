// What a key of RSA for PSS alone is restricted to (RFC 8017, A.2.3): { hash, mgf1, salt }, or null where there is no restriction.
'use strict';
const { Buffer } = require('buffer');
const der = require('internal/der');
const { openssl, unreadable } = require('internal/openssl_error');

const ID = '2a864886f70d01010a';
const MGF1 = '2a864886f70d010108';
const digests = {
  sha1: '2b0e03021a', sha224: '608648016503040204', sha256: '608648016503040201', sha384: '608648016503040202', sha512: '608648016503040203',
  'sha512-224': '608648016503040205', 'sha512-256': '608648016503040206',
};
const usual = { hash: 'sha1', mgf1: 'sha1', salt: 20 };

function digestOf(element) {
  const id = der.ofObject(der.elements(der.body(element, 0x30))[0]);
  const name = Object.keys(digests).find((each) => digests[each] === id);
  if (!name) throw unreadable();
  return name;
}
const algorithmOf = (name) => der.structure(der.object(digests[name]), der.nothing);

function ofDer(parameters) {
  if (parameters === undefined || parameters.tag === 0x05) return null;
  const found = { ...usual };
  for (const { tag, body } of der.elements(der.body(parameters, 0x30))) {
    const [inner] = der.elements(body);
    if (tag === 0xa0) found.hash = digestOf(inner);
    if (tag === 0xa1) found.mgf1 = digestOf(der.elements(der.body(inner, 0x30))[1]);
    if (tag === 0xa2) found.salt = der.ofInteger(inner).reduce((number, byte) => number * 256 + byte, 0);
  }
  return found;
}

// What comes after the identifier.
function toDer(restriction) {
  if (!restriction) return [];
  const { hash, mgf1, salt } = restriction;
  const parts = [];
  if (hash !== usual.hash) parts.push(der.make(0xa0, algorithmOf(hash)));
  if (mgf1 !== usual.mgf1) parts.push(der.make(0xa1, der.structure(der.object(MGF1), algorithmOf(mgf1))));
  if (salt !== usual.salt) {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(salt);
    parts.push(der.make(0xa2, der.integer(bytes)));
  }
  return [der.structure(...parts)];
}

// Whether a signature may be made with this digest and so long a salt.
function check(restriction, name, length) {
  if (!restriction) return;
  if (name !== restriction.hash) throw openssl('1C8000AE:Provider routines::digest not allowed');
  if (length !== undefined && length >= 0 && length < restriction.salt) throw openssl('1C8000AC:Provider routines::pss saltlen too small');
  if (restriction.mgf1 !== restriction.hash) throw new Error('Keys of RSA-PSS with another digest for the mask are not used in this sandbox');
}

const details = (restriction) => (restriction ? { hashAlgorithm: restriction.hash, mgf1HashAlgorithm: restriction.mgf1, saltLength: restriction.salt } : {});

module.exports = { ID, check, details, digests, ofDer, toDer };
