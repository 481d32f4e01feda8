// Private keys under a passphrase: PKCS #8 with PBES2, which every program reads that reads such keys.
#include <mbedtls/asn1write.h>
#include <mbedtls/oid.h>
#include <mbedtls/pkcs5.h>
#include <string.h>

#include "ext/random/php_random.h"
#include "keys.h"

// As often as OpenSSL.
#define ITERATIONS 2048
#define SALT 16

static const struct {
  zend_long number;
  const char *oid;
  size_t oid_length, iv;
} ciphers[] = {
    {CIPHER_AES_256_CBC, MBEDTLS_OID_AES_256_CBC, MBEDTLS_OID_SIZE(MBEDTLS_OID_AES_256_CBC), 16},
    {CIPHER_AES_192_CBC, MBEDTLS_OID_AES_192_CBC, MBEDTLS_OID_SIZE(MBEDTLS_OID_AES_192_CBC), 16},
    {CIPHER_AES_128_CBC, MBEDTLS_OID_AES_128_CBC, MBEDTLS_OID_SIZE(MBEDTLS_OID_AES_128_CBC), 16},
    {CIPHER_3DES, MBEDTLS_OID_DES_EDE3_CBC, MBEDTLS_OID_SIZE(MBEDTLS_OID_DES_EDE3_CBC), 8},
};

// What is written so far, from the end of the room; `failed` once something had no place.
typedef struct {
  unsigned char *start, *at, *end;
  bool failed;
} writing;

static void add(writing *to, int told) { to->failed |= told < 0; }

static size_t length_of(const writing *to) { return (size_t)(to->end - to->at); }

// Puts what was written since there were `before` bytes into a sequence.
static void enclose(writing *to, size_t before) {
  if (to->failed) return;
  add(to, mbedtls_asn1_write_len(&to->at, to->start, length_of(to) - before));
  add(to, mbedtls_asn1_write_tag(&to->at, to->start, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE));
}

// How the key comes of the passphrase, and the cipher.
static void write_scheme(writing *to, const unsigned char *salt, const unsigned char *iv, size_t cipher) {
  size_t before = length_of(to);
  add(to, mbedtls_asn1_write_octet_string(&to->at, to->start, iv, ciphers[cipher].iv));
  add(to, mbedtls_asn1_write_oid(&to->at, to->start, ciphers[cipher].oid, ciphers[cipher].oid_length));
  enclose(to, before);
  size_t derivation = length_of(to);
  add(to, mbedtls_asn1_write_algorithm_identifier(&to->at, to->start, MBEDTLS_OID_HMAC_SHA256,
                                                  MBEDTLS_OID_SIZE(MBEDTLS_OID_HMAC_SHA256), 0));
  add(to, mbedtls_asn1_write_int(&to->at, to->start, ITERATIONS));
  add(to, mbedtls_asn1_write_octet_string(&to->at, to->start, salt, SALT));
  enclose(to, derivation);
  add(to, mbedtls_asn1_write_oid(&to->at, to->start, MBEDTLS_OID_PKCS5_PBKDF2, MBEDTLS_OID_SIZE(MBEDTLS_OID_PKCS5_PBKDF2)));
  enclose(to, derivation);
}

bool key_can_protect(zend_long cipher) {
  for (size_t i = 0; i < sizeof ciphers / sizeof *ciphers; i++) {
    if (ciphers[i].number == cipher) return true;
  }
  return false;
}

size_t key_protect(unsigned char *room, size_t size, size_t length, const zend_string *passphrase, zend_long cipher) {
  size_t kind = 0;
  while (ciphers[kind].number != cipher) kind++;
  unsigned char salt[SALT], iv[16], scheme[256];
  if (key_random(NULL, salt, sizeof salt) || key_random(NULL, iv, sizeof iv)) return 0;
  writing how = {scheme, scheme + sizeof scheme, scheme + sizeof scheme, false};
  write_scheme(&how, salt, iv, kind);
  if (how.failed) return 0;
  mbedtls_asn1_buf parameters = {MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE, length_of(&how), how.at};
  unsigned char *secret = emalloc(length + sizeof iv);
  size_t secret_length = 0;
  int error = mbedtls_pkcs5_pbes2_ext(&parameters, MBEDTLS_PKCS5_ENCRYPT, (const unsigned char *)ZSTR_VAL(passphrase),
                                      ZSTR_LEN(passphrase), room + size - length, length, secret, length + sizeof iv,
                                      &secret_length);
  writing to = {room, room + size, room + size, error != 0};
  if (!error) {
    add(&to, mbedtls_asn1_write_octet_string(&to.at, room, secret, secret_length));
    size_t before = length_of(&to);
    enclose(&how, 0);
    add(&to, mbedtls_asn1_write_raw_buffer(&to.at, room, how.at, length_of(&how)));
    add(&to, mbedtls_asn1_write_oid(&to.at, room, MBEDTLS_OID_PKCS5_PBES2, MBEDTLS_OID_SIZE(MBEDTLS_OID_PKCS5_PBES2)));
    enclose(&to, before);
    enclose(&to, 0);
  }
  efree(secret);
  if (error) note_error(error);
  return to.failed ? 0 : length_of(&to);
}
