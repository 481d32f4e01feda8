// Typed values (docs/values.md), written within bounds while the value is walked. Nothing here calls JavaScript that a
// snippet could have replaced; what a snippet's own getters, proxies and generators do is caught and shown as such.
#include "encode.h"

#include <stdlib.h>
#include <string.h>

// Room kept for the marker that replaces what does not fit, and for the end of each open container.
#define MARKER_ROOM 160
#define END_ROOM 96

static void encode(encoder *e, JSValueConst value, uint32_t level);

// One item of a container, with its comma; false when it had to be left out.
static bool write_item(encoder *e, bool first, JSValueConst value, uint32_t level) {
  size_t before = e->out->length;
  if (!first) text_add(e->out, ",", 1);
  encode(e, value, level + 1);
  if (!e->full || !encode_over(e)) return true;
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
  if (encode_over(e)) e->full = true;
  if (!e->full || !encode_over(e)) return true;
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
    text_format(e->out, ",\"id\":%u", encode_id(e, object));
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
      if (encode_over(e)) e->out->length = before;
    }
    JS_FreeCString(ctx, own);
  }
  text_string(e->out, whole ? "}" : ",\"truncated\":true}");
}

static void encode_object(encoder *e, JSValueConst value, uint32_t level) {
  for (struct open *open = e->open; open; open = open->outer) {
    if (open->object != JS_VALUE_GET_PTR(value)) continue;
    text_string(e->out, "{\"type\":\"reference\"");
    write_class(e, value);
    open->id = encode_id(e, value);
    text_format(e->out, ",\"id\":%u}", open->id);
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
  // Something inside refers back to it. An object has said its id already.
  bool named = engine_kind_of(value) == KIND_ARRAY || engine_kind_of(value) == KIND_MAP || engine_kind_of(value) == KIND_SET ||
               engine_kind_of(value) == KIND_ITERATOR || is_data(e, value);
  if (self.id && named && e->out->length && e->out->bytes[e->out->length - 1] == '}') {
    e->out->length--;
    text_format(e->out, ",\"id\":%u}", self.id);
  }
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
  if (!encode_over(e)) return;
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
