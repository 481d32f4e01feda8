// DER (ITU-T X.690) as far as keys need it: definite lengths, tags of one byte.
'use strict';
const { Buffer } = require('buffer');

const INTEGER = 0x02;
const BITS = 0x03;
const OCTETS = 0x04;
const NULL = 0x05;
const OBJECT = 0x06;
const SEQUENCE = 0x30;

// The elements of a body, one after the other: their tags, their bodies, and all of them.
function elements(bytes) {
  const all = [];
  for (let at = 0; at < bytes.length; ) {
    const start = at;
    const tag = bytes[at++];
    let length = bytes[at++];
    if (length >= 0x80) {
      let count = length - 0x80;
      if (count < 1 || count > 4) throw new Error('not DER');
      for (length = 0; count > 0; count--) length = length * 256 + bytes[at++];
    }
    // A byte of the length that is missing makes it no number, and fails here too.
    if (!(at + length <= bytes.length)) throw new Error('not DER');
    all.push({ tag, body: bytes.subarray(at, at + length), whole: bytes.subarray(start, at + length) });
    at += length;
  }
  return all;
}

// The elements of the one sequence that bytes are.
function sequence(bytes) {
  const [only, ...more] = elements(bytes);
  if (only?.tag !== SEQUENCE || more.length) throw new Error('not a sequence');
  return elements(only.body);
}

// The body of an element, which has this tag.
function body(element, tag) {
  if (element?.tag !== tag) throw new Error('another element was expected');
  return element.body;
}

function make(tag, ...parts) {
  const content = Buffer.concat(parts);
  let length = [content.length];
  if (content.length >= 0x80) {
    length = [];
    for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256);
    length.unshift(0x80 + length.length);
  }
  return Buffer.concat([Uint8Array.of(tag, ...length), content]);
}

// A whole number that is not negative, of its bytes and to them, without zeros in front.
function bare(bytes) {
  let zeros = 0;
  while (zeros < bytes.length - 1 && bytes[zeros] === 0) zeros++;
  return bytes.subarray(zeros);
}
const integer = (bytes) => make(INTEGER, ...(bytes[0] & 0x80 ? [Uint8Array.of(0)] : []), bytes);

module.exports = {
  bare,
  bits: (bytes) => make(BITS, Uint8Array.of(0), bytes),
  body,
  elements,
  integer: (bytes) => integer(bare(bytes)),
  make,
  nothing: make(NULL),
  object: (hex) => make(OBJECT, Buffer.from(hex, 'hex')),
  octets: (bytes) => make(OCTETS, bytes),
  ofBits: (element) => body(element, BITS).subarray(1),
  ofInteger: (element) => bare(body(element, INTEGER)),
  ofObject: (element) => Buffer.from(body(element, OBJECT)).toString('hex'),
  ofOctets: (element) => body(element, OCTETS),
  sequence,
  structure: (...parts) => make(SEQUENCE, ...parts),
};
