// Names of hosts have addresses of their own here, of the network that is kept for tests (198.18.0.0/15). Nothing but this program knows
// them: a connection to one goes to the name, which the host looks up.
'use strict';

const FIRST = 198 * 2 ** 24 + 18 * 2 ** 16;
// As many as the network has.
const MOST = 2 ** 17 - 2;

const addresses = new Map();
const names = new Map();
let last = 0;

function isName(name) {
  return name.length <= 253 && name.split('.').every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label));
}

// The address of a name; undefined: it is none.
function addressOf(given) {
  const name = require('url').domainToASCII(given).toLowerCase().replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost')) return '127.0.0.1';
  if (!isName(name)) return undefined;
  const known = addresses.get(name);
  if (known) return known;
  last = (last % MOST) + 1;
  const number = FIRST + last;
  const address = [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
  addresses.delete(names.get(address));
  names.set(address, name);
  addresses.set(name, address);
  return address;
}

// The name of such an address, or what is given.
const nameOf = (address) => names.get(address) ?? address;

module.exports = { addressOf, nameOf };
