// Symmetric ciphers: `openssl_encrypt`, `openssl_decrypt` and what is asked about them.
#include "openssl.h"

#include <mbedtls/cipher.h>
#include <string.h>

#include "ext/standard/base64.h"

#define AEAD_TAG 16

// OpenSSL's names for what Mbed TLS has, and the sizes that OpenSSL states.
static const struct cipher {
  const char *name;
  mbedtls_cipher_type_t type;
  int key, iv;
  bool aead;
} ciphers[] = {
    {"aes-128-cbc", MBEDTLS_CIPHER_AES_128_CBC, 16, 16, false},
    {"aes-128-ccm", MBEDTLS_CIPHER_AES_128_CCM, 16, 12, true},
    {"aes-128-cfb", MBEDTLS_CIPHER_AES_128_CFB128, 16, 16, false},
    {"aes-128-ctr", MBEDTLS_CIPHER_AES_128_CTR, 16, 16, false},
    {"aes-128-ecb", MBEDTLS_CIPHER_AES_128_ECB, 16, 0, false},
    {"aes-128-gcm", MBEDTLS_CIPHER_AES_128_GCM, 16, 12, true},
    {"aes-128-ofb", MBEDTLS_CIPHER_AES_128_OFB, 16, 16, false},
    {"aes-192-cbc", MBEDTLS_CIPHER_AES_192_CBC, 24, 16, false},
    {"aes-192-ccm", MBEDTLS_CIPHER_AES_192_CCM, 24, 12, true},
    {"aes-192-cfb", MBEDTLS_CIPHER_AES_192_CFB128, 24, 16, false},
    {"aes-192-ctr", MBEDTLS_CIPHER_AES_192_CTR, 24, 16, false},
    {"aes-192-ecb", MBEDTLS_CIPHER_AES_192_ECB, 24, 0, false},
    {"aes-192-gcm", MBEDTLS_CIPHER_AES_192_GCM, 24, 12, true},
    {"aes-192-ofb", MBEDTLS_CIPHER_AES_192_OFB, 24, 16, false},
    {"aes-256-cbc", MBEDTLS_CIPHER_AES_256_CBC, 32, 16, false},
    {"aes-256-ccm", MBEDTLS_CIPHER_AES_256_CCM, 32, 12, true},
    {"aes-256-cfb", MBEDTLS_CIPHER_AES_256_CFB128, 32, 16, false},
    {"aes-256-ctr", MBEDTLS_CIPHER_AES_256_CTR, 32, 16, false},
    {"aes-256-ecb", MBEDTLS_CIPHER_AES_256_ECB, 32, 0, false},
    {"aes-256-gcm", MBEDTLS_CIPHER_AES_256_GCM, 32, 12, true},
    {"aes-256-ofb", MBEDTLS_CIPHER_AES_256_OFB, 32, 16, false},
    {"chacha20-poly1305", MBEDTLS_CIPHER_CHACHA20_POLY1305, 32, 12, true},
    {"des-ede3-cbc", MBEDTLS_CIPHER_DES_EDE3_CBC, 24, 8, false},
};
#define CIPHERS (sizeof ciphers / sizeof *ciphers)

// Other names of the same.
static const char *const aliases[][2] = {
    {"aes128", "aes-128-cbc"},        {"aes192", "aes-192-cbc"},        {"aes256", "aes-256-cbc"},
    {"des3", "des-ede3-cbc"},         {"id-aes128-gcm", "aes-128-gcm"}, {"id-aes192-gcm", "aes-192-gcm"},
    {"id-aes256-gcm", "aes-256-gcm"},
};
#define ALIASES (sizeof aliases / sizeof *aliases)

static const struct cipher *find(const char *name) {
  for (size_t i = 0; i < ALIASES; i++) {
    if (strcasecmp(aliases[i][0], name) == 0) name = aliases[i][1];
  }
  for (size_t i = 0; i < CIPHERS; i++) {
    if (strcasecmp(ciphers[i].name, name) == 0) return &ciphers[i];
  }
  php_error_docref(NULL, E_WARNING, "Unknown cipher algorithm");
  return NULL;
}

PHP_FUNCTION(openssl_get_cipher_methods) {
  bool all = false;
  ZEND_PARSE_PARAMETERS_START(0, 1)
  Z_PARAM_OPTIONAL
  Z_PARAM_BOOL(all)
  ZEND_PARSE_PARAMETERS_END();
  array_init(return_value);
  for (size_t i = 0; i < CIPHERS; i++) add_next_index_string(return_value, ciphers[i].name);
  for (size_t i = 0; all && i < ALIASES; i++) add_next_index_string(return_value, aliases[i][0]);
}

// The cipher that the one argument names; null: there was an error.
static const struct cipher *asked(INTERNAL_FUNCTION_PARAMETERS) {
  zend_string *name;
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_STR(name)
  ZEND_PARSE_PARAMETERS_END_EX(return NULL);
  if (!ZSTR_LEN(name)) {
    zend_argument_must_not_be_empty_error(1);
    return NULL;
  }
  return find(ZSTR_VAL(name));
}

PHP_FUNCTION(openssl_cipher_iv_length) {
  const struct cipher *cipher = asked(INTERNAL_FUNCTION_PARAM_PASSTHRU);
  if (cipher) RETURN_LONG(cipher->iv);
  RETVAL_FALSE;
}

PHP_FUNCTION(openssl_cipher_key_length) {
  const struct cipher *cipher = asked(INTERNAL_FUNCTION_PARAM_PASSTHRU);
  if (cipher) RETURN_LONG(cipher->key);
  RETVAL_FALSE;
}

static unsigned char *bytes_of(zend_string *text) { return (unsigned char *)ZSTR_VAL(text); }

// A cipher with its key, ready for one text.
typedef struct {
  mbedtls_cipher_context_t context;
  unsigned char iv[MBEDTLS_MAX_IV_LENGTH];
  const unsigned char *nonce;
  size_t nonce_length;
} started;

static bool is_ccm(const struct cipher *cipher) {
  return cipher->type == MBEDTLS_CIPHER_AES_128_CCM || cipher->type == MBEDTLS_CIPHER_AES_192_CCM ||
         cipher->type == MBEDTLS_CIPHER_AES_256_CCM;
}

static bool start(started *run, const struct cipher *cipher, zend_string *key, zend_string *iv, zend_long options,
                  bool encrypt) {
  unsigned char padded[MBEDTLS_MAX_KEY_LENGTH] = {0};
  size_t wanted = cipher->iv, given = ZSTR_LEN(iv);
  memset(run->iv, 0, sizeof run->iv);
  run->nonce = bytes_of(iv);
  run->nonce_length = given;
  if (encrypt && !given && wanted && !cipher->aead) {
    php_error_docref(NULL, E_WARNING,
                     "Using an empty Initialization Vector (iv) is potentially insecure and not recommended");
  }
  bool fits = cipher->type == MBEDTLS_CIPHER_CHACHA20_POLY1305 ? given == wanted : given > 0;
  if (is_ccm(cipher)) fits = given >= 7 && given <= 13;
  if (cipher->aead && !fits) {
    php_error_docref(NULL, E_WARNING, "Setting of IV length for AEAD mode failed");
    return false;
  }
  if (!cipher->aead) {
    if (given && given < wanted) {
      php_error_docref(NULL, E_WARNING,
                       "IV passed is only %zd bytes long, cipher expects an IV of precisely %zd bytes, padding with \\0",
                       given, wanted);
    } else if (given > wanted) {
      php_error_docref(
          NULL, E_WARNING,
          "IV passed is %zd bytes long which is longer than the %zd expected by selected cipher, truncating", given, wanted);
    }
    memcpy(run->iv, ZSTR_VAL(iv), given < wanted ? given : wanted);
    run->nonce = run->iv;
    run->nonce_length = wanted;
  }
  if (ZSTR_LEN(key) < (size_t)cipher->key && (options & DONT_ZERO_PAD_KEY)) {
    php_error_docref(NULL, E_WARNING, "Key length cannot be set for the cipher algorithm");
    return false;
  }
  // A longer one is cut, as OpenSSL does it.
  memcpy(padded, ZSTR_VAL(key), MIN(ZSTR_LEN(key), (size_t)cipher->key));
  mbedtls_cipher_init(&run->context);
  int error = mbedtls_cipher_setup(&run->context, mbedtls_cipher_info_from_type(cipher->type));
  mbedtls_operation_t operation = encrypt ? MBEDTLS_ENCRYPT : MBEDTLS_DECRYPT;
  if (!error) error = mbedtls_cipher_setkey(&run->context, padded, cipher->key * 8, operation);
  if (!error && mbedtls_cipher_get_cipher_mode(&run->context) == MBEDTLS_MODE_CBC) {
    mbedtls_cipher_padding_t padding = options & ZERO_PADDING ? MBEDTLS_PADDING_NONE : MBEDTLS_PADDING_PKCS7;
    error = mbedtls_cipher_set_padding_mode(&run->context, padding);
  }
  ZEND_SECURE_ZERO(padded, sizeof padded);
  if (!error) return true;
  note_error(error);
  mbedtls_cipher_free(&run->context);
  return false;
}

// ECB by blocks, with the padding that Mbed TLS has for CBC alone. NULL: it does not fit.
static zend_string *by_blocks(started *run, zend_string *data, bool encrypt, bool padding) {
  size_t block = mbedtls_cipher_get_block_size(&run->context), length = ZSTR_LEN(data);
  size_t more = encrypt && padding ? block - length % block : 0;
  if ((length + more) % block || (!encrypt && padding && !length)) return NULL;
  zend_string *made = zend_string_alloc(length + more, 0);
  memcpy(ZSTR_VAL(made), ZSTR_VAL(data), length);
  memset(ZSTR_VAL(made) + length, (int)more, more);
  for (size_t at = 0; at < length + more; at += block) {
    unsigned char *place = bytes_of(made) + at;
    size_t written;
    int error = mbedtls_cipher_update(&run->context, place, block, place, &written);
    if (error) {
      note_error(error);
      zend_string_efree(made);
      return NULL;
    }
  }
  if (!encrypt && padding) {
    unsigned char *bytes = bytes_of(made), last = bytes[length - 1];
    bool right = last && last <= block;
    for (size_t i = 1; right && i <= last; i++) right = bytes[length - i] == last;
    if (!right) {
      zend_string_efree(made);
      return NULL;
    }
    ZSTR_LEN(made) = length - last;
  }
  ZSTR_VAL(made)[ZSTR_LEN(made)] = 0;
  return made;
}

static zend_string *run_cipher(started *run, zend_string *data, bool encrypt, zend_long options) {
  if (mbedtls_cipher_get_cipher_mode(&run->context) == MBEDTLS_MODE_ECB) {
    return by_blocks(run, data, encrypt, !(options & ZERO_PADDING));
  }
  size_t length = ZSTR_LEN(data), made_length = 0;
  zend_string *made = zend_string_safe_alloc(1, length, 2 * MBEDTLS_MAX_BLOCK_LENGTH, 0);
  int error = mbedtls_cipher_crypt(&run->context, run->nonce, run->nonce_length, bytes_of(data), length, bytes_of(made),
                                   &made_length);
  if (error) {
    note_error(error);
    zend_string_efree(made);
    return NULL;
  }
  made = zend_string_truncate(made, made_length, 0);
  ZSTR_VAL(made)[made_length] = 0;
  return made;
}

PHP_FUNCTION(openssl_encrypt) {
  zend_string *data, *name, *key, *iv = ZSTR_EMPTY_ALLOC(), *aad = ZSTR_EMPTY_ALLOC(), *made = NULL;
  zend_long options = 0, tag_length = AEAD_TAG;
  zval *tag = NULL;
  ZEND_PARSE_PARAMETERS_START(3, 8)
  Z_PARAM_STR(data)
  Z_PARAM_STR(name)
  Z_PARAM_STR(key)
  Z_PARAM_OPTIONAL
  Z_PARAM_LONG(options)
  Z_PARAM_STR(iv)
  Z_PARAM_ZVAL(tag)
  Z_PARAM_STR(aad)
  Z_PARAM_LONG(tag_length)
  ZEND_PARSE_PARAMETERS_END();
  RETVAL_FALSE;
  const struct cipher *cipher = find(ZSTR_VAL(name));
  if (!cipher) return;
  if (cipher->aead && !tag) {
    php_error_docref(NULL, E_WARNING, "A tag should be provided when using AEAD mode");
    return;
  }
  started run;
  if (!start(&run, cipher, key, iv, options, true)) return;
  if (!cipher->aead) {
    if (tag) ZEND_TRY_ASSIGN_REF_NULL(tag);
    made = run_cipher(&run, data, true, options);
  } else if (tag_length < 1 || tag_length > AEAD_TAG) {
    php_error_docref(NULL, E_WARNING, "%s",
                     is_ccm(cipher) ? "Setting tag length for AEAD cipher failed" : "Retrieving verification tag failed");
  } else {
    size_t length = ZSTR_LEN(data), made_length = 0;
    made = zend_string_safe_alloc(1, length, AEAD_TAG, 0);
    size_t whole = cipher->type == MBEDTLS_CIPHER_CHACHA20_POLY1305 ? AEAD_TAG : (size_t)tag_length;
    int error = mbedtls_cipher_auth_encrypt_ext(&run.context, run.nonce, run.nonce_length, bytes_of(aad), ZSTR_LEN(aad),
                                                bytes_of(data), length, bytes_of(made), length + AEAD_TAG, &made_length,
                                                whole);
    if (error) {
      note_error(error);
      zend_string_efree(made);
      made = NULL;
    } else {
      zend_string *text = zend_string_init(ZSTR_VAL(made) + length, (size_t)tag_length, 0);
      ZEND_TRY_ASSIGN_REF_STR(tag, text);
      made = zend_string_truncate(made, length, 0);
      ZSTR_VAL(made)[length] = 0;
    }
  }
  mbedtls_cipher_free(&run.context);
  if (!made) return;
  if (!(options & RAW_DATA)) {
    zend_string *text = php_base64_encode(bytes_of(made), ZSTR_LEN(made));
    zend_string_efree(made);
    made = text;
  }
  RETVAL_STR(made);
}

PHP_FUNCTION(openssl_decrypt) {
  zend_string *data, *name, *key, *iv = ZSTR_EMPTY_ALLOC(), *tag = NULL, *aad = ZSTR_EMPTY_ALLOC(), *made = NULL;
  zend_long options = 0;
  ZEND_PARSE_PARAMETERS_START(3, 7)
  Z_PARAM_STR(data)
  Z_PARAM_STR(name)
  Z_PARAM_STR(key)
  Z_PARAM_OPTIONAL
  Z_PARAM_LONG(options)
  Z_PARAM_STR(iv)
  Z_PARAM_STR_OR_NULL(tag)
  Z_PARAM_STR(aad)
  ZEND_PARSE_PARAMETERS_END();
  RETVAL_FALSE;
  if (!ZSTR_LEN(name)) {
    php_error_docref(NULL, E_WARNING, "Unknown cipher algorithm");
    return;
  }
  const struct cipher *cipher = find(ZSTR_VAL(name));
  if (!cipher) return;
  if (cipher->aead && !tag) {
    php_error_docref(NULL, E_WARNING, "A tag should be provided when using AEAD mode");
    return;
  }
  zend_string *decoded = NULL;
  if (!(options & RAW_DATA)) {
    decoded = php_base64_decode(bytes_of(data), ZSTR_LEN(data));
    if (!decoded) {
      php_error_docref(NULL, E_WARNING, "Failed to base64 decode the input");
      return;
    }
    data = decoded;
  }
  started run;
  if (start(&run, cipher, key, iv, options, false)) {
    if (!cipher->aead) {
      if (tag && ZSTR_LEN(tag)) {
        php_error_docref(NULL, E_WARNING, "The tag cannot be used because the cipher algorithm does not support AEAD");
      }
      made = run_cipher(&run, data, false, options);
    } else if (ZSTR_LEN(tag) < 1 || ZSTR_LEN(tag) > AEAD_TAG) {
      php_error_docref(NULL, E_WARNING, "Setting tag for AEAD cipher decryption failed");
    } else {
      // Text and tag in one, as Mbed TLS takes them.
      size_t length = ZSTR_LEN(data), made_length = 0;
      zend_string *both = zend_string_safe_alloc(1, length, ZSTR_LEN(tag), 0);
      memcpy(ZSTR_VAL(both), ZSTR_VAL(data), length);
      memcpy(ZSTR_VAL(both) + length, ZSTR_VAL(tag), ZSTR_LEN(tag));
      made = zend_string_alloc(length, 0);
      int error = mbedtls_cipher_auth_decrypt_ext(&run.context, run.nonce, run.nonce_length, bytes_of(aad), ZSTR_LEN(aad),
                                                  bytes_of(both), length + ZSTR_LEN(tag), bytes_of(made), length,
                                                  &made_length, ZSTR_LEN(tag));
      zend_string_efree(both);
      if (error) {
        note_error(error);
        zend_string_efree(made);
        made = NULL;
      } else {
        ZSTR_VAL(made)[length] = 0;
      }
    }
    mbedtls_cipher_free(&run.context);
  }
  if (decoded) zend_string_release(decoded);
  if (made) RETVAL_STR(made);
}
