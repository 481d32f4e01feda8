// Keys: read, made, shown and written.
#include "keys.h"

#include <mbedtls/asn1write.h>
#include <mbedtls/oid.h>
#include <mbedtls/pem.h>
#include <string.h>

#include "ext/random/php_random.h"
#include "php_streams.h"
#include "zend_exceptions.h"

// Most bits of an RSA key: a larger one takes minutes.
#define MOST_BITS 8192
#define LEAST_BITS 384

// Room for a key of that many bits in DER or PEM.
#define ROOM 16384

// The curves that Mbed TLS has, by OpenSSL's names.
static const struct {
  const char *name, *oid;
  mbedtls_ecp_group_id id;
} curves[] = {
    {"prime256v1", "1.2.840.10045.3.1.7", MBEDTLS_ECP_DP_SECP256R1},
    {"secp256k1", "1.3.132.0.10", MBEDTLS_ECP_DP_SECP256K1},
    {"secp384r1", "1.3.132.0.34", MBEDTLS_ECP_DP_SECP384R1},
    {"secp521r1", "1.3.132.0.35", MBEDTLS_ECP_DP_SECP521R1},
};
#define CURVES (sizeof curves / sizeof *curves)

static zend_class_entry *class;
static zend_object_handlers handlers;

int key_random(void *context, unsigned char *bytes, size_t size) {
  (void)context;
  return php_random_bytes_silent(bytes, size) == SUCCESS ? 0 : MBEDTLS_ERR_RSA_RNG_FAILED;
}

static zend_object *create(zend_class_entry *entry) {
  key *made = zend_object_alloc(sizeof *made, entry);
  mbedtls_pk_init(&made->pk);
  zend_object_std_init(&made->std, entry);
  object_properties_init(&made->std, entry);
  made->std.handlers = &handlers;
  return &made->std;
}

static void release(zend_object *object) {
  mbedtls_pk_free(&key_of(object)->pk);
  zend_object_std_dtor(object);
}

static zend_function *constructor(zend_object *object) {
  (void)object;
  zend_throw_error(NULL, "Cannot directly construct OpenSSLAsymmetricKey, use openssl_pkey_new() instead");
  return NULL;
}

void keys_start(void) {
  zend_class_entry entry;
  INIT_CLASS_ENTRY(entry, "OpenSSLAsymmetricKey", NULL);
  class = zend_register_internal_class(&entry);
  class->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
  class->create_object = create;
  class->default_object_handlers = &handlers;
  handlers = std_object_handlers;
  handlers.offset = XtOffsetOf(key, std);
  handlers.free_obj = release;
  handlers.get_constructor = constructor;
  handlers.clone_obj = NULL;
  handlers.compare = zend_objects_not_comparable;
}

// The text of a key: itself, or of the file that it names. NULL: there is none.
static zend_string *text_of(zend_string *given) {
  static const char file[] = "file://";
  if (!zend_string_starts_with_cstr(given, file, sizeof file - 1)) return zend_string_copy(given);
  php_stream *stream = php_stream_open_wrapper(ZSTR_VAL(given) + sizeof file - 1, "rb", 0, NULL);
  if (!stream) return NULL;
  zend_string *read = php_stream_copy_to_mem(stream, 1 << 20, 0);
  php_stream_close(stream);
  return read;
}

static key *parse(zend_string *given, zend_string *passphrase, bool private, zend_object **owner) {
  zend_string *text = text_of(given);
  if (!text) return NULL;
  zend_object *object = create(class);
  key *made = key_of(object);
  // With its NUL, by which Mbed TLS knows PEM.
  const unsigned char *bytes = (unsigned char *)ZSTR_VAL(text);
  size_t length = ZSTR_LEN(text) + 1;
  const unsigned char *secret = passphrase ? (unsigned char *)ZSTR_VAL(passphrase) : NULL;
  size_t secret_length = passphrase ? ZSTR_LEN(passphrase) : 0;
  int error = private ? mbedtls_pk_parse_key(&made->pk, bytes, length, secret, secret_length, key_random, NULL)
                      : mbedtls_pk_parse_public_key(&made->pk, bytes, length);
  zend_string_release(text);
  if (error) {
    note_error(error);
    zend_object_release(object);
    return NULL;
  }
  made->private = private;
  *owner = object;
  return made;
}

key *key_from(zval *value, bool private, zend_string *passphrase, zend_object **owner) {
  *owner = NULL;
  if (Z_TYPE_P(value) == IS_OBJECT && Z_OBJCE_P(value) == class) {
    key *known = key_of(Z_OBJ_P(value));
    if (private && !known->private) {
      php_error_docref(NULL, E_WARNING, "Supplied key param is a public key");
      return NULL;
    }
    if (!private && known->private) {
      php_error_docref(NULL, E_WARNING, "Don't know how to get public key from this private key");
      return NULL;
    }
    return known;
  }
  zval *text = value;
  if (Z_TYPE_P(value) == IS_ARRAY) {
    text = zend_hash_index_find(Z_ARRVAL_P(value), 0);
    zval *secret = zend_hash_index_find(Z_ARRVAL_P(value), 1);
    if (!text || !secret) {
      zend_value_error("Key array must be of the form array(0 => key, 1 => phrase)");
      return NULL;
    }
    ZVAL_DEREF(text);
    ZVAL_DEREF(secret);
    if (Z_TYPE_P(secret) == IS_STRING) passphrase = Z_STR_P(secret);
    if (Z_TYPE_P(text) == IS_OBJECT && Z_OBJCE_P(text) == class) {
      return key_from(text, private, passphrase, owner);
    }
  }
  if (Z_TYPE_P(text) != IS_STRING && Z_TYPE_P(text) != IS_OBJECT) return NULL;
  zend_string *given = zval_try_get_string(text);
  if (!given) return NULL;
  key *made = parse(given, passphrase, private, owner);
  zend_string_release(given);
  return made;
}

static void read_key(INTERNAL_FUNCTION_PARAMETERS, bool private) {
  zval *value;
  zend_string *passphrase = NULL;
  ZEND_PARSE_PARAMETERS_START(1, private ? 2 : 1)
  Z_PARAM_ZVAL(value)
  Z_PARAM_OPTIONAL
  Z_PARAM_STR_OR_NULL(passphrase)
  ZEND_PARSE_PARAMETERS_END();
  zend_object *owner;
  key *found = key_from(value, private, passphrase, &owner);
  if (EG(exception)) RETURN_THROWS();
  if (!found) RETURN_FALSE;
  if (owner) RETURN_OBJ(owner);
  RETURN_OBJ_COPY(&found->std);
}

PHP_FUNCTION(openssl_pkey_get_private) { read_key(INTERNAL_FUNCTION_PARAM_PASSTHRU, true); }
PHP_FUNCTION(openssl_pkey_get_public) { read_key(INTERNAL_FUNCTION_PARAM_PASSTHRU, false); }

PHP_FUNCTION(openssl_pkey_free) {
  zval *value;
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_OBJECT_OF_CLASS(value, class)
  ZEND_PARSE_PARAMETERS_END();
}

PHP_FUNCTION(openssl_get_curve_names) {
  ZEND_PARSE_PARAMETERS_NONE();
  array_init(return_value);
  for (size_t i = 0; i < CURVES; i++) add_next_index_string(return_value, curves[i].name);
}

PHP_FUNCTION(openssl_pkey_new) {
  HashTable *options = NULL;
  ZEND_PARSE_PARAMETERS_START(0, 1)
  Z_PARAM_OPTIONAL
  Z_PARAM_ARRAY_HT_OR_NULL(options)
  ZEND_PARSE_PARAMETERS_END();
  zval *bits_given = options ? zend_hash_str_find_deref(options, ZEND_STRL("private_key_bits")) : NULL;
  zval *type_given = options ? zend_hash_str_find_deref(options, ZEND_STRL("private_key_type")) : NULL;
  zval *curve = options ? zend_hash_str_find_deref(options, ZEND_STRL("curve_name")) : NULL;
  zend_long bits = bits_given ? zval_get_long(bits_given) : 2048;
  zend_long type = type_given ? zval_get_long(type_given) : KEYTYPE_RSA;
  RETVAL_FALSE;
  for (const char *const *part = (const char *const[]){"rsa", "dsa", "dh", "ec", NULL}; options && *part; part++) {
    if (zend_hash_str_exists(options, *part, strlen(*part))) {
      php_error_docref(NULL, E_WARNING, "Keys of given numbers cannot be made in this sandbox");
      return;
    }
  }
  zend_object *object = create(class);
  key *made = key_of(object);
  int error;
  if (type == KEYTYPE_RSA) {
    if (bits < LEAST_BITS || bits > MOST_BITS) {
      bool small = bits < LEAST_BITS;
      php_error_docref(NULL, E_WARNING, "Private key length must be at %s %d bits, configured to " ZEND_LONG_FMT,
                       small ? "least" : "most", small ? LEAST_BITS : MOST_BITS, bits);
      zend_object_release(object);
      return;
    }
    error = mbedtls_pk_setup(&made->pk, mbedtls_pk_info_from_type(MBEDTLS_PK_RSA));
    // Of an even number of bits, as OpenSSL rounds it.
    unsigned even = (unsigned)(bits + bits % 2);
    if (!error) error = mbedtls_rsa_gen_key(mbedtls_pk_rsa(made->pk), key_random, NULL, even, 65537);
  } else if (type == KEYTYPE_EC) {
    mbedtls_ecp_group_id id = MBEDTLS_ECP_DP_NONE;
    if (!curve || Z_TYPE_P(curve) != IS_STRING) {
      php_error_docref(NULL, E_WARNING, "Missing configuration value: \"curve_name\" not set");
      zend_object_release(object);
      return;
    }
    for (size_t i = 0; i < CURVES; i++) {
      if (strcmp(curves[i].name, Z_STRVAL_P(curve)) == 0) id = curves[i].id;
    }
    if (id == MBEDTLS_ECP_DP_NONE) {
      php_error_docref(NULL, E_WARNING, "Unknown elliptic curve (short) name %s", Z_STRVAL_P(curve));
      zend_object_release(object);
      return;
    }
    error = mbedtls_pk_setup(&made->pk, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));
    if (!error) error = mbedtls_ecp_gen_key(id, mbedtls_pk_ec(made->pk), key_random, NULL);
  } else {
    php_error_docref(NULL, E_WARNING, "Unsupported private key type");
    zend_object_release(object);
    return;
  }
  if (error) {
    note_error(error);
    zend_object_release(object);
    return;
  }
  made->private = true;
  RETVAL_OBJ(object);
}

// PKCS #8 around a private key, as OpenSSL writes them. 0: there is no room.
static size_t wrap(key *from, unsigned char *room, size_t size) {
  unsigned char *next = room + size;
  int length = mbedtls_pk_write_key_der(&from->pk, room, size);
  if (length <= 0) return 0;
  next -= length;
  bool rsa = mbedtls_pk_get_type(&from->pk) == MBEDTLS_PK_RSA;
  const char *oid = MBEDTLS_OID_PKCS1_RSA, *curve = NULL;
  size_t oid_length = MBEDTLS_OID_SIZE(MBEDTLS_OID_PKCS1_RSA), curve_length = 0, parameters = 0;
  int total = length, added = mbedtls_asn1_write_len(&next, room, (size_t)total);
  if (added < 0) return 0;
  total += added;
  if ((added = mbedtls_asn1_write_tag(&next, room, MBEDTLS_ASN1_OCTET_STRING)) < 0) return 0;
  total += added;
  if (rsa) {
    if ((added = mbedtls_asn1_write_null(&next, room)) < 0) return 0;
    parameters = (size_t)added;
  } else {
    oid = MBEDTLS_OID_EC_ALG_UNRESTRICTED;
    oid_length = MBEDTLS_OID_SIZE(MBEDTLS_OID_EC_ALG_UNRESTRICTED);
    if (mbedtls_oid_get_oid_by_ec_grp(mbedtls_pk_ec(from->pk)->grp.id, &curve, &curve_length)) return 0;
    if ((added = mbedtls_asn1_write_oid(&next, room, curve, curve_length)) < 0) return 0;
    parameters = (size_t)added;
  }
  if ((added = mbedtls_asn1_write_algorithm_identifier(&next, room, oid, oid_length, parameters)) < 0) return 0;
  total += added;
  if ((added = mbedtls_asn1_write_int(&next, room, 0)) < 0) return 0;
  total += added;
  if ((added = mbedtls_asn1_write_len(&next, room, (size_t)total)) < 0) return 0;
  total += added;
  if ((added = mbedtls_asn1_write_tag(&next, room, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE)) < 0) return 0;
  return (size_t)(total + added);
}

// With which cipher the options have a key protected; -1: they name one that is not there.
static zend_long protection(HashTable *options) {
  zval *named = options ? zend_hash_str_find_deref(options, ZEND_STRL("encrypt_key_cipher")) : NULL;
  if (!named) return CIPHER_AES_256_CBC;
  if (Z_TYPE_P(named) == IS_LONG && key_can_protect(Z_LVAL_P(named))) return Z_LVAL_P(named);
  php_error_docref(NULL, E_WARNING, "Unknown cipher algorithm for private key");
  return -1;
}

// The text of a private key; NULL: there was an error.
static zend_string *written(zval *value, zend_string *passphrase, HashTable *options) {
  zval *wanted = options ? zend_hash_str_find_deref(options, ZEND_STRL("encrypt_key")) : NULL;
  bool protects = passphrase && ZSTR_LEN(passphrase) && (!wanted || zend_is_true(wanted));
  zend_long cipher = protection(options);
  if (cipher < 0) return NULL;
  zend_object *owner;
  zend_string *made = NULL;
  key *from = key_from(value, true, passphrase, &owner);
  if (!from) {
    if (!EG(exception)) php_error_docref(NULL, E_WARNING, "Cannot get key from parameter 1");
    return NULL;
  }
  unsigned char *der = emalloc(ROOM), *pem = emalloc(ROOM);
  size_t length = wrap(from, der, ROOM), size;
  if (length && protects) length = key_protect(der, ROOM, length, passphrase, cipher);
  const char *begin = protects ? "-----BEGIN ENCRYPTED PRIVATE KEY-----\n" : "-----BEGIN PRIVATE KEY-----\n";
  const char *end = protects ? "-----END ENCRYPTED PRIVATE KEY-----\n" : "-----END PRIVATE KEY-----\n";
  if (length && !mbedtls_pem_write_buffer(begin, end, der + ROOM - length, length, pem, ROOM, &size)) {
    made = zend_string_init((char *)pem, size - 1, 0);
  }
  ZEND_SECURE_ZERO(der, ROOM);
  ZEND_SECURE_ZERO(pem, ROOM);
  efree(der);
  efree(pem);
  if (owner) zend_object_release(owner);
  return made;
}

PHP_FUNCTION(openssl_pkey_export) {
  zval *value, *output;
  HashTable *options = NULL;
  zend_string *passphrase = NULL;
  ZEND_PARSE_PARAMETERS_START(2, 4)
  Z_PARAM_ZVAL(value)
  Z_PARAM_ZVAL(output)
  Z_PARAM_OPTIONAL
  Z_PARAM_STR_OR_NULL(passphrase)
  Z_PARAM_ARRAY_HT_OR_NULL(options)
  ZEND_PARSE_PARAMETERS_END();
  zend_string *text = written(value, passphrase, options);
  if (text) ZEND_TRY_ASSIGN_REF_STR(output, text);
  RETVAL_BOOL(text != NULL);
}

PHP_FUNCTION(openssl_pkey_export_to_file) {
  zval *value;
  HashTable *options = NULL;
  zend_string *path, *passphrase = NULL;
  ZEND_PARSE_PARAMETERS_START(2, 4)
  Z_PARAM_ZVAL(value)
  Z_PARAM_PATH_STR(path)
  Z_PARAM_OPTIONAL
  Z_PARAM_STR_OR_NULL(passphrase)
  Z_PARAM_ARRAY_HT_OR_NULL(options)
  ZEND_PARSE_PARAMETERS_END();
  RETVAL_FALSE;
  zend_string *text = written(value, passphrase, options);
  if (!text) return;
  php_stream *stream = php_stream_open_wrapper(ZSTR_VAL(path), "wb", REPORT_ERRORS, NULL);
  if (stream) {
    RETVAL_BOOL(php_stream_write(stream, ZSTR_VAL(text), ZSTR_LEN(text)) == (ssize_t)ZSTR_LEN(text));
    php_stream_close(stream);
  }
  zend_string_release(text);
}

static void add_number(zval *to, const char *name, const mbedtls_mpi *number, size_t least) {
  size_t size = mbedtls_mpi_size(number);
  if (size < least) size = least;
  zend_string *text = zend_string_alloc(size, 0);
  mbedtls_mpi_write_binary(number, (unsigned char *)ZSTR_VAL(text), size);
  ZSTR_VAL(text)[size] = 0;
  add_assoc_str(to, name, text);
}

PHP_FUNCTION(openssl_pkey_get_details) {
  zval *value;
  ZEND_PARSE_PARAMETERS_START(1, 1)
  Z_PARAM_OBJECT_OF_CLASS(value, class)
  ZEND_PARSE_PARAMETERS_END();
  key *from = key_of(Z_OBJ_P(value));
  unsigned char *pem = emalloc(ROOM);
  int error = mbedtls_pk_write_pubkey_pem(&from->pk, pem, ROOM);
  if (error) {
    note_error(error);
    efree(pem);
    RETURN_FALSE;
  }
  array_init(return_value);
  add_assoc_long(return_value, "bits", (zend_long)mbedtls_pk_get_bitlen(&from->pk));
  add_assoc_string(return_value, "key", (char *)pem);
  efree(pem);
  zval parts;
  array_init(&parts);
  if (mbedtls_pk_get_type(&from->pk) == MBEDTLS_PK_RSA) {
    mbedtls_rsa_context *rsa = mbedtls_pk_rsa(from->pk);
    add_number(&parts, "n", &rsa->N, 0);
    add_number(&parts, "e", &rsa->E, 0);
    if (from->private) {
      add_number(&parts, "d", &rsa->D, 0);
      add_number(&parts, "p", &rsa->P, 0);
      add_number(&parts, "q", &rsa->Q, 0);
      add_number(&parts, "dmp1", &rsa->DP, 0);
      add_number(&parts, "dmq1", &rsa->DQ, 0);
      add_number(&parts, "iqmp", &rsa->QP, 0);
    }
    add_assoc_zval(return_value, "rsa", &parts);
    add_assoc_long(return_value, "type", KEYTYPE_RSA);
  } else {
    mbedtls_ecp_keypair *pair = mbedtls_pk_ec(from->pk);
    for (size_t i = 0; i < CURVES; i++) {
      if (curves[i].id != pair->grp.id) continue;
      add_assoc_string(&parts, "curve_name", curves[i].name);
      add_assoc_string(&parts, "curve_oid", curves[i].oid);
    }
    size_t size = (pair->grp.pbits + 7) / 8;
    add_number(&parts, "x", &pair->Q.X, size);
    add_number(&parts, "y", &pair->Q.Y, size);
    if (from->private) add_number(&parts, "d", &pair->d, size);
    add_assoc_zval(return_value, "ec", &parts);
    add_assoc_long(return_value, "type", KEYTYPE_EC);
  }
}

PHP_FUNCTION(openssl_pkey_derive) {
  zval *public_given, *private_given;
  zend_long length = 0;
  ZEND_PARSE_PARAMETERS_START(2, 3)
  Z_PARAM_ZVAL(public_given)
  Z_PARAM_ZVAL(private_given)
  Z_PARAM_OPTIONAL
  Z_PARAM_LONG(length)
  ZEND_PARSE_PARAMETERS_END();
  RETVAL_FALSE;
  if (length < 0) {
    zend_argument_value_error(3, "must be greater than or equal to 0");
    return;
  }
  zend_object *public_owner = NULL, *private_owner = NULL;
  key *private = key_from(private_given, true, NULL, &private_owner);
  key *public = private ? key_from(public_given, false, NULL, &public_owner) : NULL;
  if (public && mbedtls_pk_can_do(&public->pk, MBEDTLS_PK_ECKEY) && mbedtls_pk_can_do(&private->pk, MBEDTLS_PK_ECKEY)) {
    mbedtls_ecp_keypair *own = mbedtls_pk_ec(private->pk), *other = mbedtls_pk_ec(public->pk);
    size_t size = (own->grp.pbits + 7) / 8;
    mbedtls_mpi shared;
    mbedtls_mpi_init(&shared);
    int error = own->grp.id == other->grp.id
                    ? mbedtls_ecdh_compute_shared(&own->grp, &shared, &other->Q, &own->d, key_random, NULL)
                    : MBEDTLS_ERR_ECP_BAD_INPUT_DATA;
    if (error) {
      note_error(error);
    } else {
      unsigned char bytes[MBEDTLS_ECP_MAX_BYTES];
      mbedtls_mpi_write_binary(&shared, bytes, size);
      RETVAL_STRINGL((char *)bytes, length && (size_t)length < size ? (size_t)length : size);
      ZEND_SECURE_ZERO(bytes, sizeof bytes);
    }
    mbedtls_mpi_free(&shared);
  }
  if (public_owner) zend_object_release(public_owner);
  if (private_owner) zend_object_release(private_owner);
}
