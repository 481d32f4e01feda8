// What the host offers to a snippet: `call_tool(name, arguments)` and the exception `ToolError`.
#include "guest_php.h"

#include "ext/json/php_json.h"
#include "ext/spl/spl_exceptions.h"
#include "zend_exceptions.h"
#include "zend_smart_str.h"

// Levels of arrays in a tool's answer.
#define DEPTH 512

static zend_class_entry *tool_error;

static int start(int type, int number) {
  (void)type, (void)number;
  zend_class_entry definition;
  INIT_CLASS_ENTRY(definition, "ToolError", NULL);
  tool_error = zend_register_internal_class_ex(&definition, spl_ce_RuntimeException);
  return SUCCESS;
}

ZEND_BEGIN_ARG_INFO_EX(arguments_of_call_tool, 0, 0, 1)
  ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
  ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, arguments, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

// The arguments as an object, whatever their keys are. False: an exception is pending.
static bool write_arguments(smart_str *json, const zend_array *arguments) {
  zend_ulong index;
  zend_string *name;
  zval *value;
  bool first = true;
  smart_str_appendc(json, '{');
  if (arguments) {
    ZEND_HASH_FOREACH_KEY_VAL(arguments, index, name, value) {
      zval key;
      if (name) ZVAL_STR_COPY(&key, name);
      else ZVAL_STR(&key, zend_long_to_str((zend_long)index));
      if (!first) smart_str_appendc(json, ',');
      first = false;
      if (php_json_encode(json, &key, 0) == SUCCESS) {
        smart_str_appendc(json, ':');
        php_json_encode(json, value, PHP_JSON_PRESERVE_ZERO_FRACTION);
      }
      zval_ptr_dtor(&key);
      if (JSON_G(error_code) && !EG(exception)) zend_argument_value_error(2, "must hold only what JSON can say");
      if (EG(exception)) return false;
    }
    ZEND_HASH_FOREACH_END();
  }
  smart_str_appendc(json, '}');
  return true;
}

static ZEND_FUNCTION(call_tool) {
  zend_string *name;
  zend_array *arguments = NULL;
  ZEND_PARSE_PARAMETERS_START(1, 2)
    Z_PARAM_STR(name)
    Z_PARAM_OPTIONAL
    Z_PARAM_ARRAY_HT(arguments)
  ZEND_PARSE_PARAMETERS_END();
  if (!text_is_utf8(ZSTR_VAL(name), ZSTR_LEN(name))) {
    zend_argument_value_error(1, "must be valid UTF-8");
    RETURN_THROWS();
  }
  smart_str json = {0};
  if (!write_arguments(&json, arguments)) {
    smart_str_free(&json);
    RETURN_THROWS();
  }
  smart_str_0(&json);
  guest_string_t texts[] = {{(uint8_t *)ZSTR_VAL(name), ZSTR_LEN(name)}, {(uint8_t *)ZSTR_VAL(json.s), ZSTR_LEN(json.s)}};
  guest_string_t answer = {0};
  bool done = dormouse_sandbox_host_call_tool(&texts[0], &texts[1], &answer, &answer);
  smart_str_free(&json);
  zend_string *told = zend_string_init((const char *)answer.ptr, answer.len, 0);
  guest_string_free(&answer);
  if (!done) zend_throw_exception(tool_error, ZSTR_VAL(told), 0);
  else if (php_json_decode_ex(return_value, ZSTR_VAL(told), ZSTR_LEN(told), PHP_JSON_OBJECT_AS_ARRAY, DEPTH) == FAILURE) {
    zend_throw_exception(tool_error, "the tool's answer is nested too deep", 0);
  }
  zend_string_release(told);
}

static const zend_function_entry functions[] = {ZEND_FE(call_tool, arguments_of_call_tool) ZEND_FE_END};

zend_module_entry tool_module = {
    STANDARD_MODULE_HEADER, "dormouse", functions, start, NULL, NULL, NULL, NULL, NO_VERSION_YET,
    STANDARD_MODULE_PROPERTIES,
};
