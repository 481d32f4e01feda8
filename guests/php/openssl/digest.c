// Digests, by PHP's own `hash`; keys from passwords; random bytes.
#include "openssl.h"

#include <mbedtls/md.h>
#include <mbedtls/pkcs5.h>

#include "ext/hash/php_hash.h"
#include "ext/random/php_random.h"
#include "zend_smart_str.h"

// OpenSSL's names, and PHP's where they differ.
static const char *const digests[][2] = {
    {"md4", NULL},      {"md5", NULL},      {"ripemd160", NULL},         {"sha1", NULL},
    {"sha224", NULL},   {"sha256", NULL},   {"sha3-224", NULL},          {"sha3-256", NULL},
    {"sha3-384", NULL}, {"sha3-512", NULL}, {"sha384", NULL},            {"sha512", NULL},
    {"sha512-224", "sha512/224"},           {"sha512-256", "sha512/256"}, {"whirlpool", NULL},
};
#define DIGESTS (sizeof digests / sizeof *digests)

static const char *const aliases[][2] = {
    {"rmd160", "ripemd160"}, {"ripemd", "ripemd160"}, {"sha-1", "sha1"},     {"sha-224", "sha224"},
    {"sha-256", "sha256"},   {"sha-384", "sha384"},   {"sha-512", "sha512"}, {"ssl3-md5", "md5"},
    {"ssl3-sha1", "sha1"},
};
#define ALIASES (sizeof aliases / sizeof *aliases)

static const php_hash_ops *find(const char *name) {
  if (strncasecmp(name, "rsa-", 4) == 0) name += 4;
  for (size_t i = 0; i < ALIASES; i++) {
    if (strcasecmp(aliases[i][0], name) == 0) name = aliases[i][1];
  }
  for (size_t i = 0; i < DIGESTS; i++) {
    if (strcasecmp(digests[i][0], name) != 0) continue;
    const char *own = digests[i][1] ? digests[i][1] : digests[i][0];
    zend_string *text = zend_string_init(own, strlen(own), 0);
    const php_hash_ops *found = php_hash_fetch_ops(text);
    zend_string_release(text);
    return found;
  }
  return NULL;
}

PHP_FUNCTION(openssl_get_md_methods) {
  bool all = false;
  ZEND_PARSE_PARAMETERS_START(0, 1)
  Z_PARAM_OPTIONAL
  Z_PARAM_BOOL(all)
  ZEND_PARSE_PARAMETERS_END();
  array_init(return_value);
  for (size_t i = 0; i < DIGESTS; i++) add_next_index_string(return_value, digests[i][0]);
  for (size_t i = 0; all && i < ALIASES; i++) add_next_index_string(return_value, aliases[i][0]);
}

PHP_FUNCTION(openssl_digest) {
  zend_string *data, *name;
  bool binary = false;
  ZEND_PARSE_PARAMETERS_START(2, 3)
  Z_PARAM_STR(data)
  Z_PARAM_STR(name)
  Z_PARAM_OPTIONAL
  Z_PARAM_BOOL(binary)
  ZEND_PARSE_PARAMETERS_END();
  const php_hash_ops *digest = find(ZSTR_VAL(name));
  if (!digest) {
    php_error_docref(NULL, E_WARNING, "Unknown digest algorithm");
    RETURN_FALSE;
  }
  void *context = php_hash_alloc_context(digest);
  digest->hash_init(context, NULL);
  digest->hash_update(context, (unsigned char *)ZSTR_VAL(data), ZSTR_LEN(data));
  zend_string *made = zend_string_alloc(digest->digest_size, 0);
  digest->hash_final((unsigned char *)ZSTR_VAL(made), context);
  ZSTR_VAL(made)[ZSTR_LEN(made)] = 0;
  efree(context);
  if (!binary) {
    zend_string *text = zend_string_safe_alloc(ZSTR_LEN(made), 2, 0, 0);
    php_hash_bin2hex(ZSTR_VAL(text), (unsigned char *)ZSTR_VAL(made), ZSTR_LEN(made));
    ZSTR_VAL(text)[ZSTR_LEN(text)] = 0;
    zend_string_efree(made);
    made = text;
  }
  RETVAL_STR(made);
}

PHP_FUNCTION(openssl_pbkdf2) {
  zend_string *password, *salt, *name = NULL;
  zend_long length, rounds;
  ZEND_PARSE_PARAMETERS_START(4, 5)
  Z_PARAM_STR(password)
  Z_PARAM_STR(salt)
  Z_PARAM_LONG(length)
  Z_PARAM_LONG(rounds)
  Z_PARAM_OPTIONAL
  Z_PARAM_STR(name)
  ZEND_PARSE_PARAMETERS_END();
  if (length <= 0) {
    zend_argument_value_error(3, "must be greater than 0");
    RETURN_THROWS();
  }
  mbedtls_md_type_t digest = driver_md_type(name ? ZSTR_VAL(name) : "sha1");
  if (digest == MBEDTLS_MD_NONE) {
    php_error_docref(NULL, E_WARNING, "Unknown digest algorithm");
    RETURN_FALSE;
  }
  if (rounds < 1 || rounds > INT_MAX || length > INT_MAX) RETURN_FALSE;
  zend_string *made = zend_string_alloc((size_t)length, 0);
  int error = mbedtls_pkcs5_pbkdf2_hmac_ext(digest, (unsigned char *)ZSTR_VAL(password), ZSTR_LEN(password),
                                            (unsigned char *)ZSTR_VAL(salt), ZSTR_LEN(salt), (unsigned)rounds,
                                            (uint32_t)length, (unsigned char *)ZSTR_VAL(made));
  if (error) {
    note_error(error);
    zend_string_efree(made);
    RETURN_FALSE;
  }
  ZSTR_VAL(made)[length] = 0;
  RETVAL_STR(made);
}

PHP_FUNCTION(openssl_random_pseudo_bytes) {
  zend_long length;
  zval *strong = NULL;
  ZEND_PARSE_PARAMETERS_START(1, 2)
  Z_PARAM_LONG(length)
  Z_PARAM_OPTIONAL
  Z_PARAM_ZVAL(strong)
  ZEND_PARSE_PARAMETERS_END();
  if (strong) ZEND_TRY_ASSIGN_REF_FALSE(strong);
  if (length <= 0 || length > INT_MAX) {
    zend_argument_value_error(1, "must be greater than 0");
    RETURN_THROWS();
  }
  zend_string *made = zend_string_alloc((size_t)length, 0);
  if (php_random_bytes_throw(ZSTR_VAL(made), (size_t)length) == FAILURE) {
    zend_string_efree(made);
    RETURN_THROWS();
  }
  ZSTR_VAL(made)[length] = 0;
  if (strong) ZEND_TRY_ASSIGN_REF_TRUE(strong);
  RETVAL_STR(made);
}
