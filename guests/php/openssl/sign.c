// What is done with keys: signatures, and small texts encrypted with RSA.
#include "keys.h"

#include <mbedtls/md.h>
#include <string.h>

// OpenSSL's names of digests that Mbed TLS has, and PHP's numbers for them.
static const struct {
  const char *name;
  zend_long number;
  mbedtls_md_type_t type;
} digests[] = {
    {"sha1", 1, MBEDTLS_MD_SHA1},     {"md5", 2, MBEDTLS_MD_MD5},       {"sha224", 6, MBEDTLS_MD_SHA224},
    {"sha256", 7, MBEDTLS_MD_SHA256}, {"sha384", 8, MBEDTLS_MD_SHA384}, {"sha512", 9, MBEDTLS_MD_SHA512},
    {"ripemd160", 10, MBEDTLS_MD_RIPEMD160}, {"rmd160", 10, MBEDTLS_MD_RIPEMD160},
};
#define DIGESTS (sizeof digests / sizeof *digests)

int driver_md_type(const char *name) {
  char plain[16];
  size_t length = 0;
  if (strncasecmp(name, "rsa-", 4) == 0) name += 4;
  // `SHA-256` is `sha256`.
  for (; *name && length < sizeof plain - 1; name++) {
    if (*name != '-') plain[length++] = (char)tolower((unsigned char)*name);
  }
  plain[length] = 0;
  for (size_t i = 0; i < DIGESTS; i++) {
    if (strcmp(digests[i].name, plain) == 0) return digests[i].type;
  }
  return MBEDTLS_MD_NONE;
}

static mbedtls_md_type_t type_of(zend_string *name, zend_long number) {
  mbedtls_md_type_t found = name ? driver_md_type(ZSTR_VAL(name)) : MBEDTLS_MD_NONE;
  for (size_t i = 0; !name && i < DIGESTS; i++) {
    if (digests[i].number == number) found = digests[i].type;
  }
  if (found == MBEDTLS_MD_NONE) php_error_docref(NULL, E_WARNING, "Unknown digest algorithm");
  return found;
}

// The digest that is signed; its size.
static size_t digest_of(mbedtls_md_type_t type, zend_string *data, unsigned char *made) {
  const mbedtls_md_info_t *info = mbedtls_md_info_from_type(type);
  if (mbedtls_md(info, (unsigned char *)ZSTR_VAL(data), ZSTR_LEN(data), made)) return 0;
  return mbedtls_md_get_size(info);
}

static void no_key(bool private) {
  if (EG(exception)) return;
  php_error_docref(NULL, E_WARNING, "Supplied key param cannot be coerced into a %s key", private ? "private" : "public");
}

PHP_FUNCTION(openssl_sign) {
  zend_string *data, *name = NULL;
  zend_long number = 1;
  zval *output, *value;
  ZEND_PARSE_PARAMETERS_START(3, 4)
  Z_PARAM_STR(data)
  Z_PARAM_ZVAL(output)
  Z_PARAM_ZVAL(value)
  Z_PARAM_OPTIONAL
  Z_PARAM_STR_OR_LONG(name, number)
  ZEND_PARSE_PARAMETERS_END();
  RETVAL_FALSE;
  zend_object *owner;
  key *with = key_from(value, true, NULL, &owner);
  if (!with) {
    no_key(true);
    return;
  }
  mbedtls_md_type_t type = type_of(name, number);
  if (type != MBEDTLS_MD_NONE) {
    unsigned char digest[MBEDTLS_MD_MAX_SIZE], signature[MBEDTLS_PK_SIGNATURE_MAX_SIZE];
    size_t size = digest_of(type, data, digest), length = 0;
    int error = mbedtls_pk_sign(&with->pk, type, digest, size, signature, sizeof signature, &length, key_random, NULL);
    if (error) {
      note_error(error);
    } else {
      ZEND_TRY_ASSIGN_REF_STRINGL(output, (char *)signature, length);
      RETVAL_TRUE;
    }
  }
  if (owner) zend_object_release(owner);
}

PHP_FUNCTION(openssl_verify) {
  zend_string *data, *signature, *name = NULL;
  zend_long number = 1;
  zval *value;
  ZEND_PARSE_PARAMETERS_START(3, 4)
  Z_PARAM_STR(data)
  Z_PARAM_STR(signature)
  Z_PARAM_ZVAL(value)
  Z_PARAM_OPTIONAL
  Z_PARAM_STR_OR_LONG(name, number)
  ZEND_PARSE_PARAMETERS_END();
  RETVAL_FALSE;
  mbedtls_md_type_t type = type_of(name, number);
  if (type == MBEDTLS_MD_NONE) return;
  zend_object *owner;
  key *with = key_from(value, false, NULL, &owner);
  if (!with) {
    no_key(false);
    return;
  }
  unsigned char digest[MBEDTLS_MD_MAX_SIZE];
  size_t size = digest_of(type, data, digest);
  int error = mbedtls_pk_verify(&with->pk, type, digest, size, (unsigned char *)ZSTR_VAL(signature), ZSTR_LEN(signature));
  if (error) note_error(error);
  RETVAL_LONG(!error);
  if (owner) zend_object_release(owner);
}

// RSA over one text.

typedef enum { PUBLIC_ENCRYPT, PRIVATE_DECRYPT, PRIVATE_ENCRYPT, PUBLIC_DECRYPT } way;

// With the private key, as a signature without a digest: 0, 1, bytes of 255, 0, the text.
static int sign_raw(mbedtls_rsa_context *rsa, zend_string *data, bool padded, unsigned char *made) {
  size_t size = mbedtls_rsa_get_len(rsa), length = ZSTR_LEN(data);
  if (padded ? length + 11 > size : length != size) return MBEDTLS_ERR_RSA_BAD_INPUT_DATA;
  unsigned char block[MBEDTLS_MPI_MAX_SIZE];
  if (padded) {
    memset(block, 0xff, size);
    block[0] = 0;
    block[1] = 1;
    block[size - length - 1] = 0;
  }
  memcpy(block + size - length, ZSTR_VAL(data), length);
  return mbedtls_rsa_private(rsa, key_random, NULL, block, made);
}

static int read_raw(mbedtls_rsa_context *rsa, zend_string *data, bool padded, unsigned char *made, size_t *length) {
  size_t size = mbedtls_rsa_get_len(rsa), at = 2;
  unsigned char block[MBEDTLS_MPI_MAX_SIZE];
  int error = mbedtls_rsa_public(rsa, (unsigned char *)ZSTR_VAL(data), block);
  if (error) return error;
  if (padded) {
    while (at < size && block[at] == 0xff) at++;
    if (block[0] != 0 || block[1] != 1 || at < 10 || at >= size || block[at] != 0) return MBEDTLS_ERR_RSA_INVALID_PADDING;
    at++;
  } else {
    at = 0;
  }
  *length = size - at;
  memcpy(made, block + at, *length);
  return 0;
}

static int rsa_run(mbedtls_rsa_context *rsa, way what, zend_long padding, zend_string *data, unsigned char *made,
                   size_t *length) {
  size_t size = mbedtls_rsa_get_len(rsa);
  bool decrypts = what == PRIVATE_DECRYPT || what == PUBLIC_DECRYPT;
  if (size > MBEDTLS_MPI_MAX_SIZE || (decrypts && ZSTR_LEN(data) != size)) return MBEDTLS_ERR_RSA_BAD_INPUT_DATA;
  *length = size;
  bool oaep = padding == PKCS1_OAEP_PADDING, raw = padding == NO_PADDING;
  if (what == PRIVATE_ENCRYPT) return oaep ? MBEDTLS_ERR_RSA_BAD_INPUT_DATA : sign_raw(rsa, data, !raw, made);
  if (what == PUBLIC_DECRYPT) return oaep ? MBEDTLS_ERR_RSA_BAD_INPUT_DATA : read_raw(rsa, data, !raw, made, length);
  if (raw) {
    if (ZSTR_LEN(data) != size) return MBEDTLS_ERR_RSA_BAD_INPUT_DATA;
    return what == PUBLIC_ENCRYPT ? mbedtls_rsa_public(rsa, (unsigned char *)ZSTR_VAL(data), made)
                                  : mbedtls_rsa_private(rsa, key_random, NULL, (unsigned char *)ZSTR_VAL(data), made);
  }
  int kind = oaep ? MBEDTLS_RSA_PKCS_V21 : MBEDTLS_RSA_PKCS_V15;
  int error = mbedtls_rsa_set_padding(rsa, kind, oaep ? MBEDTLS_MD_SHA1 : MBEDTLS_MD_NONE);
  if (!error && what == PUBLIC_ENCRYPT) {
    error = mbedtls_rsa_pkcs1_encrypt(rsa, key_random, NULL, ZSTR_LEN(data), (unsigned char *)ZSTR_VAL(data), made);
  } else if (!error) {
    const unsigned char *from = (unsigned char *)ZSTR_VAL(data);
    error = mbedtls_rsa_pkcs1_decrypt(rsa, key_random, NULL, length, from, made, MBEDTLS_MPI_MAX_SIZE);
  }
  // Signatures are of the plain kind.
  mbedtls_rsa_set_padding(rsa, MBEDTLS_RSA_PKCS_V15, MBEDTLS_MD_NONE);
  return error;
}

static void with_rsa(INTERNAL_FUNCTION_PARAMETERS, way what) {
  zend_string *data;
  zval *output, *value;
  zend_long padding = PKCS1_PADDING;
  ZEND_PARSE_PARAMETERS_START(3, 4)
  Z_PARAM_STR(data)
  Z_PARAM_ZVAL(output)
  Z_PARAM_ZVAL(value)
  Z_PARAM_OPTIONAL
  Z_PARAM_LONG(padding)
  ZEND_PARSE_PARAMETERS_END();
  RETVAL_FALSE;
  bool private = what == PRIVATE_DECRYPT || what == PRIVATE_ENCRYPT;
  zend_object *owner;
  key *with = key_from(value, private, NULL, &owner);
  if (!with) {
    const char *what_is_wrong = private ? "key param is not a valid private key" : "key parameter is not a valid public key";
    if (!EG(exception)) php_error_docref(NULL, E_WARNING, "%s", what_is_wrong);
    return;
  }
  if (mbedtls_pk_get_type(&with->pk) != MBEDTLS_PK_RSA) {
    php_error_docref(NULL, E_WARNING, "key type not supported in this PHP build!");
  } else if (padding != PKCS1_PADDING && padding != NO_PADDING && padding != PKCS1_OAEP_PADDING) {
    note_error(MBEDTLS_ERR_RSA_BAD_INPUT_DATA);
  } else {
    unsigned char *made = emalloc(MBEDTLS_MPI_MAX_SIZE);
    size_t length = 0;
    int error = rsa_run(mbedtls_pk_rsa(with->pk), what, padding, data, made, &length);
    if (error) {
      note_error(error);
    } else {
      ZEND_TRY_ASSIGN_REF_STRINGL(output, (char *)made, length);
      RETVAL_TRUE;
    }
    ZEND_SECURE_ZERO(made, MBEDTLS_MPI_MAX_SIZE);
    efree(made);
  }
  if (owner) zend_object_release(owner);
}

PHP_FUNCTION(openssl_private_decrypt) { with_rsa(INTERNAL_FUNCTION_PARAM_PASSTHRU, PRIVATE_DECRYPT); }
PHP_FUNCTION(openssl_private_encrypt) { with_rsa(INTERNAL_FUNCTION_PARAM_PASSTHRU, PRIVATE_ENCRYPT); }
PHP_FUNCTION(openssl_public_decrypt) { with_rsa(INTERNAL_FUNCTION_PARAM_PASSTHRU, PUBLIC_DECRYPT); }
PHP_FUNCTION(openssl_public_encrypt) { with_rsa(INTERNAL_FUNCTION_PARAM_PASSTHRU, PUBLIC_ENCRYPT); }
