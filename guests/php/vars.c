// The user's global variables.
#include "guest_php.h"

#include <stdlib.h>
#include <string.h>

// Bytes of the text that `vars` shows for one value.
#define LONGEST_SUMMARY 200

static bool is_own(const char *name, size_t length) {
  static const char *const names[] = {"_GET",    "_POST",    "_COOKIE", "_FILES",  "_SERVER", "_ENV",
                                      "_REQUEST", "_SESSION", "GLOBALS", "argv",    "argc"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return true;
  }
  return false;
}

static void skip_dollar(const char **name, size_t *length) {
  if (!*length || **name != '$') return;
  ++*name;
  --*length;
}

zval *vars_get(const char *name, size_t length) {
  skip_dollar(&name, &length);
  zval *found = zend_hash_str_find_ind(&EG(symbol_table), name, length);
  if (!found || Z_TYPE_P(found) == IS_UNDEF) return NULL;
  ZVAL_DEREF(found);
  return found;
}

static bool is_identifier(const char *name, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)name[i];
    bool letter = ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c >= 0x80;
    if (!letter && !(i && c >= '0' && c <= '9')) return false;
  }
  return length > 0;
}

const char *vars_set(const char *name, size_t length, zval *value) {
  skip_dollar(&name, &length);
  const char *why = NULL;
  if (!is_identifier(name, length)) why = "the name is not an identifier";
  else if (is_own(name, length)) why = "the name belongs to PHP";
  else if (length == 4 && memcmp(name, "this", 4) == 0) why = "the name is a reserved word";
  if (why) {
    zval_ptr_dtor(value);
    return why;
  }
  zend_string *key = zend_string_init(name, length, 0);
  zval *slot = zend_hash_find_ind(&EG(symbol_table), key);
  if (slot) {
    // Through a reference, so that all that share the variable see it.
    ZVAL_DEREF(slot);
    zval old;
    ZVAL_COPY_VALUE(&old, slot);
    ZVAL_COPY_VALUE(slot, value);
    zval_ptr_dtor(&old);
  } else {
    zend_hash_update_ind(&EG(symbol_table), key, value);
  }
  zend_string_release(key);
  return NULL;
}

typedef struct {
  const zend_string *name;
  const zval *value;
} variable;

static int by_name(const void *a, const void *b) {
  const zend_string *left = ((const variable *)a)->name, *right = ((const variable *)b)->name;
  size_t common = ZSTR_LEN(left) < ZSTR_LEN(right) ? ZSTR_LEN(left) : ZSTR_LEN(right);
  int order = memcmp(ZSTR_VAL(left), ZSTR_VAL(right), common);
  return order ? order : (ZSTR_LEN(left) > ZSTR_LEN(right)) - (ZSTR_LEN(left) < ZSTR_LEN(right));
}

static void write_variable(const variable *v, const bounds *limits, text *out) {
  size_t length;
  const zval *value = v->value;
  ZVAL_DEREF(value);
  const char *class = describe_class(value, &length);
  text about = {0};
  describe_short(value, &about);
  text_string(out, "{\"name\":");
  text_quoted(out, ZSTR_VAL(v->name), ZSTR_LEN(v->name), 256);
  text_string(out, ",\"type\":");
  text_quoted(out, class, length, 256);
  text_string(out, ",\"summary\":");
  text_quoted(out, about.bytes ? about.bytes : "", about.length,
              limits->string_bytes < LONGEST_SUMMARY ? limits->string_bytes : LONGEST_SUMMARY);
  text_add(out, "}", 1);
  text_free(&about);
}

void vars_list(const bounds *limits, text *out) {
  variable *list = malloc((zend_hash_num_elements(&EG(symbol_table)) + 1) * sizeof *list);
  size_t count = 0;
  zend_string *name;
  zval *value;
  if (list) {
    ZEND_HASH_FOREACH_STR_KEY_VAL_IND(&EG(symbol_table), name, value) {
      if (!name || Z_TYPE_P(value) == IS_UNDEF || is_own(ZSTR_VAL(name), ZSTR_LEN(name))) continue;
      list[count++] = (variable){name, value};
    }
    ZEND_HASH_FOREACH_END();
    qsort(list, count, sizeof *list, by_name);
  }
  text_add(out, "[", 1);
  for (size_t i = 0; i < count; i++) {
    size_t before = out->length;
    if (i) text_add(out, ",", 1);
    write_variable(&list[i], limits, out);
    if (out->length + 1 > limits->total_bytes) {
      out->length = before;
      break;
    }
  }
  text_add(out, "]", 1);
  free(list);
}
