// Names of hosts with characters that ASCII does not have, after UTS #46 as the WHATWG's standard of URLs uses it. What a character may be
// is told by its properties, since the table of UTS #46 would be far larger than all the rest.
'use strict';
const punycode = require('punycode');

const ignored = /(?![\u200c\u200d\u115f\u1160\u17b4\u17b5\u3164\uffa0])[\p{Default_Ignorable_Code_Point}]/gu;
const refused = /[\p{Cn}\p{Co}\p{Cs}\p{Cc}\p{Zs}\p{Zl}\p{Zp}\u2ff0-\u2fff\ufff9-\ufffd]|(?![\u200c\u200d])\p{Cf}/u;
const virama =
  '[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a\u1714\u1734\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua8c4\ua953\ua9c0\uaaf6\uabed\u{10a3f}\u{11046}\u{1107f}\u{110b9}\u{11133}\u{11134}\u{111c0}\u{11235}\u{112ea}\u{1134d}\u{11442}\u{114c2}\u{115bf}\u{1163f}\u{116b6}\u{1172b}\u{11839}\u{119e0}\u{11a34}\u{11a47}\u{11a99}\u{11c3f}\u{11d44}\u{11d45}\u{11d97}]';
const joined = '[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Nko}\\p{Script=Mongolian}\\p{Script=Adlam}]';
// Joiners stand after a virama; one that keeps apart also between letters that would be written together.
const strayJoiner = new RegExp(`(?<!${virama})\u200d|(?<!${virama})(?<!${joined}\\p{M}*)\u200c|(?<!${virama})\u200c(?!\\p{M}*${joined})`, 'u');

const fromRight = '[\\p{Script=Hebrew}\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Thaana}\\p{Script=Nko}\\p{Script=Samaritan}\\p{Script=Mandaic}\\p{Script=Adlam}]';
const right = new RegExp(`(?=${fromRight})\\p{L}`, 'u');
const arabicDigit = /[\u0660-\u0669\u066b\u066c\u06dd]/;
const left = new RegExp(`(?!${fromRight})\\p{L}`, 'u');
const rightLabel = new RegExp(`^(?=${fromRight})\\p{L}.*?[0-9\u06f0-\u06f9\u0660-\u0669\\p{L}]\\p{M}*$|^(?=${fromRight})\\p{L}\\p{M}*$`, 'u');
const leftLabel = /^\p{L}(?:.*[0-9\p{L}])?\p{M}*$/u;

function map(text) {
  const lower = Array.from(text.replace(ignored, ''), (character) => character.toLowerCase()).join('').normalize('NFKC');
  return Array.from(lower.replace(ignored, ''), (character) => character.toLowerCase()).join('').normalize('NFC').replace(/[\u3002\uff0e\uff61]/g, '.');
}

// Letters that are written from the right and from the left are not in one label.
function keepsDirection(label) {
  if (label === '') return true;
  if (!right.test(label) && !arabicDigit.test(label)) return leftLabel.test(label);
  return rightLabel.test(label) && !left.test(label) && !(arabicDigit.test(label) && /[0-9\u06f0-\u06f9]/.test(label));
}

const isValid = (label) => label === map(label) && !/^\p{M}/u.test(label) && !refused.test(label) && !strayJoiner.test(label);

// What a label stands for, or null when it is none.
function decode(label) {
  if (!label.startsWith('xn--')) return label;
  try {
    const text = punycode.decode(label.slice(4));
    const isSame = /[^\0-\x7f]/.test(text) && `xn--${punycode.encode(text)}` === label;
    return isSame ? text : null;
  } catch {
    return null;
  }
}

// A host's name in ASCII, or null when it is none.
function toASCII(host) {
  const labels = map(host).split('.').map(decode);
  if (labels.some((label) => label === null || (/[^\0-\x7f]/.test(label) && !isValid(label)))) return null;
  const hasRight = labels.some((label) => right.test(label) || arabicDigit.test(label));
  if (hasRight && !labels.every(keepsDirection)) return null;
  return labels.map((label) => (/[^\0-\x7f]/.test(label) ? `xn--${punycode.encode(label)}` : label)).join('.');
}

module.exports = { toASCII };
