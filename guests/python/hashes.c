// Hash functions by their standards. The compression of MD5, SHA-1 and SHA-2 is CPython's (HACL*), which proves it; those of
// RIPEMD-160 and SM3 are here, since no library of the guest has them.
#include "hashes.h"

#include <string.h>

void _Py_LibHacl_Hacl_Hash_MD5_update_multi(uint32_t *state, uint8_t *blocks, uint32_t count);
void _Py_LibHacl_Hacl_Hash_SHA1_update_multi(uint32_t *state, uint8_t *blocks, uint32_t count);
void _Py_LibHacl_Hacl_Hash_SHA2_sha256_update_nblocks(uint32_t length, uint8_t *blocks, uint32_t *state);
void _Py_LibHacl_Hacl_Hash_SHA2_sha512_update_nblocks(uint32_t length, uint8_t *blocks, uint64_t *state);

static void md5(hash_state_t *state, const uint8_t *block) {
  _Py_LibHacl_Hacl_Hash_MD5_update_multi(state->narrow, (uint8_t *)block, 1);
}

static void sha1(hash_state_t *state, const uint8_t *block) {
  _Py_LibHacl_Hacl_Hash_SHA1_update_multi(state->narrow, (uint8_t *)block, 1);
}

static void sha256(hash_state_t *state, const uint8_t *block) {
  _Py_LibHacl_Hacl_Hash_SHA2_sha256_update_nblocks(64, (uint8_t *)block, state->narrow);
}

static void sha512(hash_state_t *state, const uint8_t *block) {
  _Py_LibHacl_Hacl_Hash_SHA2_sha512_update_nblocks(128, (uint8_t *)block, state->wide);
}

static uint32_t rotate(uint32_t word, unsigned by) { return by % 32 ? word << by % 32 | word >> (32 - by % 32) : word; }

static uint32_t little(const uint8_t *bytes) {
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint32_t big(const uint8_t *bytes) { return __builtin_bswap32(little(bytes)); }

// One of RIPEMD-160's five functions.
static uint32_t mixed(unsigned which, uint32_t x, uint32_t y, uint32_t z) {
  switch (which) {
    case 0: return x ^ y ^ z;
    case 1: return (x & y) | (~x & z);
    case 2: return (x | ~y) ^ z;
    case 3: return (x & z) | (y & ~z);
    default: return x ^ (y | ~z);
  }
}

// RIPEMD-160 (Dobbertin, Bosselaers, Preneel, 1996): two lines of 80 steps, with words, shifts and constants of each.
static void ripemd160(hash_state_t *state, const uint8_t *block) {
  static const uint8_t words[2][80] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8,
       3, 10, 14, 4, 9, 15, 8, 1, 2, 7, 0, 6, 13, 11, 5, 12, 1, 9, 11, 10, 0, 8, 12, 4, 13, 3, 7, 15, 14, 5, 6, 2,
       4, 0, 5, 9, 7, 12, 2, 10, 14, 1, 3, 8, 11, 6, 15, 13},
      {5, 14, 7, 0, 9, 2, 11, 4, 13, 6, 15, 8, 1, 10, 3, 12, 6, 11, 3, 7, 0, 13, 5, 10, 14, 15, 8, 12, 4, 9, 1, 2,
       15, 5, 1, 3, 7, 14, 6, 9, 11, 8, 12, 2, 10, 0, 4, 13, 8, 6, 4, 1, 3, 11, 15, 0, 5, 12, 2, 13, 9, 7, 10, 14,
       12, 15, 10, 4, 1, 5, 8, 7, 6, 2, 13, 14, 0, 3, 9, 11},
  };
  static const uint8_t shifts[2][80] = {
      {11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8, 7, 6, 8, 13, 11, 9, 7, 15, 7, 12, 15, 9, 11, 7, 13, 12,
       11, 13, 6, 7, 14, 9, 13, 15, 14, 8, 13, 6, 5, 12, 7, 5, 11, 12, 14, 15, 14, 15, 9, 8, 9, 14, 5, 6, 8, 6, 5, 12,
       9, 15, 5, 11, 6, 8, 13, 12, 5, 12, 13, 14, 11, 8, 5, 6},
      {8, 9, 9, 11, 13, 15, 15, 5, 7, 7, 8, 11, 14, 14, 12, 6, 9, 13, 15, 7, 12, 8, 9, 11, 7, 7, 12, 7, 6, 15, 13, 11,
       9, 7, 15, 11, 8, 6, 6, 14, 12, 13, 5, 14, 13, 13, 7, 5, 15, 5, 8, 11, 14, 14, 6, 14, 6, 9, 12, 9, 12, 5, 15, 8,
       8, 5, 12, 9, 12, 5, 14, 6, 8, 13, 6, 5, 15, 13, 11, 11},
  };
  static const uint32_t constants[2][5] = {
      {0x00000000, 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xa953fd4e},
      {0x50a28be6, 0x5c4dd124, 0x6d703ef3, 0x7a6d76e9, 0x00000000},
  };
  uint32_t *h = state->narrow, line[2][5];
  for (unsigned side = 0; side < 2; side++) {
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (unsigned step = 0; step < 80; step++) {
      unsigned round = step / 16;
      uint32_t sum = a + mixed(side ? 4 - round : round, b, c, d) + little(block + 4 * words[side][step]);
      uint32_t next = rotate(sum + constants[side][round], shifts[side][step]) + e;
      a = e, e = d, d = rotate(c, 10), c = b, b = next;
    }
    memcpy(line[side], (uint32_t[]){a, b, c, d, e}, sizeof line[side]);
  }
  uint32_t first = h[1] + line[0][2] + line[1][3];
  h[1] = h[2] + line[0][3] + line[1][4];
  h[2] = h[3] + line[0][4] + line[1][0];
  h[3] = h[4] + line[0][0] + line[1][1];
  h[4] = h[0] + line[0][1] + line[1][2];
  h[0] = first;
}

// SM3 (GB/T 32905, ISO/IEC 10118-3).
static void sm3(hash_state_t *state, const uint8_t *block) {
  uint32_t words[68], v[8], *h = state->narrow;
  for (unsigned i = 0; i < 16; i++) words[i] = big(block + 4 * i);
  for (unsigned i = 16; i < 68; i++) {
    uint32_t x = words[i - 16] ^ words[i - 9] ^ rotate(words[i - 3], 15);
    words[i] = x ^ rotate(x, 15) ^ rotate(x, 23) ^ rotate(words[i - 13], 7) ^ words[i - 6];
  }
  memcpy(v, h, sizeof v);
  for (unsigned i = 0; i < 64; i++) {
    bool early = i < 16;
    uint32_t a = rotate(v[0], 12);
    uint32_t first = rotate(a + v[4] + rotate(early ? 0x79cc4519 : 0x7a879d8a, i), 7), second = first ^ a;
    uint32_t left = early ? v[0] ^ v[1] ^ v[2] : (v[0] & v[1]) | (v[0] & v[2]) | (v[1] & v[2]);
    uint32_t right = early ? v[4] ^ v[5] ^ v[6] : (v[4] & v[5]) | (~v[4] & v[6]);
    left += v[3] + second + (words[i] ^ words[i + 4]);
    right += v[7] + first + words[i];
    v[3] = v[2], v[2] = rotate(v[1], 9), v[1] = v[0], v[0] = left;
    v[7] = v[6], v[6] = rotate(v[5], 19), v[5] = v[4], v[4] = right ^ rotate(right, 9) ^ rotate(right, 17);
  }
  for (unsigned i = 0; i < 8; i++) h[i] ^= v[i];
}

#define SHORT {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}

static const hash_kind_t kinds[] = {
    {"md5", 64, 16, false, true, {.narrow = SHORT}, md5},
    {"sha1", 64, 20, false, false, {.narrow = SHORT}, sha1},
    {"sha224", 64, 28, false, false,
     {.narrow = {0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939, 0xffc00b31, 0x68581511, 0x64f98fa7, 0xbefa4fa4}},
     sha256},
    {"sha256", 64, 32, false, false,
     {.narrow = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}},
     sha256},
    {"sha384", 128, 48, true, false,
     {.wide = {0xcbbb9d5dc1059ed8, 0x629a292a367cd507, 0x9159015a3070dd17, 0x152fecd8f70e5939, 0x67332667ffc00b31,
               0x8eb44a8768581511, 0xdb0c2e0d64f98fa7, 0x47b5481dbefa4fa4}},
     sha512},
    {"sha512", 128, 64, true, false,
     {.wide = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1, 0x510e527fade682d1,
               0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179}},
     sha512},
    {"sha512_224", 128, 28, true, false,
     {.wide = {0x8c3d37c819544da2, 0x73e1996689dcd4d6, 0x1dfab7ae32ff9c82, 0x679dd514582f9fcf, 0x0f6d2b697bd44da8,
               0x77e36f7304c48942, 0x3f9d85a86a1d36c8, 0x1112e6ad91d692a1}},
     sha512},
    {"sha512_256", 128, 32, true, false,
     {.wide = {0x22312194fc2bf72c, 0x9f555fa3c84c64c2, 0x2393b86b6f53b151, 0x963877195940eabd, 0x96283ee2a88effe3,
               0xbe5e1e2553863992, 0x2b0199fc2c85b8aa, 0x0eb72ddc81c52ca2}},
     sha512},
    {"ripemd160", 64, 20, false, true, {.narrow = SHORT}, ripemd160},
    {"sm3", 64, 32, false, false,
     {.narrow = {0x7380166f, 0x4914b2b9, 0x172442d7, 0xda8a0600, 0xa96f30bc, 0x163138aa, 0xe38dee4d, 0xb0fb0e4e}},
     sm3},
};

const hash_kind_t *hash_kind(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!strcmp(kinds[i].name, name)) return &kinds[i];
  }
  return NULL;
}

hash_t hash_begin(const hash_kind_t *kind) { return (hash_t){.kind = kind, .state = kind->initial}; }

void hash_update(hash_t *hash, const uint8_t *bytes, size_t length) {
  size_t block = hash->kind->block, filled = (size_t)(hash->length % block);
  hash->length += length;
  if (filled) {
    size_t taken = length < block - filled ? length : block - filled;
    if (taken) memcpy(hash->rest + filled, bytes, taken);
    bytes += taken;
    length -= taken;
    if (filled + taken < block) return;
    hash->kind->compress(&hash->state, hash->rest);
  }
  for (; length >= block; bytes += block, length -= block) hash->kind->compress(&hash->state, bytes);
  if (length) memcpy(hash->rest, bytes, length);
}

// Writes the lower bytes of a number in the order of a hash function.
static void write_number(uint8_t *bytes, size_t count, uint64_t number, bool little_endian) {
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)(number >> 8 * (little_endian ? i : count - 1 - i));
}

void hash_digest(hash_t hash, uint8_t *digest) {
  const hash_kind_t *kind = hash.kind;
  uint8_t end[2 * HASH_BLOCK] = {0x80};
  // The length takes 8 bytes, or 16 with wide words, of which the upper 8 stay 0.
  size_t room = kind->wide ? 16 : 8, over = (size_t)(hash.length % kind->block);
  size_t padding = (over + 1 + room > kind->block ? 2U : 1U) * kind->block - over;
  write_number(end + padding - 8, 8, hash.length << 3, kind->little_endian);
  hash_update(&hash, end, padding);
  uint8_t whole[HASH_SIZE];
  for (size_t i = 0; i < 8; i++) {
    if (kind->wide) write_number(whole + 8 * i, 8, hash.state.wide[i], kind->little_endian);
    else write_number(whole + 4 * i, 4, hash.state.narrow[i], kind->little_endian);
  }
  memcpy(digest, whole, kind->size);
}
