// Typed values (docs/values.md), written within bounds while the value is walked. Generators, `__debugInfo` and
// `__toString` run the user's code; what they throw is shown in the value's place.
#include "guest_php.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "snprintf.h"
#include "zend_closures.h"
#include "zend_enum.h"
#include "zend_exceptions.h"
#include "zend_generators.h"
#include "zend_interfaces.h"

// Largest integer that every reader of JSON gets exactly.
#define SAFE_INTEGER 9007199254740991

// Bytes of a property name, key or class.
#define LONGEST_KEY 256

// Room kept for the marker that replaces what does not fit, and for the end of each open container.
#define MARKER_ROOM 160
#define END_ROOM 96

// Containers that are being encoded, from the innermost outwards.
struct open {
  const void *container;
  uint32_t id;
  struct open *outer;
};

typedef struct {
  const bounds *limits;
  text *out;
  struct open *open;
  // Bytes that open containers will still need.
  size_t reserved;
  // The text is as long as it may be; what is left is left out.
  bool full;
  uint32_t last_id;
  // Objects that have an id. They are kept alive, so that none is mistaken for another at the same address.
  zend_object **named;
  uint32_t *ids;
  size_t named_count, named_room;
} encoder;

static void encode(encoder *e, zval *value, uint32_t level);

static bool over(const encoder *e) { return e->out->length + e->reserved > e->limits->total_bytes; }

static uint32_t id_of(encoder *e, zend_object *object) {
  for (size_t i = e->named_count; i-- > 0;) {
    if (e->named[i] == object) return e->ids[i];
  }
  if (e->named_count == e->named_room) {
    size_t room = e->named_room ? e->named_room * 2 : 16;
    void *named = realloc(e->named, room * sizeof *e->named);
    if (named) e->named = named;
    void *ids = realloc(e->ids, room * sizeof *e->ids);
    if (ids) e->ids = ids;
    if (!named || !ids) return ++e->last_id;
    e->named_room = room;
  }
  GC_ADDREF(object);
  e->named[e->named_count] = object;
  return e->ids[e->named_count++] = ++e->last_id;
}

static void write_class(encoder *e, const zval *value, size_t limit) {
  size_t length;
  const char *class = describe_class(value, &length);
  text_string(e->out, ",\"class\":");
  text_quoted(e->out, class, length, limit);
}

static void write_unknown(encoder *e, const zval *value, const char *reason, size_t length, size_t class_limit) {
  text_string(e->out, "{\"type\":\"unknown\"");
  write_class(e, value, class_limit);
  text_string(e->out, ",\"reason\":");
  text_quoted(e->out, reason, length, LONGEST_KEY);
  text_add(e->out, "}", 1);
}

// The exception that the value's own code threw, as the value's place. `exit` stays pending and ends it all.
static void write_raised(encoder *e, const zval *value) {
  text reason = {0};
  zend_object *thrown = EG(exception);
  if (thrown && (zend_is_unwind_exit(thrown) || zend_is_graceful_exit(thrown))) {
    e->full = true;
    text_string(&reason, "exit");
  } else if (thrown) {
    zval holder, none;
    ZVAL_OBJ(&holder, thrown);
    size_t length;
    const char *class = describe_class(&holder, &length);
    text_add(&reason, class, length);
    zend_class_entry *base = instanceof_function(thrown->ce, zend_ce_exception) ? zend_ce_exception : zend_ce_error;
    const zval *message = zend_read_property_ex(base, thrown, ZSTR_KNOWN(ZEND_STR_MESSAGE), true, &none);
    ZVAL_DEREF(message);
    if (Z_TYPE_P(message) == IS_STRING && Z_STRLEN_P(message)) {
      text_string(&reason, ": ");
      text_add(&reason, Z_STRVAL_P(message), text_prefix(Z_STRVAL_P(message), Z_STRLEN_P(message), 400));
    }
    zend_clear_exception();
  }
  write_unknown(e, value, reason.bytes, reason.length, LONGEST_KEY);
  text_free(&reason);
}

static void write_float(encoder *e, double number) {
  text_string(e->out, "{\"type\":\"float\",\"value\":");
  if (isnan(number)) {
    text_string(e->out, "\"NaN\"");
  } else if (isinf(number)) {
    text_string(e->out, number < 0 ? "\"-Infinity\"" : "\"Infinity\"");
  } else if (number == 0 && signbit(number)) {
    text_string(e->out, "\"-0\"");
  } else {
    char digits[ZEND_DOUBLE_MAX_LENGTH];
    ap_php_snprintf(digits, sizeof digits, "%.*H", -1, number);
    text_string(e->out, digits);
    if (!strpbrk(digits, ".E")) text_string(e->out, ".0");
  }
  text_add(e->out, "}", 1);
}

// Text, or bytes when it is no text.
static void write_string(encoder *e, const zend_string *string) {
  size_t length = ZSTR_LEN(string), limit = e->limits->string_bytes;
  if (text_is_utf8(ZSTR_VAL(string), length)) {
    text_string(e->out, "{\"type\":\"string\",\"value\":");
    if (!text_quoted(e->out, ZSTR_VAL(string), length, limit)) text_format(e->out, ",\"truncated\":true,\"length\":%zu", length);
    text_add(e->out, "}", 1);
    return;
  }
  size_t shown = length < limit ? length : limit;
  text_string(e->out, "{\"type\":\"bytes\",\"value\":\"");
  text_base64(e->out, (const uint8_t *)ZSTR_VAL(string), shown);
  text_format(e->out, "\",\"length\":%zu%s}", length, shown < length ? ",\"truncated\":true" : "");
}

// One item of a container, with its comma and its key if it has one; false when it had to be left out.
static bool write_item(encoder *e, bool first, const zend_string *key, zend_ulong index, bool keyed, zval *value,
                       uint32_t level) {
  size_t before = e->out->length;
  if (!first) text_add(e->out, ",", 1);
  if (keyed) {
    if (key) text_quoted(e->out, ZSTR_VAL(key), ZSTR_LEN(key), LONGEST_KEY);
    else text_format(e->out, "\"" ZEND_LONG_FMT "\"", (zend_long)index);
    text_add(e->out, ":", 1);
  }
  encode(e, value, level + 1);
  if (over(e)) e->full = true;
  if (!e->full || !over(e)) return true;
  e->out->length = before;
  return false;
}

// The shown entries of a table, with those left out that are not public. Gives the number of all that could be shown.
// The table must not change while its entries are encoded: it is the caller's own or its reference is held.
static uint32_t write_table(encoder *e, zend_array *table, bool keyed, bool properties, uint32_t level, bool *whole) {
  uint32_t skip = level == 1 ? e->limits->offset : 0, count = 0, shown = 0;
  zend_ulong index;
  zend_string *key;
  zval *entry;
  *whole = true;
  ZEND_HASH_FOREACH_KEY_VAL_IND(table, index, key, entry) {
    if (properties && (Z_TYPE_P(entry) == IS_UNDEF || (key && ZSTR_LEN(key) && !ZSTR_VAL(key)[0]))) continue;
    if (count++ < skip) continue;
    if (!*whole) continue;
    if (shown == e->limits->items || e->full || !write_item(e, shown == 0, key, index, keyed, entry, level)) {
      *whole = false;
      continue;
    }
    shown++;
  }
  ZEND_HASH_FOREACH_END();
  if (skip > count) *whole = true;
  return count;
}

static void write_array(encoder *e, zend_array *array, uint32_t level, bool opened) {
  bool list = zend_array_is_list(array), whole = false;
  text_format(e->out, "{\"type\":\"array\",\"is_list\":%s,\"count\":%u", list ? "true" : "false",
              zend_hash_num_elements(array));
  if (opened) {
    text_string(e->out, list ? ",\"value\":[" : ",\"value\":{");
    write_table(e, array, !list, false, level, &whole);
    text_string(e->out, list ? "]" : "}");
  }
  if (!whole || e->full) text_string(e->out, ",\"truncated\":true");
  text_add(e->out, "}", 1);
}

// What `count()` says of an object that knows.
static bool size_of(zval *object, zend_long *size) {
  if (Z_OBJ_HT_P(object)->count_elements) {
    if (Z_OBJ_HT_P(object)->count_elements(Z_OBJ_P(object), size) == SUCCESS && !EG(exception)) return true;
  } else if (instanceof_function(Z_OBJCE_P(object), zend_ce_countable)) {
    zval answer;
    ZVAL_UNDEF(&answer);
    zend_call_method_with_0_params(Z_OBJ_P(object), Z_OBJCE_P(object), NULL, "count", &answer);
    bool told = !EG(exception) && Z_TYPE(answer) == IS_LONG;
    if (told) *size = Z_LVAL(answer);
    zval_ptr_dtor(&answer);
    if (told) return true;
  }
  if (EG(exception) && !zend_is_unwind_exit(EG(exception))) zend_clear_exception();
  return false;
}

// Gives the number of items that were taken, shown or not.
static uint32_t write_preview(encoder *e, zval *object, uint32_t level, bool *exhausted) {
  zend_object_iterator *iterator = Z_OBJCE_P(object)->get_iterator(Z_OBJCE_P(object), object, 0);
  if (!iterator || EG(exception)) {
    if (iterator) zend_iterator_dtor(iterator);
    return 0;
  }
  uint32_t skip = level == 1 ? e->limits->offset : 0, shown = 0, taken = 0;
  // A generator that has begun cannot be rewound; it goes on where it is.
  bool rewind = iterator->funcs->rewind && !(Z_OBJCE_P(object) == zend_ce_generator);
  if (rewind) iterator->funcs->rewind(iterator);
  while (!EG(exception) && !e->full && shown < e->limits->items) {
    if (iterator->funcs->valid(iterator) != SUCCESS) {
      *exhausted = !EG(exception);
      break;
    }
    zval *item = EG(exception) ? NULL : iterator->funcs->get_current_data(iterator);
    if (EG(exception) || !item) break;
    taken++;
    if (skip) {
      skip--;
    } else {
      zval copy;
      ZVAL_COPY_DEREF(&copy, item);
      if (!write_item(e, shown == 0, NULL, 0, false, &copy, level)) e->full = true;
      zval_ptr_dtor(&copy);
      shown++;
    }
    if (EG(exception)) break;
    // A full preview does not ask for one more item: that would consume what is not shown.
    if (shown == e->limits->items) break;
    iterator->funcs->move_forward(iterator);
  }
  zend_iterator_dtor(iterator);
  return taken;
}

static void write_iterable(encoder *e, zval *object, uint32_t level, bool opened) {
  size_t before = e->out->length;
  zend_long size = 0;
  bool sized = size_of(object, &size), exhausted = false;
  text_string(e->out, "{\"type\":\"iterable\"");
  write_class(e, object, LONGEST_KEY);
  if (opened) {
    text_string(e->out, ",\"preview\":[");
    uint32_t seen = write_preview(e, object, level, &exhausted);
    exhausted |= sized && seen >= size;
    if (EG(exception)) {
      e->out->length = before;
      write_raised(e, object);
      return;
    }
    text_format(e->out, "],\"exhausted\":%s", exhausted && !e->full ? "true" : "false");
  } else {
    text_string(e->out, ",\"exhausted\":false");
  }
  if (sized && size >= 0) text_format(e->out, ",\"size_hint\":" ZEND_LONG_FMT, size);
  text_string(e->out, opened ? "}" : ",\"truncated\":true}");
}

// What an object says of itself.
static void write_text(encoder *e, zval *object) {
  text said = {0};
  if (Z_OBJCE_P(object) == zend_ce_closure) {
    describe_closure(Z_OBJ_P(object), &said);
  } else if (Z_OBJCE_P(object)->ce_flags & ZEND_ACC_ENUM) {
    describe_short(object, &said);
  } else if (Z_OBJCE_P(object)->__tostring) {
    zval string;
    ZVAL_UNDEF(&string);
    zend_call_known_instance_method_with_0_params(Z_OBJCE_P(object)->__tostring, Z_OBJ_P(object), &string);
    if (!EG(exception) && Z_TYPE(string) == IS_STRING) text_add(&said, Z_STRVAL(string), Z_STRLEN(string));
    zval_ptr_dtor(&string);
    if (EG(exception)) {
      if (!zend_is_unwind_exit(EG(exception))) zend_clear_exception();
      text_free(&said);
      return;
    }
  } else {
    return;
  }
  size_t before = e->out->length;
  text_string(e->out, ",\"repr\":");
  text_quoted(e->out, said.bytes ? said.bytes : "", said.length, e->limits->string_bytes);
  // A text that is too long is dropped, not cut to pieces.
  if (over(e)) e->out->length = before;
  text_free(&said);
}

// Whether the user has written a `__debugInfo` for the class.
static bool has_own_info(const zend_class_entry *class) {
  return class->__debugInfo && class->__debugInfo->type == ZEND_USER_FUNCTION;
}

// The properties to show, to be released; NULL: there are none, or an exception is pending.
static zend_array *properties_of(zval *object) {
  if (!has_own_info(Z_OBJCE_P(object))) return zend_get_properties_for(object, ZEND_PROP_PURPOSE_DEBUG);
  // Called from here, because PHP makes a fatal error of an exception in it.
  zval told;
  ZVAL_UNDEF(&told);
  zend_call_known_instance_method_with_0_params(Z_OBJCE_P(object)->__debugInfo, Z_OBJ_P(object), &told);
  if (!EG(exception) && Z_TYPE(told) == IS_ARRAY) return Z_ARR(told);
  if (!EG(exception) && Z_TYPE(told) != IS_NULL) zend_type_error("__debugInfo() must return an array");
  zval_ptr_dtor(&told);
  return NULL;
}

static void write_object(encoder *e, zval *object, uint32_t level, bool opened) {
  bool bare = Z_OBJCE_P(object) == zend_ce_closure, whole = bare;
  zend_array *properties = NULL;
  if (opened && !bare) {
    properties = properties_of(object);
    if (EG(exception)) {
      zend_release_properties(properties);
      write_raised(e, object);
      return;
    }
  }
  text_string(e->out, "{\"type\":\"object\"");
  write_class(e, object, LONGEST_KEY);
  text_format(e->out, ",\"id\":%u", id_of(e, Z_OBJ_P(object)));
  if (opened && !bare) {
    text_string(e->out, ",\"properties\":{");
    whole = true;
    if (properties) write_table(e, properties, true, true, level, &whole);
    text_add(e->out, "}", 1);
  }
  zend_release_properties(properties);
  if ((opened || bare) && !e->full) write_text(e, object);
  text_string(e->out, whole && !e->full ? "}" : ",\"truncated\":true}");
}

static bool is_iterable(const zval *object) {
  const zend_class_entry *class = Z_OBJCE_P(object);
  return class->get_iterator && instanceof_function(class, zend_ce_traversable) && !has_own_info(class);
}

static void write_container(encoder *e, zval *value, uint32_t level) {
  bool array = Z_TYPE_P(value) == IS_ARRAY;
  const void *container = array ? (const void *)Z_ARR_P(value) : Z_OBJ_P(value);
  for (struct open *open = e->open; open; open = open->outer) {
    if (open->container != container) continue;
    if (!open->id) open->id = array ? ++e->last_id : id_of(e, Z_OBJ_P(value));
    text_string(e->out, "{\"type\":\"reference\"");
    write_class(e, value, LONGEST_KEY);
    text_format(e->out, ",\"id\":%u}", open->id);
    return;
  }
  struct open self = {.container = container, .outer = e->open};
  e->open = &self;
  e->reserved += END_ROOM;
  bool opened = level <= e->limits->depth, object = false;
  if (array) {
    // Held, so that code of the user's cannot change it under the walk.
    zval held;
    ZVAL_COPY(&held, value);
    write_array(e, Z_ARR(held), level, opened);
    zval_ptr_dtor(&held);
  } else if (is_iterable(value)) {
    write_iterable(e, value, level, opened);
  } else {
    object = true;
    write_object(e, value, level, opened);
  }
  e->reserved -= END_ROOM;
  e->open = self.outer;
  // Something inside refers back to it. An object has said its id already.
  if (self.id && !object && e->out->length && e->out->bytes[e->out->length - 1] == '}') {
    e->out->length--;
    text_format(e->out, ",\"id\":%u}", self.id);
  }
}

static void encode(encoder *e, zval *value, uint32_t level) {
  ZVAL_DEREF(value);
  size_t before = e->out->length;
  if (e->out->length + e->reserved + MARKER_ROOM > e->limits->total_bytes) e->full = true;
  if (!e->full) {
    switch (Z_TYPE_P(value)) {
      case IS_UNDEF:
      case IS_NULL:
        text_string(e->out, "{\"type\":\"null\",\"value\":null}");
        break;
      case IS_FALSE:
      case IS_TRUE:
        text_format(e->out, "{\"type\":\"bool\",\"value\":%s}", Z_TYPE_P(value) == IS_TRUE ? "true" : "false");
        break;
      case IS_LONG: {
        zend_long number = Z_LVAL_P(value);
        const char *quote = number >= -SAFE_INTEGER && number <= SAFE_INTEGER ? "" : "\"";
        text_format(e->out, "{\"type\":\"int\",\"value\":%s" ZEND_LONG_FMT "%s}", quote, number, quote);
        break;
      }
      case IS_DOUBLE:
        write_float(e, Z_DVAL_P(value));
        break;
      case IS_STRING:
        write_string(e, Z_STR_P(value));
        break;
      case IS_RESOURCE: {
        const char *kind = zend_rsrc_list_get_rsrc_type(Z_RES_P(value));
        text_string(e->out, "{\"type\":\"resource\",\"class\":");
        if (!kind) kind = "closed";
        text_quoted(e->out, kind, strlen(kind), LONGEST_KEY);
        text_format(e->out, ",\"id\":%lld}", (long long)Z_RES_HANDLE_P(value));
        break;
      }
      default:
        write_container(e, value, level);
    }
    // After a value that holds no others there must be room for the marker of the next.
    bool leaf = Z_TYPE_P(value) < IS_ARRAY || Z_TYPE_P(value) == IS_RESOURCE;
    if (!over(e) && (!leaf || e->out->length + e->reserved + MARKER_ROOM <= e->limits->total_bytes)) return;
  }
  // It does not fit, and nothing after it will. Only the first bytes of the class: the marker has to fit.
  e->full = true;
  e->out->length = before;
  static const char reason[] = "value too large";
  write_unknown(e, value, reason, sizeof reason - 1, 40);
}

void encode_value(zval *value, const bounds *limits, text *out) {
  encoder e = {.limits = limits, .out = out};
  encode(&e, value, 1);
  for (size_t i = 0; i < e.named_count; i++) OBJ_RELEASE(e.named[i]);
  free(e.named);
  free(e.ids);
}
