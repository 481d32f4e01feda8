// Methods of buffers that read and write numbers.
'use strict';
const { error, outOfRange, need } = require('internal/arguments');

const outside = (name) => error(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', name ? `"${name}" is outside of buffer bounds` : 'Attempt to access memory outside buffer bounds');

// An offset at which `size` bytes are not there.
function misplaced(bytes, offset, size) {
  need('number', 'offset', offset);
  if (Math.floor(offset) !== offset) throw outOfRange('offset', 'an integer', offset);
  if (bytes.length < size) throw outside();
  throw outOfRange('offset', `>= 0 and <= ${bytes.length - size}`, offset);
}

function checkPlace(bytes, offset, size) {
  if (typeof offset !== 'number' || bytes[offset] === undefined || bytes[offset + size - 1] === undefined) misplaced(bytes, offset, size);
}

function rangeOf(least, most, bits) {
  const n = typeof least === 'bigint' ? 'n' : '';
  if (bits <= 32) return `>= ${least} and <= ${most}`;
  if (!least) return `>= 0${n} and < 2${n} ** ${bits}${n}`;
  return `>= -(2${n} ** ${bits - 1}${n}) and < 2${n} ** ${bits - 1}${n}`;
}

const unsignedLE = {
  1: (bytes, at) => bytes[at],
  2: (bytes, at) => bytes[at] + bytes[at + 1] * 2 ** 8,
  3: (bytes, at) => bytes[at] + bytes[at + 1] * 2 ** 8 + bytes[at + 2] * 2 ** 16,
  4: (bytes, at) => bytes[at] + bytes[at + 1] * 2 ** 8 + bytes[at + 2] * 2 ** 16 + bytes[at + 3] * 2 ** 24,
  5: (bytes, at) => unsignedLE[4](bytes, at) + bytes[at + 4] * 2 ** 32,
  6: (bytes, at) => unsignedLE[4](bytes, at) + unsignedLE[2](bytes, at + 4) * 2 ** 32,
};
const unsignedBE = {
  1: unsignedLE[1],
  2: (bytes, at) => bytes[at] * 2 ** 8 + bytes[at + 1],
  3: (bytes, at) => bytes[at] * 2 ** 16 + bytes[at + 1] * 2 ** 8 + bytes[at + 2],
  4: (bytes, at) => bytes[at] * 2 ** 24 + bytes[at + 1] * 2 ** 16 + bytes[at + 2] * 2 ** 8 + bytes[at + 3],
  5: (bytes, at) => bytes[at] * 2 ** 32 + unsignedBE[4](bytes, at + 1),
  6: (bytes, at) => unsignedBE[2](bytes, at) * 2 ** 32 + unsignedBE[4](bytes, at + 2),
};
const signed = (unsigned, size) => {
  const [half, whole] = [2 ** (size * 8 - 1), 2 ** (size * 8)];
  return (bytes, at) => {
    const value = unsigned[size](bytes, at);
    return value < half ? value : value - whole;
  };
};

function putLE(bytes, value, at, size) {
  if (size > 4) {
    putLE(bytes, Math.floor(value / 2 ** 32), at + 4, size - 4);
    size = 4;
  }
  for (let index = 0; index < size; index++, value >>>= 8) bytes[at + index] = value;
}
function putBE(bytes, value, at, size) {
  if (size > 4) {
    putBE(bytes, Math.floor(value / 2 ** 32), at, size - 4);
    at += size - 4;
    size = 4;
  }
  for (let index = size - 1; index >= 0; index--, value >>>= 8) bytes[at + index] = value;
}

function integers(isSigned, isLittle) {
  const unsigned = isLittle ? unsignedLE : unsignedBE;
  const put = isLittle ? putLE : putBE;
  const kinds = {};
  for (let size = 1; size <= 6; size++) {
    const take = isSigned ? signed(unsigned, size) : unsigned[size];
    const least = isSigned ? -(2 ** (size * 8 - 1)) : 0;
    const most = isSigned ? 2 ** (size * 8 - 1) - 1 : 2 ** (size * 8) - 1;
    kinds[size] = {
      read(offset = 0) {
        if (typeof offset !== 'number' || this[offset] === undefined || this[offset + size - 1] === undefined) misplaced(this, offset, size);
        return take(this, offset);
      },
      write(value, offset = 0) {
        const number = +value;
        if (number > most || number < least) throw outOfRange('value', rangeOf(least, most, size * 8), number);
        checkPlace(this, offset, size);
        put(this, number, offset, size);
        return offset + size;
      },
    };
  }
  return kinds;
}

// Those whose size is an argument, and whose offset has no default.
function ofSize(kinds, doing, size) {
  need('number', 'byteLength', size);
  const found = kinds[size];
  if (found) return found[doing];
  throw outOfRange('byteLength', Number.isFinite(size) && !Number.isInteger(size) || Number.isNaN(size) ? 'an integer' : '>= 1 and <= 6', size);
}
const sized = (kinds) => ({
  read(offset, byteLength) {
    if (offset === undefined) need('number', 'offset', offset);
    return ofSize(kinds, 'read', byteLength).call(this, offset);
  },
  write(value, offset, byteLength) {
    const write = ofSize(kinds, 'write', byteLength);
    if (offset === undefined) need('number', 'offset', offset);
    return write.call(this, value, offset);
  },
});

// Numbers with a fraction and those of 64 bits go through one place of the memory that has them in both shapes.
const scratch = new ArrayBuffer(8);
const scratchBytes = new Uint8Array(scratch);
const shapes = { Float: new Float32Array(scratch), Double: new Float64Array(scratch), BigInt64: new BigInt64Array(scratch), BigUInt64: new BigUint64Array(scratch) };

function wide(shape, isLittle, check) {
  const size = shape.BYTES_PER_ELEMENT;
  const place = isLittle ? (index) => index : (index) => size - 1 - index;
  return {
    read(offset = 0) {
      checkPlace(this, offset, size);
      for (let index = 0; index < size; index++) scratchBytes[place(index)] = this[offset + index];
      return shape[0];
    },
    write(value, offset = 0) {
      const number = check(value);
      checkPlace(this, offset, size);
      shape[0] = number;
      for (let index = 0; index < size; index++) this[offset + index] = scratchBytes[place(index)];
      return offset + size;
    },
  };
}

function bounded(least, most) {
  return (value) => {
    if (value > most || value < least) throw outOfRange('value', rangeOf(least, most, 64), value);
    if (typeof value !== 'bigint') throw new TypeError('Cannot mix BigInt and other types, use explicit conversions');
    return value;
  };
}

const methods = {};
function offer(name, { read, write }) {
  for (const [key, value] of [[`read${name}`, read], [`write${name}`, write]]) {
    Object.defineProperty(value, 'name', { value: key });
    methods[key] = value;
    // Both spellings are there.
    methods[key.replace('UInt', 'Uint')] = value;
  }
}
for (const end of ['LE', 'BE']) {
  const isLittle = end === 'LE';
  for (const kind of ['UInt', 'Int']) {
    const kinds = integers(kind === 'Int', isLittle);
    if (isLittle) offer(`${kind}8`, kinds[1]);
    offer(`${kind}16${end}`, kinds[2]);
    offer(`${kind}32${end}`, kinds[4]);
    offer(`${kind}${end}`, sized(integers(kind === 'Int', isLittle)));
  }
  for (const name of ['Float', 'Double']) offer(name + end, wide(shapes[name], isLittle, (value) => +value));
  offer(`BigInt64${end}`, wide(shapes.BigInt64, isLittle, bounded(-(2n ** 63n), 2n ** 63n - 1n)));
  offer(`BigUInt64${end}`, wide(shapes.BigUInt64, isLittle, bounded(0n, 2n ** 64n - 1n)));
}

module.exports = { methods, outside };
