// Typed values (docs/values.md), written within bounds while the value is walked. Nothing here calls JavaScript that a
// snippet could have replaced; what a snippet's own getters, proxies and generators do is caught and shown as such.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "javascript.h"

// Bytes of a property name or key.
#define LONGEST_KEY 256

// Room kept for the marker that replaces what does not fit, and for the end of each open container.
#define MARKER_ROOM 160
#define END_ROOM 96

// Largest integer that every reader of JSON gets exactly.
#define SAFE_INTEGER 9007199254740991

// Objects that are being encoded, from the innermost outwards.
struct open {
  void *object;
  uint32_t id;
  struct open *outer;
};

typedef struct {
  JSContext *ctx;
  const bounds *limits;
  text *out;
  struct open *open;
  // Bytes that open containers will still need.
  size_t reserved;
  // The text is as long as it may be; what is left is left out.
  bool full;
  uint32_t last_id;
  // Objects that have an id. They are kept alive, so that none is mistaken for another at the same address.
  JSValue *named;
  uint32_t *ids;
  size_t named_count, named_room;
} encoder;

static void encode(encoder *e, JSValueConst value, uint32_t level);

static bool over(encoder *e) { return e->out->length + e->reserved > e->limits->total_bytes; }

static uint32_t id_of(encoder *e, JSValueConst object) {
  for (size_t i = e->named_count; i-- > 0;) {
    if (JS_VALUE_GET_PTR(e->named[i]) == JS_VALUE_GET_PTR(object)) return e->ids[i];
  }
  if (e->named_count == e->named_room) {
    size_t room = e->named_room ? e->named_room * 2 : 16;
    JSValue *named = realloc(e->named, room * sizeof *named);
    if (named) e->named = named;
    uint32_t *ids = realloc(e->ids, room * sizeof *ids);
    if (ids) e->ids = ids;
    if (!named || !ids) return ++e->last_id;
    e->named_room = room;
  }
  e->named[e->named_count] = JS_DupValue(e->ctx, object);
  return e->ids[e->named_count++] = ++e->last_id;
}

static void write_class(encoder *e, JSValueConst value) {
  char *class = describe_class(e->ctx, value);
  text_string(e->out, ",\"class\":");
  text_quoted(e->out, class ? class : "", class ? strlen(class) : 0, LONGEST_KEY);
  free(class);
}

// Only the first bytes of the class: the marker has to fit where the value did not.
static void write_too_large(encoder *e, JSValueConst value) {
  char *class = describe_class(e->ctx, value);
  text_string(e->out, "{\"type\":\"unknown\",\"class\":");
  text_quoted(e->out, class ? class : "", class ? strlen(class) : 0, 40);
  text_string(e->out, ",\"reason\":\"value too large\"}");
  free(class);
}

// The exception that the value's own code raised, as the value's place.
static void write_raised(encoder *e, JSValueConst value) {
  JSContext *ctx = e->ctx;
  JSValue thrown = JS_GetException(ctx);
  text_string(e->out, "{\"type\":\"unknown\"");
  write_class(e, value);
  text_string(e->out, ",\"reason\":");
  text reason = {0};
  char *class = describe_class(ctx, thrown);
  text_string(&reason, class ? class : "Error");
  free(class);
  JSValue message = JS_IsError(thrown) ? JS_GetPropertyStr(ctx, thrown, "message") : JS_UNDEFINED;
  size_t length;
  const char *bytes = JS_IsString(message) ? JS_ToCStringLen(ctx, &length, message) : NULL;
  if (bytes) {
    text_string(&reason, ": ");
    text_add(&reason, bytes, text_prefix(bytes, length, 400));
  }
  JS_FreeCString(ctx, bytes);
  JS_FreeValue(ctx, message);
  if (JS_HasException(ctx)) JS_FreeValue(ctx, JS_GetException(ctx));
  JS_FreeValue(ctx, thrown);
  text_quoted(e->out, reason.bytes, reason.length, LONGEST_KEY);
  text_free(&reason);
  text_add(e->out, "}", 1);
}

static void write_number(encoder *e, double number) {
  text *out = e->out;
  if (number == trunc(number) && fabs(number) <= SAFE_INTEGER && !(number == 0 && signbit(number))) {
    text_format(out, "{\"type\":\"int\",\"value\":%lld}", (long long)number);
    return;
  }
  text_string(out, "{\"type\":\"float\",\"value\":");
  if (isnan(number)) {
    text_string(out, "\"NaN\"");
  } else if (isinf(number)) {
    text_string(out, number < 0 ? "\"-Infinity\"" : "\"Infinity\"");
  } else if (number == 0) {
    text_string(out, "\"-0\"");
  } else {
    // JavaScript's shortest form is a JSON number as it is.
    JSValue value = JS_NewFloat64(e->ctx, number);
    const char *digits = JS_ToCString(e->ctx, value);
    text_string(out, digits ? digits : "0");
    JS_FreeCString(e->ctx, digits);
  }
  text_add(out, "}", 1);
}

static void write_big(encoder *e, JSValueConst value) {
  size_t length;
  const char *digits = JS_ToCStringLen(e->ctx, &length, value);
  if (!digits) {
    write_raised(e, value);
    return;
  }
  if (length > e->limits->string_bytes && length > 16) {
    write_too_large(e, value);
  } else {
    long long number = length <= 17 ? strtoll(digits, NULL, 10) : SAFE_INTEGER + 1LL;
    const char *quote = number >= -SAFE_INTEGER && number <= SAFE_INTEGER ? "" : "\"";
    text_string(e->out, "{\"type\":\"int\",\"value\":");
    text_string(e->out, quote);
    text_add(e->out, digits, length);
    text_string(e->out, quote);
    text_string(e->out, ",\"big\":true}");
  }
  JS_FreeCString(e->ctx, digits);
}

static void write_string(encoder *e, JSValueConst value) {
  size_t length;
  const char *bytes = JS_ToCStringLen(e->ctx, &length, value);
  if (!bytes) {
    write_raised(e, value);
    return;
  }
  text_string(e->out, "{\"type\":\"string\",\"value\":");
  if (!text_quoted(e->out, bytes, length, e->limits->string_bytes))
    text_format(e->out, ",\"truncated\":true,\"length\":%zu", length);
  text_add(e->out, "}", 1);
  JS_FreeCString(e->ctx, bytes);
}

static void write_bytes(encoder *e, JSValueConst value) {
  size_t length;
  const uint8_t *bytes = engine_bytes(e->ctx, value, &length);
  size_t shown = length < e->limits->string_bytes ? length : e->limits->string_bytes;
  text_string(e->out, "{\"type\":\"bytes\",\"value\":\"");
  if (bytes) text_base64(e->out, bytes, shown);
  text_format(e->out, "\",\"length\":%zu%s}", length, shown < length ? ",\"truncated\":true" : "");
}

// One item of a container, with its comma; false when it had to be left out.
static bool write_item(encoder *e, bool first, JSValueConst value, uint32_t level) {
  size_t before = e->out->length;
  if (!first) text_add(e->out, ",", 1);
  encode(e, value, level + 1);
  if (!e->full || !over(e)) return true;
  e->out->length = before;
  return false;
}

static bool write_named(encoder *e, bool first, JSAtom name, JSValueConst value, bool raised, uint32_t level) {
  size_t before = e->out->length, length;
  const char *bytes = JS_AtomToCStringLen(e->ctx, &length, name);
  if (!first) text_add(e->out, ",", 1);
  text_quoted(e->out, bytes ? bytes : "", bytes ? length : 0, LONGEST_KEY);
  JS_FreeCString(e->ctx, bytes);
  text_add(e->out, ":", 1);
  if (raised) write_raised(e, value);
  else encode(e, value, level + 1);
  if (over(e)) e->full = true;
  if (!e->full || !over(e)) return true;
  e->out->length = before;
  return false;
}

// The own enumerable properties as `{name: value}`; gives their number and whether all are shown.
static bool write_properties(encoder *e, JSValueConst object, JSPropertyEnum *names, uint32_t count, uint32_t level) {
  uint32_t first = level == 1 && e->limits->offset < count ? e->limits->offset : level == 1 && e->limits->offset ? count : 0;
  uint32_t shown = 0;
  text_add(e->out, "{", 1);
  for (uint32_t i = first; i < count && shown < e->limits->items && !e->full; i++, shown++) {
    JSValue value = JS_GetProperty(e->ctx, object, names[i].atom);
    bool raised = JS_IsException(value);
    bool written = write_named(e, shown == 0, names[i].atom, raised ? object : value, raised, level);
    JS_FreeValue(e->ctx, value);
    if (!written) break;
  }
  text_add(e->out, "}", 1);
  return first + shown >= count && !e->full;
}

static void write_array(encoder *e, JSValueConst array, uint32_t level, bool opened) {
  int64_t count;
  if (JS_GetLength(e->ctx, array, &count) < 0) {
    write_raised(e, array);
    return;
  }
  char *class = describe_class(e->ctx, array);
  text_string(e->out, "{\"type\":\"array\"");
  if (class && strcmp(class, "Array") != 0 && strcmp(class, "Object") != 0) write_class(e, array);
  free(class);
  text_format(e->out, ",\"is_list\":true,\"count\":%lld", (long long)count);
  int64_t first = level == 1 ? e->limits->offset : 0, shown = 0;
  if (opened) {
    text_string(e->out, ",\"value\":[");
    for (int64_t i = first; i < count && shown < e->limits->items && !e->full; i++, shown++) {
      JSValue item = JS_GetPropertyInt64(e->ctx, array, i);
      bool written;
      if (JS_IsException(item)) {
        if (shown) text_add(e->out, ",", 1);
        write_raised(e, array);
        written = true;
      } else {
        written = write_item(e, shown == 0, item, level);
      }
      JS_FreeValue(e->ctx, item);
      if (!written) break;
    }
    text_add(e->out, "]", 1);
  }
  if (!opened || e->full || first + shown < count) text_string(e->out, ",\"truncated\":true");
  text_add(e->out, "}", 1);
}

// The shown entries of a Map or Set, copied before any is encoded: a getter may change the collection.
static uint32_t copy_entries(encoder *e, JSValueConst collection, uint32_t level, JSValue **entries, bool *more) {
  uint32_t skip = level == 1 ? e->limits->offset : 0, count = 0;
  uint32_t size = engine_entry_count(collection);
  uint32_t room = size < e->limits->items ? size : e->limits->items;
  *entries = malloc((room ? room : 1) * 2 * sizeof **entries);
  *more = false;
  if (!*entries) return 0;
  void *cursor = NULL;
  JSValueConst key, value;
  while (engine_entry(collection, &cursor, &key, &value)) {
    if (skip) {
      skip--;
      continue;
    }
    if (count == room) {
      *more = true;
      break;
    }
    (*entries)[2 * count] = JS_DupValue(e->ctx, key);
    (*entries)[2 * count++ + 1] = JS_DupValue(e->ctx, value);
  }
  return count;
}

static void free_entries(encoder *e, JSValue *entries, uint32_t count) {
  for (uint32_t i = 0; i < 2 * count; i++) JS_FreeValue(e->ctx, entries[i]);
  free(entries);
}

static void write_map(encoder *e, JSValueConst map, uint32_t level, bool opened) {
  text_string(e->out, "{\"type\":\"array\"");
  write_class(e, map);
  text_format(e->out, ",\"is_list\":false,\"count\":%u", engine_entry_count(map));
  bool more = true;
  if (opened) {
    JSValue *entries;
    uint32_t count = copy_entries(e, map, level, &entries, &more);
    text_string(e->out, ",\"entries\":[");
    for (uint32_t i = 0; i < count && !e->full; i++) {
      size_t before = e->out->length;
      text_string(e->out, i ? ",[" : "[");
      bool whole = write_item(e, true, entries[2 * i], level) && write_item(e, false, entries[2 * i + 1], level);
      if (whole) text_add(e->out, "]", 1);
      else e->out->length = before;
    }
    text_add(e->out, "]", 1);
    free_entries(e, entries, count);
  }
  if (more || e->full) text_string(e->out, ",\"truncated\":true");
  text_add(e->out, "}", 1);
}

static void begin_iterable(encoder *e, JSValueConst iterable, bool opened) {
  text_string(e->out, "{\"type\":\"iterable\"");
  write_class(e, iterable);
  if (opened) text_string(e->out, ",\"preview\":[");
}

static void write_set(encoder *e, JSValueConst set, uint32_t level, bool opened) {
  uint32_t size = engine_entry_count(set);
  begin_iterable(e, set, opened);
  bool more = true;
  if (opened) {
    JSValue *entries;
    uint32_t count = copy_entries(e, set, level, &entries, &more);
    for (uint32_t i = 0; i < count && !e->full; i++) write_item(e, i == 0, entries[2 * i], level);
    free_entries(e, entries, count);
    text_format(e->out, "],\"exhausted\":%s", more || e->full ? "false" : "true");
  }
  text_format(e->out, ",\"size_hint\":%u%s}", size, opened ? "" : ",\"truncated\":true");
}

// One step of an iterator: its value, or JS_UNINITIALIZED at the end, or an exception.
static JSValue step(JSContext *ctx, JSValueConst iterator, JSValueConst next) {
  JSValue result = JS_Call(ctx, next, iterator, 0, NULL);
  if (JS_IsException(result)) return result;
  JSValue done = JS_GetPropertyStr(ctx, result, "done");
  int ended = JS_IsException(done) ? -1 : JS_ToBool(ctx, done);
  JS_FreeValue(ctx, done);
  JSValue value = ended < 0 ? JS_EXCEPTION : ended ? JS_UNINITIALIZED : JS_GetPropertyStr(ctx, result, "value");
  JS_FreeValue(ctx, result);
  return value;
}

static void write_iterator(encoder *e, JSValueConst iterator, uint32_t level, bool opened) {
  JSContext *ctx = e->ctx;
  size_t before = e->out->length;
  begin_iterable(e, iterator, opened);
  if (!opened) {
    text_string(e->out, ",\"truncated\":true}");
    return;
  }
  JSValue next = JS_GetPropertyStr(ctx, iterator, "next");
  bool exhausted = false, raised = JS_IsException(next);
  uint32_t skip = level == 1 ? e->limits->offset : 0, shown = 0;
  while (!raised && !exhausted && !e->full && (skip || shown < e->limits->items)) {
    JSValue item = step(ctx, iterator, next);
    raised = JS_IsException(item);
    exhausted = JS_IsUninitialized(item);
    if (!raised && !exhausted && !skip) {
      if (!write_item(e, shown == 0, item, level)) e->full = true;
      shown++;
    }
    if (skip) skip--;
    if (!exhausted) JS_FreeValue(ctx, item);
  }
  JS_FreeValue(ctx, next);
  if (raised) {
    e->out->length = before;
    write_raised(e, iterator);
  } else {
    text_format(e->out, "],\"exhausted\":%s}", exhausted ? "true" : "false");
  }
}

// Objects whose prototype is Object.prototype, or that have none, are data.
static bool is_data(encoder *e, JSValueConst object) {
  if (engine_kind_of(object) != KIND_PLAIN) return false;
  JSValue prototype = JS_GetPrototype(e->ctx, object);
  bool data = JS_IsNull(prototype) || (JS_IsObject(prototype) &&
                                       JS_VALUE_GET_PTR(prototype) == JS_VALUE_GET_PTR(js.object_prototype));
  JS_FreeValue(e->ctx, prototype);
  return data;
}

static void write_object(encoder *e, JSValueConst object, uint32_t level, bool opened) {
  JSContext *ctx = e->ctx;
  engine_kind kind = engine_kind_of(object);
  bool data = is_data(e, object), bare = kind == KIND_FUNCTION || kind == KIND_CLASS || kind == KIND_NAMESPACE;
  JSPropertyEnum *names = NULL;
  uint32_t count = 0;
  if (!bare && JS_GetOwnPropertyNames(ctx, &names, &count, object, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) {
    write_raised(e, object);
    return;
  }
  bool whole = true;
  if (data) {
    text_format(e->out, "{\"type\":\"array\",\"is_list\":false,\"count\":%u", count);
    if (opened) text_string(e->out, ",\"value\":");
  } else {
    text_string(e->out, "{\"type\":\"object\"");
    write_class(e, object);
    text_format(e->out, ",\"id\":%u", id_of(e, object));
    if (opened || bare) text_string(e->out, ",\"properties\":");
  }
  if (bare) text_string(e->out, "{}");
  else if (opened) whole = write_properties(e, object, names, count, level);
  else whole = false;
  JS_FreePropertyEnum(ctx, names, count);
  if (!data && (opened || bare) && !e->full) {
    size_t before = e->out->length, length;
    const char *own = describe_object(ctx, object, &length);
    if (own) {
      text_string(e->out, ",\"repr\":");
      text_quoted(e->out, own, length, e->limits->string_bytes);
      // A text that is too long is dropped, not cut to pieces.
      if (over(e)) e->out->length = before;
    }
    JS_FreeCString(ctx, own);
  }
  text_string(e->out, whole ? "}" : ",\"truncated\":true}");
}

static void write_symbol(encoder *e, JSValueConst symbol) {
  text about = {0};
  describe_short(e->ctx, symbol, &about);
  text_format(e->out, "{\"type\":\"object\",\"class\":\"Symbol\",\"id\":%u,\"properties\":{},\"repr\":", ++e->last_id);
  text_quoted(e->out, about.bytes, about.length, e->limits->string_bytes);
  text_add(e->out, "}", 1);
  text_free(&about);
}

static void encode_object(encoder *e, JSValueConst value, uint32_t level) {
  for (struct open *open = e->open; open; open = open->outer) {
    if (open->object != JS_VALUE_GET_PTR(value)) continue;
    text_string(e->out, "{\"type\":\"reference\"");
    write_class(e, value);
    text_format(e->out, ",\"id\":%u}", id_of(e, value));
    return;
  }
  struct open self = {.object = JS_VALUE_GET_PTR(value), .outer = e->open};
  e->open = &self;
  e->reserved += END_ROOM;
  bool opened = level <= e->limits->depth;
  switch (engine_kind_of(value)) {
    case KIND_ARRAY:
      write_array(e, value, level, opened);
      break;
    case KIND_MAP:
      write_map(e, value, level, opened);
      break;
    case KIND_SET:
      write_set(e, value, level, opened);
      break;
    case KIND_ITERATOR:
      write_iterator(e, value, level, opened);
      break;
    case KIND_BYTES:
      write_bytes(e, value);
      break;
    default:
      write_object(e, value, level, opened);
  }
  e->reserved -= END_ROOM;
  e->open = self.outer;
}

static void encode(encoder *e, JSValueConst value, uint32_t level) {
  size_t before = e->out->length;
  if (JS_IsNumber(value)) {
    double number;
    JS_ToFloat64(e->ctx, &number, value);
    write_number(e, number);
  } else if (JS_IsString(value)) {
    write_string(e, value);
  } else if (JS_IsBool(value)) {
    text_string(e->out, JS_ToBool(e->ctx, value) ? "{\"type\":\"bool\",\"value\":true}"
                                                 : "{\"type\":\"bool\",\"value\":false}");
  } else if (JS_IsNull(value)) {
    text_string(e->out, "{\"type\":\"null\",\"value\":null}");
  } else if (JS_IsBigInt(value)) {
    write_big(e, value);
  } else if (JS_IsSymbol(value)) {
    write_symbol(e, value);
  } else if (JS_IsObject(value)) {
    encode_object(e, value, level);
  } else {
    text_string(e->out, "{\"type\":\"null\",\"value\":null,\"undefined\":true}");
  }
  if (!over(e)) return;
  e->full = true;
  e->out->length = before;
  e->reserved -= MARKER_ROOM;
  write_too_large(e, value);
  e->reserved += MARKER_ROOM;
}

void encode_value(JSContext *ctx, JSValueConst value, const bounds *limits, text *out) {
  encoder e = {.ctx = ctx, .limits = limits, .out = out, .reserved = MARKER_ROOM};
  encode(&e, value, 1);
  for (size_t i = 0; i < e.named_count; i++) JS_FreeValue(ctx, e.named[i]);
  free(e.named);
  free(e.ids);
}
