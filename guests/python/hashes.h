// Hash functions that CPython has with OpenSSL alone, and what derives keys from passwords.
#ifndef DORMOUSE_PYTHON_HASHES_H
#define DORMOUSE_PYTHON_HASHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_BLOCK 128  // the longest block
#define HASH_SIZE 64    // the longest digest

// The chaining value: of 32 or of 64 bits a word.
typedef union {
  uint32_t narrow[8];
  uint64_t wide[8];
} hash_state_t;

typedef struct {
  const char *name;
  uint8_t block, size;       // bytes of a block and of a digest
  bool wide, little_endian;  // how words are written, and the length at the end
  hash_state_t initial;
  void (*compress)(hash_state_t *state, const uint8_t *block);
} hash_kind_t;

// A hash in the making. A copy goes on by itself.
typedef struct {
  const hash_kind_t *kind;
  hash_state_t state;
  uint64_t length;  // bytes so far
  uint8_t rest[HASH_BLOCK];
} hash_t;

// By the name that Python gives it; NULL: there is none here.
const hash_kind_t *hash_kind(const char *name);
hash_t hash_begin(const hash_kind_t *kind);
void hash_update(hash_t *hash, const uint8_t *bytes, size_t length);
// Takes a copy, so that the hash itself can go on.
void hash_digest(hash_t hash, uint8_t *digest);

// PBKDF2 with HMAC (RFC 8018, section 5.2).
void hash_pbkdf2(const hash_kind_t *kind, const uint8_t *password, size_t password_length, const uint8_t *salt,
                 size_t salt_length, uint64_t iterations, uint8_t *key, size_t key_length);
// scrypt (RFC 7914). False: there is no memory for it.
bool hash_scrypt(const uint8_t *password, size_t password_length, const uint8_t *salt, size_t salt_length, uint32_t n,
                 uint32_t r, uint32_t p, uint8_t *key, size_t key_length);

#endif
