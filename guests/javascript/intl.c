// What the prelude's part for `Intl` (library/internal/intl) builds on: the data of locales, and questions to the Rust library
// (native/intl). Arguments were checked by the library; here they are only kept from doing harm.
#include <stdlib.h>
#include <string.h>

#include "javascript.h"
#include "native.h"

// Of CLDR, made by cldr/pack.mjs. Nobody touches it before a locale is asked for.
static const char locales[] = {
#embed "cldr/locales.txt"
};

// intlData(start, length): a line; a start of -1: the index
static JSValue data(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  int32_t start, length;
  if (count < 2 || JS_ToInt32(ctx, &start, arguments[0]) < 0 || JS_ToInt32(ctx, &length, arguments[1]) < 0) return JS_EXCEPTION;
  static size_t first;
  if (!first) first = (size_t)((const char *)memchr(locales, '\n', sizeof locales) - locales) + 1;
  if (start < 0) return JS_NewStringLen(ctx, locales, first - 1);
  size_t room = sizeof locales - first;
  if ((size_t)start > room || length < 0 || (size_t)length > room - (size_t)start) return JS_UNDEFINED;
  return JS_NewStringLen(ctx, locales + first + start, (size_t)length);
}

// intl(question, text, text, text): a text, or undefined
static JSValue ask(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  const char *texts[4] = {"", "", "", ""};
  size_t lengths[4] = {0};
  JSValue answer = JS_EXCEPTION;
  int read = 0;
  for (; read < 4 && read < count; read++) {
    texts[read] = JS_ToCStringLen(ctx, &lengths[read], arguments[read]);
    if (!texts[read]) goto end;
  }
  size_t length = 0;
  uint8_t *text = native_intl((const uint8_t *)texts[0], lengths[0], (const uint8_t *)texts[1], lengths[1],
                              (const uint8_t *)texts[2], lengths[2], (const uint8_t *)texts[3], lengths[3], &length);
  answer = text ? JS_NewStringLen(ctx, (const char *)text, length) : JS_UNDEFINED;
  native_bytes_end(text, length);
end:
  for (int i = 0; i < read; i++) JS_FreeCString(ctx, texts[i]);
  return answer;
}

// collator(tag, options): a number for compare, less than zero if there is none
static JSValue collator(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  if (count < 2) return JS_UNDEFINED;
  size_t tag_length, options_length;
  const char *tag = JS_ToCStringLen(ctx, &tag_length, arguments[0]);
  const char *options = tag ? JS_ToCStringLen(ctx, &options_length, arguments[1]) : NULL;
  JSValue order = JS_EXCEPTION;
  if (options) order = JS_NewInt32(ctx, native_collator((const uint8_t *)tag, tag_length, (const uint8_t *)options, options_length));
  JS_FreeCString(ctx, tag);
  JS_FreeCString(ctx, options);
  return order;
}

// compare(order, left, right)
static JSValue compare(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  int32_t order;
  if (count < 3 || JS_ToInt32(ctx, &order, arguments[0]) < 0) return JS_EXCEPTION;
  size_t left_length, right_length;
  const char *left = JS_ToCStringLen(ctx, &left_length, arguments[1]);
  const char *right = left ? JS_ToCStringLen(ctx, &right_length, arguments[2]) : NULL;
  JSValue result = JS_EXCEPTION;
  if (right) {
    result = JS_NewInt32(ctx, native_compare(order, (const uint8_t *)left, left_length, (const uint8_t *)right, right_length));
  }
  JS_FreeCString(ctx, left);
  JS_FreeCString(ctx, right);
  return result;
}

// segments(kind, text): an ArrayBuffer of ends
static JSValue segments(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  uint32_t kind;
  if (count < 2 || JS_ToUint32(ctx, &kind, arguments[0]) < 0) return JS_EXCEPTION;
  size_t length, found;
  const uint16_t *units = JS_ToCStringLenUTF16(ctx, &length, arguments[1]);
  if (!units) return JS_EXCEPTION;
  uint32_t *ends = native_segments(kind, units, length, &found);
  JS_FreeCStringUTF16(ctx, units);
  JSValue result = JS_NewArrayBufferCopy(ctx, (const uint8_t *)ends, found * sizeof *ends);
  native_segments_free(ends, found);
  return result;
}

// zoneOffset(name, time)
static JSValue zone_offset(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  double time;
  if (count < 2 || JS_ToFloat64(ctx, &time, arguments[1]) < 0) return JS_EXCEPTION;
  size_t length;
  const char *name = JS_ToCStringLen(ctx, &length, arguments[0]);
  if (!name) return JS_EXCEPTION;
  int32_t offset = native_zone_offset((const uint8_t *)name, length, time);
  JS_FreeCString(ctx, name);
  return offset == INT32_MIN ? JS_UNDEFINED : JS_NewInt32(ctx, offset);
}

// The zone of the variable TZ as the database knows it, or NULL for UTC.
static const char *local_zone(void) {
  const char *zone = getenv("TZ");
  if (!zone || !*zone) return NULL;
  return *zone == ':' ? zone + 1 : zone;
}

static JSValue name_of_local_zone(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  const char *zone = local_zone();
  return zone ? JS_NewString(ctx, zone) : JS_UNDEFINED;
}

// For `Date`: what has to be added to the local time to get UTC, in minutes; rounded where zones of old had seconds.
int intl_local_offset(int64_t time) {
  const char *zone = local_zone();
  if (!zone) return 0;
  int32_t offset = native_zone_offset((const uint8_t *)zone, strlen(zone), (double)time);
  if (offset == INT32_MIN) return 0;
  return -((offset - (offset & 1)) / 2) / 60;
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("intlData", 2, data),
    JS_CFUNC_DEF("intl", 4, ask),
    JS_CFUNC_DEF("collator", 2, collator),
    JS_CFUNC_DEF("compare", 3, compare),
    JS_CFUNC_DEF("segments", 2, segments),
    JS_CFUNC_DEF("zoneOffset", 2, zone_offset),
    JS_CFUNC_DEF("localZone", 0, name_of_local_zone),
};

void intl_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
