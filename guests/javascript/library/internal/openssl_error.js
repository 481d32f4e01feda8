// Errors of the native side of Node.js, whose code is not in their text, and those that OpenSSL tells of in Node.js, by its words: number, library and reason.
'use strict';
const codes = { 'digital envelope routines': 'EVP_', 'rsa routines': 'RSA_', 'Diffie-Hellman routines': 'DH_', 'bignum routines': 'BN_', 'dsa routines': 'DSA_', 'common libcrypto routines': 'CRYPTO_', 'PEM routines': 'PEM_', 'asn1 encoding routines': 'ASN1_' };

const coded = (Kind, code, message) => Object.assign(new Kind(message), { code });

// Of `1C800064:Provider routines::bad decrypt`.
function openssl(words) {
  const [, library, reason] = /^\w+:(.*)::(.*)$/.exec(words);
  const code = `ERR_OSSL_${codes[library] ?? ''}${reason.toUpperCase().replace(/ /g, '_')}`;
  return Object.assign(coded(Error, code, `error:${words}`), { library, reason });
}

module.exports = {
  badDecrypt: () => openssl('1C800064:Provider routines::bad decrypt'),
  coded,
  openssl,
  unreadable: () => openssl('1E08010C:DECODER routines::unsupported'),
  unsupportedOperation: () => openssl('03000096:digital envelope routines::operation not supported for this keytype'),
};
