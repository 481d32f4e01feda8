// Keys from passwords: PBKDF2 and scrypt.
#include <stdlib.h>
#include <string.h>

#include "hashes.h"

// HMAC with a key (RFC 2104): both hashes, after the block that the key makes.
typedef struct {
  hash_t inner, outer;
} keyed_t;

static keyed_t keyed(const hash_kind_t *kind, const uint8_t *key, size_t length) {
  uint8_t block[HASH_BLOCK] = {0};
  if (length > kind->block) {
    hash_t hash = hash_begin(kind);
    hash_update(&hash, key, length);
    hash_digest(hash, block);
  } else if (length) {
    memcpy(block, key, length);
  }
  keyed_t both = {hash_begin(kind), hash_begin(kind)};
  for (size_t i = 0; i < kind->block; i++) block[i] ^= 0x36;
  hash_update(&both.inner, block, kind->block);
  for (size_t i = 0; i < kind->block; i++) block[i] ^= 0x36 ^ 0x5c;
  hash_update(&both.outer, block, kind->block);
  return both;
}

// The code of what the inner hash has taken.
static void finish(hash_t inner, hash_t outer, uint8_t *code) {
  hash_digest(inner, code);
  hash_update(&outer, code, inner.kind->size);
  hash_digest(outer, code);
}

void hash_pbkdf2(const hash_kind_t *kind, const uint8_t *password, size_t password_length, const uint8_t *salt,
                 size_t salt_length, uint64_t iterations, uint8_t *key, size_t key_length) {
  keyed_t both = keyed(kind, password, password_length);
  for (uint32_t number = 1; key_length; number++) {
    uint8_t code[HASH_SIZE], sum[HASH_SIZE];
    hash_t inner = both.inner;
    hash_update(&inner, salt, salt_length);
    hash_update(&inner, (uint8_t[]){(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number}, 4);
    finish(inner, both.outer, code);
    memcpy(sum, code, kind->size);
    for (uint64_t i = 1; i < iterations; i++) {
      inner = both.inner;
      hash_update(&inner, code, kind->size);
      finish(inner, both.outer, code);
      for (size_t at = 0; at < kind->size; at++) sum[at] ^= code[at];
    }
    size_t taken = key_length < kind->size ? key_length : kind->size;
    memcpy(key, sum, taken);
    key += taken;
    key_length -= taken;
  }
}

static uint32_t rotate(uint32_t word, unsigned by) { return word << by | word >> (32 - by); }

// Salsa20/8 over one block of 16 words.
static void salsa(uint32_t *block) {
  uint32_t x[16];
  memcpy(x, block, sizeof x);
#define STEP(to, a, b, by) x[to] ^= rotate(x[a] + x[b], by)
#define QUARTER(a, b, c, d) STEP(b, a, d, 7), STEP(c, b, a, 9), STEP(d, c, b, 13), STEP(a, d, c, 18)
  for (int round = 0; round < 8; round += 2) {
    QUARTER(0, 4, 8, 12), QUARTER(5, 9, 13, 1), QUARTER(10, 14, 2, 6), QUARTER(15, 3, 7, 11);
    QUARTER(0, 1, 2, 3), QUARTER(5, 6, 7, 4), QUARTER(10, 11, 8, 9), QUARTER(15, 12, 13, 14);
  }
  for (int i = 0; i < 16; i++) block[i] += x[i];
}

// BlockMix: `2 * r` blocks, those with even numbers first in the result.
static void mix(const uint32_t *from, uint32_t *to, size_t r) {
  uint32_t x[16];
  memcpy(x, from + (2 * r - 1) * 16, sizeof x);
  for (size_t i = 0; i < 2 * r; i++) {
    for (size_t at = 0; at < 16; at++) x[at] ^= from[i * 16 + at];
    salsa(x);
    memcpy(to + (i / 2 + i % 2 * r) * 16, x, sizeof x);
  }
}

bool hash_scrypt(const uint8_t *password, size_t password_length, const uint8_t *salt, size_t salt_length, uint32_t n,
                 uint32_t r, uint32_t p, uint8_t *key, size_t key_length) {
  const hash_kind_t *sha256 = hash_kind("sha256");
  // Words are little-endian, as this machine's are.
  size_t words = (size_t)32 * r, size = words * sizeof(uint32_t);
  uint8_t *blocks = malloc(size * p);
  uint32_t *all = malloc(size * n), *other = malloc(2 * size);
  bool done = blocks && all && other;
  if (done) {
    hash_pbkdf2(sha256, password, password_length, salt, salt_length, 1, blocks, size * p);
    for (uint32_t i = 0; i < p; i++) {
      uint32_t *x = other, *y = other + words;
      memcpy(x, blocks + size * i, size);
      for (uint32_t at = 0; at < n; at++) {
        memcpy(all + words * at, x, size);
        mix(x, y, r);
        uint32_t *swap = x;
        x = y, y = swap;
      }
      for (uint32_t at = 0; at < n; at++) {
        const uint32_t *chosen = all + words * (x[words - 16] & (n - 1));
        for (size_t word = 0; word < words; word++) x[word] ^= chosen[word];
        mix(x, y, r);
        uint32_t *swap = x;
        x = y, y = swap;
      }
      memcpy(blocks + size * i, x, size);
    }
    hash_pbkdf2(sha256, password, password_length, blocks, size * p, 1, key, key_length);
  }
  free(blocks);
  free(all);
  free(other);
  return done;
}
