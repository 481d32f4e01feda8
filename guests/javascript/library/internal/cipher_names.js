// The ciphers by their names, and what is known of each.
'use strict';
const { need, needInteger, needObject, wrongType } = require('internal/arguments');

// Of each mode of AES: the number that OpenSSL has for it with each size of key, and the sizes of blocks and of initialization vectors.
const modes = {
  ecb: { nids: [418, 422, 426], blockSize: 16 },
  cbc: { nids: [419, 423, 427], blockSize: 16, ivLength: 16 },
  ofb: { nids: [420, 424, 428], blockSize: 1, ivLength: 16 },
  cfb: { nids: [421, 425, 429], blockSize: 1, ivLength: 16 },
  cfb8: { nids: [653, 654, 655], blockSize: 1, ivLength: 16, mode: 'cfb' },
  ctr: { nids: [904, 905, 906], blockSize: 1, ivLength: 16 },
  gcm: { nids: [895, 898, 901], blockSize: 1, ivLength: 12, isSealed: true },
  ccm: { nids: [896, 899, 902], blockSize: 1, ivLength: 12, isSealed: true },
  wrap: { nids: [788, 789, 790], blockSize: 8, ivLength: 8 },
  'wrap-pad': { nids: [897, 900, 903], blockSize: 8, ivLength: 4, mode: 'wrap' },
};
const bits = [128, 192, 256];

const others = {
  'chacha20-poly1305': { kind: 'chacha', mode: 'stream', nid: 1018, ivLength: 12, keyLength: 32, isSealed: true },
  'des-ede3': { kind: 'des-ecb', mode: 'ecb', nid: 33, blockSize: 8, keyLength: 24 },
  'des-ede3-cbc': { kind: 'des-cbc', mode: 'cbc', nid: 44, blockSize: 8, ivLength: 8, keyLength: 24 },
};
const aliases = { des3: 'des-ede3-cbc', 'des-ede3-ecb': 'des-ede3' };
for (const size of bits) aliases[`aes${size}`] = `aes-${size}-cbc`;

function listed(kind, size) {
  const { nids, mode = kind, ...sizes } = modes[kind];
  const isPlain = !sizes.isSealed && mode !== 'wrap';
  return { kind, name: isPlain ? `aes-${size}-${kind}` : `id-aes${size}-${kind}`, mode, nid: nids[bits.indexOf(size)], keyLength: size / 8, ...sizes };
}

// Undefined: there is none of that name.
function aboutCipher(given) {
  const name = given.toLowerCase();
  const plain = aliases[name] ?? name;
  if (Object.hasOwn(others, plain)) return { name: plain, ...others[plain] };
  const [, size, kind] = /^(?:id-aes|aes-?)(128|192|256)-(\w+(?:-pad)?)$/.exec(plain) ?? [];
  return kind && Object.hasOwn(modes, kind) ? listed(kind, Number(size)) : undefined;
}

function ofNumber(nid) {
  for (const [kind, { nids }] of Object.entries(modes)) if (nids.includes(nid)) return listed(kind, bits[nids.indexOf(nid)]);
  const name = Object.keys(others).find((each) => others[each].nid === nid);
  return name && { name, ...others[name] };
}

function fitsVector({ kind, ivLength }, wanted) {
  if (kind === 'ccm') return wanted >= 7 && wanted <= 13;
  if (kind === 'gcm') return wanted >= 1;
  if (kind === 'chacha') return wanted >= 1 && wanted <= 12;
  return wanted === ivLength;
}

function getCipherInfo(given, options) {
  if (typeof given !== 'string' && typeof given !== 'number') throw wrongType('nameOrNid', 'one of type string or number', given);
  if (options !== undefined) needObject('options', options);
  const [key, vector] = ['keyLength', 'ivLength'].map((name) => (options?.[name] === undefined ? undefined : needInteger(`options.${name}`, need('number', `options.${name}`, options[name]), -(2 ** 31), 2 ** 31 - 1)));
  const known = typeof given === 'number' ? ofNumber(given) : aboutCipher(given);
  if (!known || (key !== undefined && key !== known.keyLength) || (vector !== undefined && !fitsVector(known, vector))) return undefined;
  const { mode, name, nid, blockSize, ivLength, keyLength } = known;
  return { mode, name, nid, ...(blockSize && { blockSize }), ...(ivLength && { ivLength: vector ?? ivLength }), keyLength };
}

function getCiphers() {
  const ofAes = bits.flatMap((size) => Object.keys(modes).flatMap((kind) => {
    const { name, isSealed, mode } = listed(kind, size);
    if (kind === 'wrap') return [name, `aes${size}-wrap`];
    if (mode === 'wrap') return [name];
    return isSealed ? [`aes-${size}-${kind}`, name.replace(/\w+$/, (last) => last.toUpperCase())] : [name];
  }));
  return [...ofAes, ...Object.keys(others), ...Object.keys(aliases)].sort();
}

module.exports = { aboutCipher, fitsVector, getCipherInfo, getCiphers };
