// `data:` URLs: the type and the bytes of what they have.
'use strict';
const { Buffer } = require('buffer');

const PRESET = 'text/plain;charset=US-ASCII';

function unescaped(text) {
  const bytes = Buffer.from(text);
  if (!text.includes('%')) return bytes;
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const hex = bytes[at] === 0x25 ? /^[0-9a-f]{2}$/i.exec(bytes.latin1Slice(at + 1, at + 3))?.[0] : undefined;
    bytes[length++] = hex ? parseInt(hex, 16) : bytes[at];
    if (hex) at += 2;
  }
  return bytes.subarray(0, length);
}

// Undefined: it is none.
module.exports = function parse(url) {
  const [, head, data] = /^data:([^,]*),([^#]*)/is.exec(url) ?? [];
  if (head === undefined) return undefined;
  const type = head.replace(/;\s*base64\s*$/i, '').trim();
  let bytes = unescaped(data);
  if (type !== head.trim()) {
    try {
      bytes = Buffer.from(atob(bytes.latin1Slice()), 'latin1');
    } catch {
      return undefined;
    }
  }
  return { type: type.startsWith(';') ? `text/plain${type}` : type.includes('/') ? type : PRESET, bytes };
};
