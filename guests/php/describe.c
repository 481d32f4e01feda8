// Names of classes and short texts, made without running anything of the user's.
#include "guest_php.h"

#include <string.h>

#include "snprintf.h"
#include "zend_closures.h"
#include "zend_enum.h"

// Keys that a short text names.
#define FEW 8

const char *describe_class(const zval *value, size_t *length) {
  const char *name;
  if (Z_TYPE_P(value) != IS_OBJECT) {
    name = zend_zval_value_name(value);
    if (Z_TYPE_P(value) == IS_RESOURCE) name = "resource";
    *length = strlen(name);
    return name;
  }
  const zend_string *class = Z_OBJCE_P(value)->name;
  // `class@anonymous` goes on with a NUL byte and its place in memory.
  *length = strnlen(ZSTR_VAL(class), ZSTR_LEN(class));
  return ZSTR_VAL(class);
}

void describe_closure(zend_object *closure, text *out) {
  zval holder;
  ZVAL_OBJ(&holder, closure);
  const zend_function *function = zend_get_closure_method_def(closure);
  const zend_string *name = function->common.function_name;
  if (name) text_add(out, ZSTR_VAL(name), text_prefix(ZSTR_VAL(name), ZSTR_LEN(name), 200));
  text_string(out, "(");
  uint32_t count = function->common.num_args;
  if (function->common.fn_flags & ZEND_ACC_VARIADIC) count++;
  for (uint32_t i = 0; i < count; i++) {
    if (i) text_string(out, ", ");
    if (i == function->common.num_args) text_string(out, "...");
    text_string(out, "$");
    if (function->type == ZEND_INTERNAL_FUNCTION) {
      text_string(out, ((zend_internal_arg_info *)function->common.arg_info)[i].name);
    } else {
      const zend_string *argument = function->common.arg_info[i].name;
      text_add(out, ZSTR_VAL(argument), ZSTR_LEN(argument));
    }
  }
  text_string(out, ")");
}

static void describe_keys(const zend_array *array, text *out) {
  uint32_t shown = 0;
  zend_string *key;
  text_string(out, " {");
  ZEND_HASH_FOREACH_STR_KEY(array, key) {
    // Names of properties that are not public begin with a NUL byte.
    if (!key || !ZSTR_VAL(key)[0]) continue;
    if (shown == FEW) {
      text_string(out, ", ...");
      break;
    }
    if (shown++) text_string(out, ", ");
    text_add(out, ZSTR_VAL(key), text_prefix(ZSTR_VAL(key), ZSTR_LEN(key), 40));
  }
  ZEND_HASH_FOREACH_END();
  text_string(out, "}");
}

static void describe_properties(zend_object *object, text *out) {
  uint32_t shown = 0;
  text_string(out, " {");
  zend_property_info *info;
  ZEND_HASH_FOREACH_PTR(&object->ce->properties_info, info) {
    if (!(info->flags & ZEND_ACC_PUBLIC) || info->flags & ZEND_ACC_STATIC) continue;
    if (shown == FEW) {
      text_string(out, ", ...");
      break;
    }
    if (shown++) text_string(out, ", ");
    text_add(out, ZSTR_VAL(info->name), text_prefix(ZSTR_VAL(info->name), ZSTR_LEN(info->name), 40));
  }
  ZEND_HASH_FOREACH_END();
  text_string(out, "}");
}

void describe_short(const zval *value, text *out) {
  ZVAL_DEREF(value);
  size_t length;
  const char *class = describe_class(value, &length);
  switch (Z_TYPE_P(value)) {
    case IS_UNDEF:
    case IS_NULL:
      text_string(out, "null");
      break;
    case IS_FALSE:
      text_string(out, "false");
      break;
    case IS_TRUE:
      text_string(out, "true");
      break;
    case IS_LONG:
      text_format(out, ZEND_LONG_FMT, Z_LVAL_P(value));
      break;
    case IS_DOUBLE: {
      char digits[ZEND_DOUBLE_MAX_LENGTH];
      ap_php_snprintf(digits, sizeof digits, "%.*H", -1, Z_DVAL_P(value));
      text_string(out, digits);
      break;
    }
    case IS_STRING: {
      size_t shown = text_prefix(Z_STRVAL_P(value), Z_STRLEN_P(value), 200);
      text_add(out, "'", 1);
      text_add(out, Z_STRVAL_P(value), shown);
      text_string(out, shown < Z_STRLEN_P(value) ? "...'" : "'");
      break;
    }
    case IS_ARRAY:
      text_format(out, "array(%u)", zend_hash_num_elements(Z_ARRVAL_P(value)));
      if (!zend_array_is_list(Z_ARRVAL_P(value))) describe_keys(Z_ARRVAL_P(value), out);
      break;
    case IS_RESOURCE:
      text_format(out, "resource(%lld)", (long long)Z_RES_HANDLE_P(value));
      break;
    default:
      if (Z_TYPE_P(value) != IS_OBJECT) break;
      if (Z_OBJCE_P(value) == zend_ce_closure) {
        describe_closure(Z_OBJ_P(value), out);
        break;
      }
      text_add(out, class, length);
      if (Z_OBJCE_P(value)->ce_flags & ZEND_ACC_ENUM) {
        text_string(out, "::");
        text_string(out, Z_STRVAL_P(zend_enum_fetch_case_name(Z_OBJ_P(value))));
      } else if (Z_OBJ_P(value)->properties) {
        describe_keys(Z_OBJ_P(value)->properties, out);
      } else {
        describe_properties(Z_OBJ_P(value), out);
      }
  }
}
