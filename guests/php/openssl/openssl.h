// PHP's functions `openssl_…` over Mbed TLS and PHP's own digests: ciphers, digests, keys and signatures. Names, arguments and messages are
// those of PHP's extension. Certificates, requests, S/MIME and PKCS #12 are not there, and neither are their functions.
#ifndef DORMOUSE_PHP_OPENSSL_H
#define DORMOUSE_PHP_OPENSSL_H

#include "php.h"

#define RAW_DATA 1
#define ZERO_PADDING 2
#define DONT_ZERO_PAD_KEY 4

#define PKCS1_PADDING 1
#define NO_PADDING 3
#define PKCS1_OAEP_PADDING 4

#define KEYTYPE_RSA 0
#define KEYTYPE_DSA 1
#define KEYTYPE_DH 2
#define KEYTYPE_EC 3

#define CIPHER_3DES 4
#define CIPHER_AES_128_CBC 5
#define CIPHER_AES_192_CBC 6
#define CIPHER_AES_256_CBC 7

// cipher.c
PHP_FUNCTION(openssl_cipher_iv_length);
PHP_FUNCTION(openssl_cipher_key_length);
PHP_FUNCTION(openssl_decrypt);
PHP_FUNCTION(openssl_encrypt);
PHP_FUNCTION(openssl_get_cipher_methods);

// digest.c
// The type that Mbed TLS has for a digest; 0: none.
int driver_md_type(const char *name);
PHP_FUNCTION(openssl_digest);
PHP_FUNCTION(openssl_get_md_methods);
PHP_FUNCTION(openssl_pbkdf2);
PHP_FUNCTION(openssl_random_pseudo_bytes);

// keys.c
PHP_FUNCTION(openssl_get_curve_names);
PHP_FUNCTION(openssl_pkey_derive);
PHP_FUNCTION(openssl_pkey_export);
PHP_FUNCTION(openssl_pkey_export_to_file);
PHP_FUNCTION(openssl_pkey_free);
PHP_FUNCTION(openssl_pkey_get_details);
PHP_FUNCTION(openssl_pkey_get_private);
PHP_FUNCTION(openssl_pkey_get_public);
PHP_FUNCTION(openssl_pkey_new);
void keys_start(void);

// sign.c
PHP_FUNCTION(openssl_private_decrypt);
PHP_FUNCTION(openssl_private_encrypt);
PHP_FUNCTION(openssl_public_decrypt);
PHP_FUNCTION(openssl_public_encrypt);
PHP_FUNCTION(openssl_sign);
PHP_FUNCTION(openssl_verify);

// module.c: what the last function could not do, for `openssl_error_string`.
PHP_FUNCTION(openssl_error_string);
void note_error(int code);

extern zend_module_entry openssl_module;

#endif
