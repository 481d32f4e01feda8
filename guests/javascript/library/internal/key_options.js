// What form a key is read from or written in, as options tell it.
'use strict';
const { error, needObject, wrongValue } = require('internal/arguments');
const { bytesOf } = require('internal/crypto_bytes');
const { cipherOf } = require('internal/passphrases');

const unfit = (what) => error(Error, 'ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS', `The selected key encoding ${what}.`);

// `isPublic` is undefined where both kinds are taken, and the type of the key where a key is read.
function formOf(form, isNeeded, keyType, isPublic, name) {
  if (form === undefined && !isNeeded) return undefined;
  if (form === 'pkcs1') {
    if (keyType !== undefined && keyType !== 'rsa') throw unfit('pkcs1 can only be used for RSA keys');
    return form;
  }
  if (form === 'spki' && isPublic !== false) return form;
  if (form === 'pkcs8' && isPublic !== true) return form;
  if (form !== 'sec1' || isPublic === true) throw wrongValue(`${name}.type`, form);
  if (keyType !== undefined && keyType !== 'ec') throw unfit('sec1 can only be used for EC keys');
  return form;
}

const isText = (value) => typeof value === 'string' || ArrayBuffer.isView(value) || value instanceof ArrayBuffer;

function parse(options, keyType, isPublic, name) {
  const isRead = keyType === undefined;
  const format = options.format === undefined && isRead ? 'pem' : options.format;
  if (!['pem', 'der', 'jwk'].includes(format)) throw wrongValue(`${name}.format`, options.format);
  const form = formOf(options.type, (!isRead || format === 'der') && format !== 'jwk', keyType, isPublic, name);
  if (isPublic === true) return { format, form };
  const { cipher, passphrase } = options;
  if (!isRead) checkCipher(format, form, cipher, passphrase, name);
  const isAsked = isRead ? passphrase !== undefined : cipher !== undefined && cipher !== null;
  if (!isAsked) return { format, form };
  if (!isText(passphrase)) throw wrongValue(`${name}.passphrase`, passphrase);
  return { format, form, cipher, passphrase: bytesOf(passphrase, options.encoding, 'key.passphrase') };
}

function checkCipher(format, form, cipher, passphrase, name) {
  if (cipher === undefined || cipher === null) {
    if (passphrase !== undefined) throw wrongValue(`${name}.cipher`, cipher);
    return;
  }
  if (typeof cipher !== 'string') throw wrongValue(`${name}.cipher`, cipher);
  if (format === 'der' && form !== 'pkcs8') throw unfit(`${form} does not support encryption`);
  if (isText(passphrase)) cipherOf(cipher);
}

// How a key of this type is written.
function writing(options, keyType, isPublic, name = 'options') {
  needObject('options', options);
  if (options.format === 'jwk' && options.passphrase !== undefined) throw unfit('jwk does not support encryption');
  return parse(options, keyType, isPublic, name);
}

const reading = (options, isPublic) => parse(options, undefined, isPublic, 'options');

module.exports = { isText, reading, writing };
