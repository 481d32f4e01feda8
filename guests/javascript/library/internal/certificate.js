// What a certificate says (RFC 5280), in the words of Node.js.
'use strict';
const { Buffer } = require('buffer');
const der = require('internal/der');

const SEQUENCE = 0x30;
const names = {
  '550403': 'CN', '550404': 'SN', '550405': 'serialNumber', '550406': 'C', '550407': 'L', '550408': 'ST', '550409': 'street', '55040a': 'O', '55040b': 'OU', '55040c': 'title', '550411': 'postalCode',
  '55042a': 'GN', '55042b': 'initials', '55042e': 'dnQualifier', '550441': 'pseudonym', '2a864886f70d010901': 'emailAddress', '0992268993f22c640119': 'DC', '0992268993f22c640101': 'UID',
  '2b0601040182373c020101': 'jurisdictionL', '2b0601040182373c020102': 'jurisdictionST', '2b0601040182373c020103': 'jurisdictionC', '55040f': 'businessCategory',
};
const extensions = { '551d11': 'alternatives', '551d13': 'constraints', '551d25': 'purposes', '2b06010505070101': 'access' };
const accesses = { '2b06010505073001': 'OCSP', '2b06010505073002': 'CA Issuers' };

// An identifier as numbers with dots.
function dotted(hex) {
  const parts = [];
  let part = 0n;
  for (const byte of Buffer.from(hex, 'hex')) {
    part = part * 128n + BigInt(byte & 0x7f);
    if (byte & 0x80) continue;
    if (parts.length) parts.push(part);
    else {
      const first = part < 80n ? part / 40n : 2n;
      parts.push(first, part - first * 40n);
    }
    part = 0n;
  }
  return parts.join('.');
}

function textOf({ tag, body }) {
  if (tag === 0x1e) return Buffer.from(body).swap16().toString('utf16le');
  return Buffer.from(body).toString(tag === 0x0c ? 'utf8' : 'latin1');
}

// RFC 2253, with control characters as hexadecimal numbers.
const escaped = (text) => text.replace(/[,+"\\<>;]|^[# ]| $/g, '\\$&').replace(/[\0-\x1f\x7f]/g, (c) => `\\${c.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`);

// Pairs of a short name and a value; those of one set are told apart by `isFirst`.
function nameOf(element) {
  return der.elements(der.body(element, SEQUENCE)).flatMap(({ body }) =>
    der.elements(body).map((pair, at) => {
      const [id, value] = der.elements(pair.body);
      const type = der.ofObject(id);
      return { type: names[type] ?? dotted(type), value: textOf(value), isFirst: at === 0 };
    }),
  );
}

const shownName = (pairs) => pairs.map(({ type, value, isFirst }, at) => `${at === 0 ? '' : isFirst ? '\n' : ' + '}${type}=${escaped(value)}`).join('');

function timeOf(element) {
  const text = textOf(element);
  const [, year, ...rest] = /^(\d\d|\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  if (year === undefined) throw new Error('not a time');
  const full = year.length === 4 ? Number(year) : Number(year) + (Number(year) < 50 ? 2000 : 1900);
  const [month, day, hour, minute, second] = rest.map(Number);
  return new Date(Date.UTC(full, month - 1, day, hour, minute, second));
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const shownTime = (date) => `${MONTHS[date.getUTCMonth()]} ${`${date.getUTCDate()}`.padStart(2)} ${date.toISOString().slice(11, 19)} ${date.getUTCFullYear()} GMT`;

function addressOf(bytes) {
  if (bytes.length === 4) return [...bytes].join('.');
  if (bytes.length !== 16) return '<invalid>';
  return Array.from({ length: 8 }, (_, at) => ((bytes[2 * at] << 8) | bytes[2 * at + 1]).toString(16).toUpperCase()).join(':');
}

// Of a name of any kind, the kind and the text. Only what could be taken for more than one is quoted.
const quotedIf = (text) => (/[",'\0-\x1f\x7f-\xff\\]/.test(text) ? JSON.stringify(text).replace(/[\x7f-\xff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`) : text);
function generalName({ tag, body }) {
  const text = () => Buffer.from(body).toString('latin1');
  switch (tag & 0x1f) {
    case 1: return { kind: 'email', value: text() };
    case 2: return { kind: 'DNS', value: text() };
    case 4: return { kind: 'DirName', value: nameOf(der.elements(body)[0]).map(({ type, value }) => `${type} = ${value}`).join(', ') };
    case 6: return { kind: 'URI', value: text() };
    case 7: return { kind: 'IP Address', value: addressOf(body) };
    case 8: return { kind: 'Registered ID', value: dotted(Buffer.from(body).toString('hex')) };
    default: return { kind: 'othername', value: '<unsupported>' };
  }
}
const shownGeneral = ({ kind, value }) => `${kind}:${quotedIf(value)}`;

const readers = {
  alternatives: (value) => der.sequence(value).map(generalName),
  constraints: (value) => der.sequence(value)[0]?.tag === 0x01 && der.sequence(value)[0].body[0] !== 0,
  purposes: (value) => der.sequence(value).map((each) => dotted(der.ofObject(each))),
  access: (value) =>
    der.sequence(value).map(({ body }) => {
      const [method, place] = der.elements(body);
      const id = der.ofObject(method);
      const { kind, value } = generalName(place);
      return { method: `${accesses[id] ?? dotted(id)} - ${kind}`, value };
    }),
};

function readExtensions(element) {
  const found = {};
  for (const { body } of element ? der.sequence(element.body) : []) {
    const parts = der.elements(body);
    const name = extensions[der.ofObject(parts[0])];
    if (name) found[name] = readers[name](der.ofOctets(parts.at(-1)));
  }
  return found;
}

// Of the DER of a certificate; throws where it is none.
function parse(bytes) {
  const [whole] = der.elements(bytes);
  const [signed, algorithm, signature] = der.elements(der.body(whole, SEQUENCE));
  const parts = der.elements(der.body(signed, SEQUENCE));
  if (parts[0].tag === 0xa0) parts.shift();
  const [serial, , issuer, validity, subject, key, ...more] = parts;
  const [from, to] = der.elements(der.body(validity, SEQUENCE)).map(timeOf);
  return {
    raw: Buffer.from(whole.whole),
    signed: signed.whole,
    algorithm: der.ofObject(der.elements(algorithm.body)[0]),
    parameters: der.elements(algorithm.body)[1],
    signature: der.ofBits(signature),
    serial: Buffer.from(der.ofInteger(serial)).toString('hex').toUpperCase(),
    issuer: nameOf(issuer),
    issuerBytes: issuer.whole,
    subject: nameOf(subject),
    subjectBytes: subject.whole,
    from,
    to,
    key: key.whole,
    ...readExtensions(more.find(({ tag }) => tag === 0xa3)),
  };
}

module.exports = { parse, shownGeneral, shownName, shownTime };
