// What the Rust library of this guest offers (`native/`), where each function is described.
#ifndef DORMOUSE_NATIVE_H
#define DORMOUSE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// native/border.rs
void native_bytes_end(uint8_t *first, size_t length);

// native/digest.rs
typedef struct native_digestion native_digestion;
native_digestion *native_digest(const uint8_t *name, size_t name_length);
native_digestion *native_mac(const uint8_t *name, size_t name_length, const uint8_t *key, size_t key_length);
void native_digest_update(native_digestion *digestion, const uint8_t *bytes, size_t length);
void native_digest_finish(native_digestion *digestion, uint8_t *into, size_t length);
native_digestion *native_digest_copy(const native_digestion *digestion);
void native_digest_end(native_digestion *digestion);
bool native_pbkdf2(const uint8_t *name, size_t name_length, const uint8_t *password, size_t password_length,
                   const uint8_t *salt, size_t salt_length, uint32_t iterations, uint8_t *into, size_t length);
bool native_scrypt(const uint8_t *password, size_t password_length, const uint8_t *salt, size_t salt_length,
                   uint8_t log_cost, uint32_t block, uint32_t parallel, uint8_t *into, size_t length);

// native/cipher.rs
typedef struct native_ciphering native_ciphering;
native_ciphering *native_cipher(const uint8_t *mode, size_t mode_length, const uint8_t *key, size_t key_length,
                                const uint8_t *start, size_t start_length, bool decrypts);
void native_cipher_without_padding(native_ciphering *cipher);
bool native_cipher_additional(native_ciphering *cipher, const uint8_t *bytes, size_t length);
size_t native_cipher_update(native_ciphering *cipher, const uint8_t *bytes, size_t length, uint8_t *into);
int32_t native_cipher_finish(native_ciphering *cipher, uint8_t *into);
bool native_cipher_tag(native_ciphering *cipher, uint8_t *into);
void native_cipher_end(native_ciphering *cipher);
bool native_same(const uint8_t *left, const uint8_t *right, size_t length);

// native/pairs.rs
uint8_t *native_pair(const uint8_t *words, size_t words_length, const uint8_t *key, size_t key_length, const uint8_t *data,
                     size_t data_length, const uint8_t *more, size_t more_length, size_t *length);

// native/encodings.rs
typedef struct native_reading native_reading;
uint8_t *native_encoding(const uint8_t *label, size_t label_length, size_t *length);
native_reading *native_reading_begin(const uint8_t *label, size_t label_length, bool fatal, bool keeps_mark);
uint8_t *native_read(native_reading *reading, const uint8_t *bytes, size_t count, bool last, size_t *length);
void native_reading_end(native_reading *reading);

// native/intl/mod.rs
uint8_t *native_intl(const uint8_t *question, size_t question_length, const uint8_t *first, size_t first_length,
                     const uint8_t *second, size_t second_length, const uint8_t *third, size_t third_length, size_t *length);
int32_t native_collator(const uint8_t *tag, size_t tag_length, const uint8_t *options, size_t options_length);
int32_t native_compare(int32_t order, const uint8_t *left, size_t left_length, const uint8_t *right, size_t right_length);
uint32_t *native_segments(uint32_t kind, const uint16_t *first, size_t length, size_t *count);
void native_segments_free(uint32_t *first, size_t count);
int32_t native_zone_offset(const uint8_t *name, size_t name_length, double time);

#endif
