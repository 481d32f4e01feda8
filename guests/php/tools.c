// The functions of the host as methods: `tools()->SERVER->TOOL(argument: value)` calls `SERVER.TOOL`.
#include "tools.h"

#include <string.h>

#include "zend_exceptions.h"

typedef struct {
  // What was named so far, with dots between the names; empty in what `tools()` gives.
  zend_string *path;
  zend_object object;
} tools_object;

static zend_class_entry *tools_class;
static zend_object_handlers handlers;

static tools_object *of(zend_object *object) { return (tools_object *)((char *)object - offsetof(tools_object, object)); }

static zend_object *create(zend_class_entry *kind) {
  tools_object *made = zend_object_alloc(sizeof *made, kind);
  made->path = ZSTR_EMPTY_ALLOC();
  zend_object_std_init(&made->object, kind);
  return &made->object;
}

static void release(zend_object *object) {
  zend_string_release(of(object)->path);
  zend_object_std_dtor(object);
}

// The path to what is named in it.
static zend_string *below(zend_object *object, zend_string *name) {
  const zend_string *path = of(object)->path;
  if (!ZSTR_LEN(path)) return zend_string_copy(name);
  return zend_string_concat3(ZSTR_VAL(path), ZSTR_LEN(path), ".", 1, ZSTR_VAL(name), ZSTR_LEN(name));
}

static zval *read_property(zend_object *object, zend_string *name, int, void **, zval *value) {
  zend_object *made = create(tools_class);
  of(made)->path = below(object, name);
  ZVAL_OBJ(value, made);
  return value;
}

static zval *write_property(zend_object *, zend_string *, zval *, void **) {
  zend_throw_error(NULL, "tools cannot be changed");
  return &EG(error_zval);
}

static void unset_property(zend_object *object, zend_string *name, void **slot) { write_property(object, name, NULL, slot); }

static int has_property(zend_object *, zend_string *, int, void **) { return true; }

static zval *property_place(zend_object *, zend_string *, int, void **) { return NULL; }

// What a dump shows.
static HashTable *debug_info(zend_object *object, int *is_temporary) {
  *is_temporary = true;
  HashTable *shown = zend_new_array(1);
  zval name;
  ZVAL_STR_COPY(&name, of(object)->path);
  zend_hash_str_add_new(shown, ZEND_STRL("name"), &name);
  return shown;
}

// The argument that the only one by position stands for, where a tool has such a one.
static const char *named(const zend_string *tool) {
  if (zend_string_equals_literal(tool, "search")) return "text";
  return zend_string_equals_literal(tool, "describe") ? "name" : NULL;
}

static void refuse(const zend_string *tool, bool has_text) {
  const char *name = ZSTR_VAL(tool);
  if (has_text) zend_type_error("%.100s takes one string: write ('text')", name);
  else zend_type_error("%.100s takes its arguments by name: write (argument: value), or (['argument' => value])", name);
}

// The arguments by their names, to be released. NULL: an exception is pending.
static zend_array *by_name(const zend_string *tool, zend_array *given) {
  zval *positional = zend_hash_index_find(given, 0);
  if (!positional) {
    GC_TRY_ADDREF(given);
    return given;
  }
  const char *name = named(tool);
  bool is_array = Z_TYPE_P(positional) == IS_ARRAY, is_text = name && Z_TYPE_P(positional) == IS_STRING;
  if (zend_hash_index_exists(given, 1) || !(is_array || is_text)) {
    refuse(tool, name);
    return NULL;
  }
  zend_array *arguments = is_array ? zend_array_dup(Z_ARR_P(positional)) : zend_new_array(2);
  if (is_text) {
    Z_TRY_ADDREF_P(positional);
    zend_hash_str_add_new(arguments, name, strlen(name), positional);
  }
  zend_string *key;
  zval *value;
  ZEND_HASH_FOREACH_STR_KEY_VAL(given, key, value) {
    if (!key) continue;
    Z_TRY_ADDREF_P(value);
    zend_hash_update(arguments, key, value);
  }
  ZEND_HASH_FOREACH_END();
  return arguments;
}

static ZEND_METHOD(Tools, __call) {
  zend_string *name;
  zend_array *given;
  ZEND_PARSE_PARAMETERS_START(2, 2)
    Z_PARAM_STR(name)
    Z_PARAM_ARRAY_HT(given)
  ZEND_PARSE_PARAMETERS_END();
  zend_string *tool = below(Z_OBJ_P(ZEND_THIS), name);
  zend_array *arguments = by_name(tool, given);
  if (arguments) {
    tool_call(tool, arguments, return_value);
    zend_array_release(arguments);
  }
  zend_string_release(tool);
}

ZEND_FUNCTION(tools) {
  ZEND_PARSE_PARAMETERS_NONE();
  RETURN_OBJ(create(tools_class));
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arguments_of_call, 0, 2, IS_MIXED, 0)
  ZEND_ARG_TYPE_INFO(0, tool, IS_STRING, 0)
  ZEND_ARG_TYPE_INFO(0, arguments, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry methods[] = {ZEND_ME(Tools, __call, arguments_of_call, ZEND_ACC_PUBLIC) ZEND_FE_END};

void tools_start(void) {
  zend_class_entry definition;
  INIT_NS_CLASS_ENTRY(definition, "Dormouse", "Tools", methods);
  tools_class = zend_register_internal_class(&definition);
  tools_class->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
  tools_class->create_object = create;
  tools_class->default_object_handlers = &handlers;
  handlers = std_object_handlers;
  handlers.offset = offsetof(tools_object, object);
  handlers.free_obj = release;
  handlers.clone_obj = NULL;
  handlers.read_property = read_property;
  handlers.write_property = write_property;
  handlers.has_property = has_property;
  handlers.unset_property = unset_property;
  handlers.get_property_ptr_ptr = property_place;
  handlers.get_debug_info = debug_info;
  handlers.compare = zend_objects_not_comparable;
}
