// What a key is to the functions that use one.
#ifndef DORMOUSE_PHP_OPENSSL_KEYS_H
#define DORMOUSE_PHP_OPENSSL_KEYS_H

// The numbers of a key have no other names.
#define MBEDTLS_ALLOW_PRIVATE_ACCESS
#include <mbedtls/ecdh.h>
#include <mbedtls/pk.h>
#include <mbedtls/rsa.h>

#include "openssl.h"

typedef struct {
  mbedtls_pk_context pk;
  bool private;
  zend_object std;
} key;

static inline key *key_of(zend_object *object) { return (key *)((char *)object - XtOffsetOf(key, std)); }

// The key that a value is or names. `owner`: what the caller releases when it is done, if anything. NULL: it is none, and
// perhaps there was a warning or an exception.
key *key_from(zval *value, bool private, zend_string *passphrase, zend_object **owner);

// protect.c: whether a private key can be put under a passphrase with a cipher.
bool key_can_protect(zend_long cipher);
// Does so with the PKCS #8 that lies in the last `length` bytes of the room; how long it is then. 0: it failed.
size_t key_protect(unsigned char *room, size_t size, size_t length, const zend_string *passphrase, zend_long cipher);

// The host's random bytes, for Mbed TLS.
int key_random(void *context, unsigned char *bytes, size_t size);

#endif
