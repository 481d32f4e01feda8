// What the host offers to a snippet: `call_tool(name, arguments)`, the exception `ToolError`, and the list of the other functions.
#include "tools.h"

#include "ext/json/php_json.h"
#include "ext/spl/spl_exceptions.h"
#include "zend_exceptions.h"
#include "zend_smart_str.h"

// Levels of arrays in a tool's answer.
#define DEPTH 512

static zend_class_entry *tool_error;
static char too_deep[] = "the tool's answer is nested too deep";
const guest_string_t tool_too_deep = {(uint8_t *)too_deep, sizeof too_deep - 1};

static int start(int type, int number) {
  (void)type, (void)number;
  zend_class_entry definition;
  INIT_CLASS_ENTRY(definition, "ToolError", NULL);
  tool_error = zend_register_internal_class_ex(&definition, spl_ce_RuntimeException);
  tools_start();
  return SUCCESS;
}

static bool write_members(smart_str *json, const zend_array *arguments) {
  zend_ulong index;
  zend_string *name;
  zval *value;
  bool first = true;
  ZEND_HASH_FOREACH_KEY_VAL(arguments, index, name, value) {
    zval key;
    if (name) ZVAL_STR_COPY(&key, name);
    else ZVAL_STR(&key, zend_long_to_str((zend_long)index));
    if (!first) smart_str_appendc(json, ',');
    first = false;
    bool done = php_json_encode(json, &key, 0) == SUCCESS;
    zval_ptr_dtor(&key);
    if (!done) return false;
    smart_str_appendc(json, ':');
    php_json_encode(json, value, PHP_JSON_PRESERVE_ZERO_FRACTION);
    // Of a number that is none it writes 0, and notes that only here.
    if (JSON_G(error_code) || EG(exception)) return false;
  }
  ZEND_HASH_FOREACH_END();
  return true;
}

zend_string *tool_write(zend_array *arguments) {
  smart_str json = {0};
  smart_str_appendc(&json, '{');
  // Held, because code of the user's runs meanwhile.
  if (arguments) GC_TRY_ADDREF(arguments);
  bool done = !arguments || write_members(&json, arguments);
  if (arguments) zend_array_release(arguments);
  if (!done) {
    smart_str_free(&json);
    return NULL;
  }
  smart_str_appendc(&json, '}');
  return smart_str_extract(&json);
}

bool tool_read(const guest_string_t *answer, zval *value) {
  // PHP's reader wants a NUL byte after the text.
  zend_string *text = zend_string_init((const char *)answer->ptr, answer->len, 0);
  bool done = php_json_decode_ex(value, ZSTR_VAL(text), ZSTR_LEN(text), PHP_JSON_OBJECT_AS_ARRAY, DEPTH) == SUCCESS;
  zend_string_release(text);
  return done;
}

void tool_fail(const guest_string_t *why) {
  zend_string *message = zend_string_init((const char *)why->ptr, why->len, 0);
  zend_throw_exception(tool_error, ZSTR_VAL(message), 0);
  zend_string_release(message);
}

void tool_call(zend_string *name, zend_array *arguments, zval *value) {
  if (!text_is_utf8(ZSTR_VAL(name), ZSTR_LEN(name))) {
    zend_argument_value_error(1, "must be valid UTF-8");
    return;
  }
  zend_string *json = tool_write(arguments);
  if (!json) {
    if (!EG(exception)) zend_argument_value_error(2, "must hold only what JSON can say");
    return;
  }
  guest_string_t texts[] = {{(uint8_t *)ZSTR_VAL(name), ZSTR_LEN(name)}, {(uint8_t *)ZSTR_VAL(json), ZSTR_LEN(json)}};
  guest_string_t answer = {0};
  bool done = dormouse_sandbox_host_call_tool(&texts[0], &texts[1], &answer, &answer);
  zend_string_release(json);
  if (!done) tool_fail(&answer);
  else if (!tool_read(&answer, value)) tool_fail(&tool_too_deep);
  guest_string_free(&answer);
}

static ZEND_FUNCTION(call_tool) {
  zend_string *name;
  zend_array *arguments = NULL;
  ZEND_PARSE_PARAMETERS_START(1, 2)
    Z_PARAM_STR(name)
    Z_PARAM_OPTIONAL
    Z_PARAM_ARRAY_HT(arguments)
  ZEND_PARSE_PARAMETERS_END();
  tool_call(name, arguments, return_value);
}

ZEND_BEGIN_ARG_INFO_EX(arguments_of_call_tool, 0, 0, 1)
  ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
  ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, arguments, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arguments_of_call_tools, 0, 1, IS_ARRAY, 0)
  ZEND_ARG_TYPE_INFO(0, calls, IS_ARRAY, 0)
  ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, settle, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arguments_of_tools, 0, 0, Dormouse\\Tools, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry functions[] = {
    ZEND_FE(call_tool, arguments_of_call_tool)
    ZEND_FE(call_tools, arguments_of_call_tools)
    ZEND_FE(tools, arguments_of_tools)
    ZEND_FE_END
};

zend_module_entry tool_module = {
    STANDARD_MODULE_HEADER, "dormouse", functions, start, NULL, NULL, NULL, NULL, NO_VERSION_YET,
    STANDARD_MODULE_PROPERTIES,
};
