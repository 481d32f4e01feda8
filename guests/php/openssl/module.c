// The extension `openssl`: its functions as PHP declares them, its constants, its errors.
#include "openssl.h"

#include <mbedtls/build_info.h>

#include "ext/standard/info.h"
#include "net/net.h"
#include "zend_attributes.h"

// Errors that a program may still ask for; older ones fall out.
#define MOST_ERRORS 16

static int errors[MOST_ERRORS];
static unsigned first, count;

void note_error(int code) {
  errors[(first + count) % MOST_ERRORS] = code;
  if (count < MOST_ERRORS) {
    count++;
  } else {
    first = (first + 1) % MOST_ERRORS;
  }
}

PHP_FUNCTION(openssl_error_string) {
  ZEND_PARSE_PARAMETERS_NONE();
  if (!count) RETURN_FALSE;
  int code = errors[first];
  first = (first + 1) % MOST_ERRORS;
  count--;
  RETURN_STR(strpprintf(0, "error:%08X:Mbed TLS::-0x%04X", (unsigned)-code, (unsigned)-code));
}

#define ARGUMENT(by_reference, name, type, may_be_null) ZEND_ARG_TYPE_INFO(by_reference, name, type, may_be_null)
#define DEFAULT(name, type, may_be_null, value) ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, name, type, may_be_null, value)
#define RETURNS(name, required, types) ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_openssl_##name, 0, required, types)

#define STRING_OR_FALSE (MAY_BE_STRING | MAY_BE_FALSE)
#define LONG_OR_FALSE (MAY_BE_LONG | MAY_BE_FALSE)

RETURNS(cipher_iv_length, 1, LONG_OR_FALSE)
ARGUMENT(0, cipher_algo, IS_STRING, 0)
ZEND_END_ARG_INFO()
#define arginfo_openssl_cipher_key_length arginfo_openssl_cipher_iv_length

RETURNS(encrypt, 3, STRING_OR_FALSE)
ARGUMENT(0, data, IS_STRING, 0)
ARGUMENT(0, cipher_algo, IS_STRING, 0)
ARGUMENT(0, passphrase, IS_STRING, 0)
DEFAULT(options, IS_LONG, 0, "0")
DEFAULT(iv, IS_STRING, 0, "\"\"")
ZEND_ARG_INFO_WITH_DEFAULT_VALUE(1, tag, "null")
DEFAULT(aad, IS_STRING, 0, "\"\"")
DEFAULT(tag_length, IS_LONG, 0, "16")
ZEND_END_ARG_INFO()

RETURNS(decrypt, 3, STRING_OR_FALSE)
ARGUMENT(0, data, IS_STRING, 0)
ARGUMENT(0, cipher_algo, IS_STRING, 0)
ARGUMENT(0, passphrase, IS_STRING, 0)
DEFAULT(options, IS_LONG, 0, "0")
DEFAULT(iv, IS_STRING, 0, "\"\"")
DEFAULT(tag, IS_STRING, 1, "null")
DEFAULT(aad, IS_STRING, 0, "\"\"")
ZEND_END_ARG_INFO()

RETURNS(get_cipher_methods, 0, MAY_BE_ARRAY)
DEFAULT(aliases, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()
#define arginfo_openssl_get_md_methods arginfo_openssl_get_cipher_methods

RETURNS(digest, 2, STRING_OR_FALSE)
ARGUMENT(0, data, IS_STRING, 0)
ARGUMENT(0, digest_algo, IS_STRING, 0)
DEFAULT(binary, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

RETURNS(pbkdf2, 4, STRING_OR_FALSE)
ARGUMENT(0, password, IS_STRING, 0)
ARGUMENT(0, salt, IS_STRING, 0)
ARGUMENT(0, key_length, IS_LONG, 0)
ARGUMENT(0, iterations, IS_LONG, 0)
DEFAULT(digest_algo, IS_STRING, 0, "\"sha1\"")
ZEND_END_ARG_INFO()

RETURNS(random_pseudo_bytes, 1, MAY_BE_STRING)
ARGUMENT(0, length, IS_LONG, 0)
ZEND_ARG_INFO_WITH_DEFAULT_VALUE(1, strong_result, "null")
ZEND_END_ARG_INFO()

RETURNS(error_string, 0, STRING_OR_FALSE)
ZEND_END_ARG_INFO()

RETURNS(get_curve_names, 0, MAY_BE_ARRAY | MAY_BE_FALSE)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_TYPE_MASK_EX(arginfo_openssl_pkey_new, 0, 0, OpenSSLAsymmetricKey, MAY_BE_FALSE)
DEFAULT(options, IS_ARRAY, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_TYPE_MASK_EX(arginfo_openssl_pkey_get_private, 0, 1, OpenSSLAsymmetricKey, MAY_BE_FALSE)
ZEND_ARG_INFO(0, private_key)
DEFAULT(passphrase, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_TYPE_MASK_EX(arginfo_openssl_pkey_get_public, 0, 1, OpenSSLAsymmetricKey, MAY_BE_FALSE)
ZEND_ARG_INFO(0, public_key)
ZEND_END_ARG_INFO()

RETURNS(pkey_free, 1, MAY_BE_NULL)
ZEND_ARG_OBJ_INFO(0, key, OpenSSLAsymmetricKey, 0)
ZEND_END_ARG_INFO()

RETURNS(pkey_get_details, 1, MAY_BE_ARRAY | MAY_BE_FALSE)
ZEND_ARG_OBJ_INFO(0, key, OpenSSLAsymmetricKey, 0)
ZEND_END_ARG_INFO()

RETURNS(pkey_export, 2, MAY_BE_BOOL)
ZEND_ARG_INFO(0, key)
ZEND_ARG_INFO(1, output)
DEFAULT(passphrase, IS_STRING, 1, "null")
DEFAULT(options, IS_ARRAY, 1, "null")
ZEND_END_ARG_INFO()

RETURNS(pkey_export_to_file, 2, MAY_BE_BOOL)
ZEND_ARG_INFO(0, key)
ARGUMENT(0, output_filename, IS_STRING, 0)
DEFAULT(passphrase, IS_STRING, 1, "null")
DEFAULT(options, IS_ARRAY, 1, "null")
ZEND_END_ARG_INFO()

RETURNS(pkey_derive, 2, STRING_OR_FALSE)
ZEND_ARG_INFO(0, public_key)
ZEND_ARG_INFO(0, private_key)
DEFAULT(key_length, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

RETURNS(sign, 3, MAY_BE_BOOL)
ARGUMENT(0, data, IS_STRING, 0)
ZEND_ARG_INFO(1, signature)
ZEND_ARG_INFO(0, private_key)
ZEND_ARG_TYPE_MASK(0, algorithm, MAY_BE_STRING | MAY_BE_LONG, "OPENSSL_ALGO_SHA1")
ZEND_END_ARG_INFO()

RETURNS(verify, 3, LONG_OR_FALSE)
ARGUMENT(0, data, IS_STRING, 0)
ARGUMENT(0, signature, IS_STRING, 0)
ZEND_ARG_INFO(0, public_key)
ZEND_ARG_TYPE_MASK(0, algorithm, MAY_BE_STRING | MAY_BE_LONG, "OPENSSL_ALGO_SHA1")
ZEND_END_ARG_INFO()

#define WITH_RSA(name, output, key)                            \
  RETURNS(name, 3, MAY_BE_BOOL)                                \
  ARGUMENT(0, data, IS_STRING, 0)                              \
  ZEND_ARG_INFO(1, output)                                     \
  ZEND_ARG_INFO(0, key)                                        \
  DEFAULT(padding, IS_LONG, 0, "OPENSSL_PKCS1_PADDING")        \
  ZEND_END_ARG_INFO()
WITH_RSA(private_encrypt, encrypted_data, private_key)
WITH_RSA(private_decrypt, decrypted_data, private_key)
WITH_RSA(public_encrypt, encrypted_data, public_key)
WITH_RSA(public_decrypt, decrypted_data, public_key)

#define FUNCTION(name) ZEND_FE(openssl_##name, arginfo_openssl_##name)
static const zend_function_entry functions[] = {
    FUNCTION(cipher_iv_length)
    FUNCTION(cipher_key_length)
    FUNCTION(decrypt)
    FUNCTION(digest)
    FUNCTION(encrypt)
    FUNCTION(error_string)
    FUNCTION(get_cipher_methods)
    FUNCTION(get_curve_names)
    FUNCTION(get_md_methods)
    FUNCTION(pbkdf2)
    FUNCTION(pkey_derive)
    FUNCTION(pkey_export)
    FUNCTION(pkey_export_to_file)
    FUNCTION(pkey_get_details)
    FUNCTION(pkey_get_private)
    FUNCTION(pkey_get_public)
    FUNCTION(pkey_new)
    FUNCTION(private_decrypt)
    FUNCTION(private_encrypt)
    FUNCTION(public_decrypt)
    FUNCTION(public_encrypt)
    FUNCTION(random_pseudo_bytes)
    FUNCTION(sign)
    FUNCTION(verify)
    ZEND_RAW_FENTRY("openssl_free_key", zif_openssl_pkey_free, arginfo_openssl_pkey_free, ZEND_ACC_DEPRECATED, NULL, NULL)
    ZEND_RAW_FENTRY("openssl_get_privatekey", zif_openssl_pkey_get_private, arginfo_openssl_pkey_get_private, 0, NULL, NULL)
    ZEND_RAW_FENTRY("openssl_get_publickey", zif_openssl_pkey_get_public, arginfo_openssl_pkey_get_public, 0, NULL, NULL)
    ZEND_RAW_FENTRY("openssl_pkey_free", zif_openssl_pkey_free, arginfo_openssl_pkey_free, ZEND_ACC_DEPRECATED, NULL, NULL)
    ZEND_FE_END
};

static const char *const releasing[] = {"openssl_pkey_free", "openssl_free_key"};

static const struct {
  const char *name;
  zend_long value;
} constants[] = {
    {"OPENSSL_ALGO_MD5", 2},
    {"OPENSSL_ALGO_RMD160", 10},
    {"OPENSSL_ALGO_SHA1", 1},
    {"OPENSSL_ALGO_SHA224", 6},
    {"OPENSSL_ALGO_SHA256", 7},
    {"OPENSSL_ALGO_SHA384", 8},
    {"OPENSSL_ALGO_SHA512", 9},
    {"OPENSSL_CIPHER_3DES", CIPHER_3DES},
    {"OPENSSL_CIPHER_AES_128_CBC", CIPHER_AES_128_CBC},
    {"OPENSSL_CIPHER_AES_192_CBC", CIPHER_AES_192_CBC},
    {"OPENSSL_CIPHER_AES_256_CBC", CIPHER_AES_256_CBC},
    {"OPENSSL_DONT_ZERO_PAD_KEY", DONT_ZERO_PAD_KEY},
    {"OPENSSL_KEYTYPE_DH", KEYTYPE_DH},
    {"OPENSSL_KEYTYPE_DSA", KEYTYPE_DSA},
    {"OPENSSL_KEYTYPE_EC", KEYTYPE_EC},
    {"OPENSSL_KEYTYPE_RSA", KEYTYPE_RSA},
    {"OPENSSL_NO_PADDING", NO_PADDING},
    {"OPENSSL_PKCS1_OAEP_PADDING", PKCS1_OAEP_PADDING},
    {"OPENSSL_PKCS1_PADDING", PKCS1_PADDING},
    {"OPENSSL_RAW_DATA", RAW_DATA},
    {"OPENSSL_VERSION_NUMBER", MBEDTLS_VERSION_NUMBER},
    {"OPENSSL_ZERO_PADDING", ZERO_PADDING},
};

// What PHP says of a function that need not be called any more.
static void deprecate(const char *name, const char *since, const char *why) {
  zend_function *function = zend_hash_str_find_ptr(CG(function_table), name, strlen(name));
  zend_attribute *told = zend_add_function_attribute(function, ZSTR_KNOWN(ZEND_STR_DEPRECATED_CAPITALIZED), 2);
  told->args[0].name = ZSTR_KNOWN(ZEND_STR_SINCE);
  ZVAL_STR(&told->args[0].value, zend_string_init(since, strlen(since), true));
  told->args[1].name = ZSTR_KNOWN(ZEND_STR_MESSAGE);
  ZVAL_STR(&told->args[1].value, zend_string_init(why, strlen(why), true));
}

static PHP_MINIT_FUNCTION(openssl) {
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
    zend_register_long_constant(constants[i].name, strlen(constants[i].name), constants[i].value, CONST_PERSISTENT, module_number);
  }
  REGISTER_STRING_CONSTANT("OPENSSL_VERSION_TEXT", MBEDTLS_VERSION_STRING_FULL, CONST_PERSISTENT);
  keys_start();
  secure_start();
  for (size_t i = 0; i < sizeof releasing / sizeof *releasing; i++) {
    deprecate(releasing[i], "8.0", "as OpenSSLAsymmetricKey objects are freed automatically");
  }
  return SUCCESS;
}

static PHP_RINIT_FUNCTION(openssl) {
  first = count = 0;
  return SUCCESS;
}

static PHP_MINFO_FUNCTION(openssl) {
  php_info_print_table_start();
  php_info_print_table_row(2, "OpenSSL support", "ciphers, digests, keys and signatures");
  php_info_print_table_row(2, "Library", MBEDTLS_VERSION_STRING_FULL);
  php_info_print_table_end();
}

zend_module_entry openssl_module = {
    STANDARD_MODULE_HEADER,
    "openssl",
    functions,
    PHP_MINIT(openssl),
    NULL,
    PHP_RINIT(openssl),
    NULL,
    PHP_MINFO(openssl),
    PHP_VERSION,
    STANDARD_MODULE_PROPERTIES,
};
