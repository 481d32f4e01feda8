// X509Certificate of the module `crypto`.
'use strict';
const { Buffer } = require('buffer');
const { error, need, needObject, wrongType, wrongValue } = require('internal/arguments');
const { viewOf } = require('internal/crypto_bytes');
const { parse, shownGeneral, shownName, shownTime } = require('internal/certificate');
const keys = require('internal/keys');
const pairs = require('internal/pairs');
const pss = require('internal/pss');
const { createHash } = require('internal/hashing');
const { constants, verify } = require('internal/signing');
const isIP = (text) => require('net').isIP(text);

const custom = Symbol.for('nodejs.util.inspect.custom');
// Algorithms of signatures: their digest and the kind of their key.
const RSA = 'rsa';
const EC = 'ec';
const algorithms = {
  '2a864886f70d010104': ['md5', RSA], '2a864886f70d010105': ['sha1', RSA], '2a864886f70d01010e': ['sha224', RSA], '2a864886f70d01010b': ['sha256', RSA], '2a864886f70d01010c': ['sha384', RSA], '2a864886f70d01010d': ['sha512', RSA],
  '2a8648ce3d0401': ['sha1', EC], '2a8648ce3d040301': ['sha224', EC], '2a8648ce3d040302': ['sha256', EC], '2a8648ce3d040303': ['sha384', EC], '2a8648ce3d040304': ['sha512', EC],
  '608648016503040302': ['sha256', 'dsa'], '2a8648ce380403': ['sha1', 'dsa'], '2b6570': [null, 'ed25519'],
};

const digestOf = (name, bytes) => createHash(name).update(bytes).digest('hex').toUpperCase().replace(/..(?=.)/g, '$&:');

function bytesOf(buffer) {
  const view = typeof buffer === 'string' ? Buffer.from(buffer) : viewOf(buffer);
  const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  if (bytes[0] === 0x30) return bytes;
  const [, content] = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----([^-]*)-----END/.exec(bytes.latin1Slice()) ?? [];
  if (content === undefined) throw unreadable();
  return Buffer.from(content, 'base64');
}
const unreadable = () => error(Error, 'ERR_OSSL_PEM_NO_START_LINE', 'error:0480006C:PEM routines::no start line');

const withoutNulls = (name, value) => {
  need('string', name, value);
  if (value.includes('\0')) throw wrongValue(name, value);
  return value;
};

const same = (left, right) => left.toLowerCase() === right.toLowerCase();

// Whether a name with a star in its first label stands for a host.
function matches(pattern, host, { wildcards, partialWildcards, multiLabelWildcards }) {
  if (same(pattern, host)) return true;
  const [first, ...rest] = pattern.split('.');
  const [label, ...others] = host.split('.');
  if (!wildcards || rest.length < 2 || first.split('*').length !== 2 || (first !== '*' && (!partialWildcards || /^xn--/i.test(first)))) return false;
  const isDeeper = multiLabelWildcards && first === '*' && others.length > rest.length;
  if (!same(rest.join('.'), others.slice(isDeeper ? -rest.length : 0).join('.'))) return false;
  const [head, tail] = first.split('*');
  return label.length > head.length + tail.length && same(label.slice(0, head.length), head) && same(label.slice(label.length - tail.length), tail);
}

// An address in the form that certificates have here.
function address(ip) {
  if (isIP(ip) === 4) return ip;
  const [head, tail] = ip.split('::').map((part) => (part ? part.split(':') : []));
  const last = (tail ?? head).at(-1);
  if (last?.includes('.')) {
    const [a, b, c, d] = last.split('.').map(Number);
    (tail ?? head).splice(-1, 1, (a * 256 + b).toString(16), (c * 256 + d).toString(16));
  }
  const filled = tail ? [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail] : head;
  return filled.map((part) => parseInt(part, 16).toString(16).toUpperCase()).join(':');
}

function hostOptions(options = {}) {
  needObject('options', options);
  const { subject = 'default', wildcards = true, partialWildcards = true, multiLabelWildcards = false, singleLabelSubdomains = false } = options;
  if (!['default', 'always', 'never'].includes(need('string', 'options.subject', subject))) throw wrongValue('options.subject', subject);
  const flags = { wildcards, partialWildcards, multiLabelWildcards, singleLabelSubdomains };
  for (const [name, flag] of Object.entries(flags)) need('boolean', `options.${name}`, flag);
  return { subject, ...flags };
}

// As an object: what is there more than once is a list.
function gathered(pairs, nameOf, valueOf) {
  const all = Object.create(null);
  for (const pair of pairs) {
    const name = nameOf(pair);
    all[name] = name in all ? [].concat(all[name], valueOf(pair)) : valueOf(pair);
  }
  return all;
}

class X509Certificate {
  #about;
  #key;
  constructor(buffer) {
    if (typeof buffer !== 'string' && viewOf(buffer) === undefined) throw wrongType('buffer', 'of type string or an instance of Buffer, TypedArray, or DataView', buffer);
    const bytes = bytesOf(buffer);
    try {
      this.#about = parse(bytes);
    } catch {
      throw unreadable();
    }
  }
  get subject() {
    return shownName(this.#about.subject) || undefined;
  }
  get issuer() {
    return shownName(this.#about.issuer) || undefined;
  }
  get subjectAltName() {
    return this.#about.alternatives?.map(shownGeneral).join(', ');
  }
  get infoAccess() {
    return this.#about.access?.map(({ method, value }) => `${method}:${value}`).join('\n');
  }
  get issuerCertificate() {
    return undefined;
  }
  get validFrom() {
    return shownTime(this.#about.from);
  }
  get validTo() {
    return shownTime(this.#about.to);
  }
  get validFromDate() {
    return new Date(this.#about.from);
  }
  get validToDate() {
    return new Date(this.#about.to);
  }
  get fingerprint() {
    return digestOf('sha1', this.raw);
  }
  get fingerprint256() {
    return digestOf('sha256', this.raw);
  }
  get fingerprint512() {
    return digestOf('sha512', this.raw);
  }
  get keyUsage() {
    return this.#about.purposes;
  }
  get serialNumber() {
    return this.#about.serial;
  }
  get raw() {
    return Buffer.from(this.#about.raw);
  }
  get publicKey() {
    return (this.#key ??= keys.keyOf(pairs.ofDer(this.#about.key, 'spki', 'public')));
  }
  get ca() {
    return this.#about.constraints === true;
  }
  checkHost(name, options = undefined) {
    withoutNulls('name', name);
    const flags = hostOptions(options);
    const listed = this.#about.alternatives?.filter(({ kind }) => kind === 'DNS').map(({ value }) => value) ?? [];
    const looksAtSubject = flags.subject === 'always' || (flags.subject === 'default' && !listed.length);
    const own = looksAtSubject ? this.#about.subject.filter(({ type }) => type === 'CN').map(({ value }) => value) : [];
    return [...listed, ...own].find((each) => matches(each, name, flags));
  }
  checkEmail(email, options = undefined) {
    withoutNulls('email', email);
    const { subject } = hostOptions(options);
    const listed = this.#about.alternatives?.filter(({ kind }) => kind === 'email').map(({ value }) => value) ?? [];
    const looksAtSubject = subject === 'always' || (subject === 'default' && !listed.length);
    const own = looksAtSubject ? this.#about.subject.filter(({ type }) => type === 'emailAddress').map(({ value }) => value) : [];
    const [person, host = ''] = email.split('@');
    const isIt = (each) => each.split('@')[0] === person && same(each.split('@')[1] ?? '', host);
    return [...listed, ...own].some(isIt) ? email : undefined;
  }
  checkIP(ip) {
    need('string', 'ip', ip);
    if (!isIP(ip)) throw wrongValue('ip', ip);
    const wanted = address(ip);
    return this.#about.alternatives?.some(({ kind, value }) => kind === 'IP Address' && value === wanted) ? ip : undefined;
  }
  checkIssued(other) {
    if (!(other instanceof X509Certificate)) throw wrongType('otherCert', 'an instance of X509Certificate', other);
    return Buffer.compare(this.#about.issuerBytes, other.#about.subjectBytes) === 0 && kindOf(this.#about) === other.#keyType();
  }
  checkPrivateKey(key) {
    if (!(key instanceof keys.KeyObject)) throw wrongType('pkey', 'an instance of KeyObject', key);
    if (key.type !== 'private') throw wrongValue('pkey', key);
    const own = pairs.toPublic(keys.valueOf(key));
    return pairs.toDer(own, 'spki').equals(Buffer.from(this.#about.key));
  }
  verify(key) {
    if (!(key instanceof keys.KeyObject)) throw wrongType('pkey', 'an instance of KeyObject', key);
    if (key.type !== 'public') throw wrongValue('pkey', key);
    const { signed, signature, algorithm, parameters } = this.#about;
    if (algorithm === pss.ID) {
      const { hash, salt: saltLength } = pss.ofDer(parameters) ?? { hash: 'sha1', salt: 20 };
      return key.asymmetricKeyType.startsWith('rsa') && verify(hash, signed, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }, signature);
    }
    const [digest, kind] = algorithms[algorithm] ?? [];
    return kind !== undefined && kind === key.asymmetricKeyType && verify(digest, signed, key, signature);
  }
  #keyType() {
    try {
      return this.publicKey.asymmetricKeyType;
    } catch {
      return undefined;
    }
  }
  toString() {
    return `-----BEGIN CERTIFICATE-----\n${this.raw.toString('base64').replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
  }
  toJSON() {
    return this.toString();
  }
  toLegacyObject() {
    const { subject, issuer, access } = this.#about;
    const ofName = (list) => gathered(list, ({ type }) => type, ({ value }) => value);
    const legacy = {
      subject: ofName(subject), issuer: ofName(issuer), subjectaltname: this.subjectAltName, infoAccess: access && gathered(access, ({ method }) => method, ({ value }) => [value]), ca: this.ca,
      ...ofKey(this.publicKey),
      valid_from: this.validFrom, valid_to: this.validTo, fingerprint: this.fingerprint, fingerprint256: this.fingerprint256, fingerprint512: this.fingerprint512, ext_key_usage: this.keyUsage, serialNumber: this.serialNumber, raw: this.raw,
    };
    // What a certificate does not have is not there.
    return Object.fromEntries(Object.entries(legacy).filter(([, value]) => value !== undefined));
  }
  [custom](depth, options) {
    if (depth < 0) return this;
    const { subject, subjectAltName, issuer, infoAccess, validFrom, validTo, fingerprint, fingerprint256, fingerprint512, keyUsage, serialNumber } = this;
    const shown = { subject, subjectAltName, issuer, infoAccess, validFrom, validTo, fingerprint, fingerprint256, fingerprint512, keyUsage, serialNumber };
    return `X509Certificate ${shared.inspect(shown, { ...options, depth: options.depth === null ? null : options.depth - 1 })}`;
  }
}

// The kind of the key that a signature was made with.
const kindOf = ({ algorithm }) => (algorithm === pss.ID ? RSA : algorithms[algorithm]?.[1]);

const curveNames = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };
function ofKey(key) {
  const value = keys.valueOf(key);
  if (value.kind === 'RSA') {
    const { n, e } = pairs.toJwk({ ...value, pss: undefined });
    const { bits } = pairs.ofRsa(value);
    const number = (text) => Buffer.from(text, 'base64url').toString('hex');
    return { modulus: number(n).toUpperCase(), bits, exponent: `0x${number(e).replace(/^0+/, '')}`, pubkey: key.export({ type: 'spki', format: 'der' }) };
  }
  if (!pairs.isCurve(value.kind)) return {};
  const { name, size } = pairs.curves[value.kind];
  return { bits: value.kind === 'P-521' ? 521 : size * 8, pubkey: Buffer.from(value.bytes), asn1Curve: name, nistCurve: curveNames[name] };
}

// Nobody can change one, so a copy is the certificate itself.
shared.copyOf(X509Certificate, (certificate) => certificate);

module.exports = { X509Certificate };
