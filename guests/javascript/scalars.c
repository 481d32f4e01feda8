// Typed values that hold no others: numbers, texts, bytes, symbols, and the marks of what cannot be shown.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "encode.h"

// Largest integer that every reader of JSON gets exactly.
#define SAFE_INTEGER 9007199254740991

bool encode_over(const encoder *e) { return e->out->length + e->reserved > e->limits->total_bytes; }

uint32_t encode_id(encoder *e, JSValueConst object) {
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

void write_class(encoder *e, JSValueConst value) {
  char *class = describe_class(e->ctx, value);
  text_string(e->out, ",\"class\":");
  text_quoted(e->out, class ? class : "", class ? strlen(class) : 0, LONGEST_KEY);
  free(class);
}

// Only the first bytes of the class: the marker has to fit where the value did not.
void write_too_large(encoder *e, JSValueConst value) {
  char *class = describe_class(e->ctx, value);
  text_string(e->out, "{\"type\":\"unknown\",\"class\":");
  text_quoted(e->out, class ? class : "", class ? strlen(class) : 0, 40);
  text_string(e->out, ",\"reason\":\"value too large\"}");
  free(class);
}

void write_raised(encoder *e, JSValueConst value) {
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

void write_number(encoder *e, double number) {
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

void write_big(encoder *e, JSValueConst value) {
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

void write_string(encoder *e, JSValueConst value) {
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

void write_bytes(encoder *e, JSValueConst value) {
  size_t length;
  const uint8_t *bytes = engine_bytes(e->ctx, value, &length);
  size_t shown = length < e->limits->string_bytes ? length : e->limits->string_bytes;
  text_string(e->out, "{\"type\":\"bytes\",\"value\":\"");
  if (bytes) text_base64(e->out, bytes, shown);
  text_format(e->out, "\",\"length\":%zu%s}", length, shown < length ? ",\"truncated\":true" : "");
}

void write_symbol(encoder *e, JSValueConst symbol) {
  text about = {0};
  describe_short(e->ctx, symbol, &about);
  text_format(e->out, "{\"type\":\"object\",\"class\":\"Symbol\",\"id\":%u,\"properties\":{},\"repr\":", ++e->last_id);
  text_quoted(e->out, about.bytes, about.length, e->limits->string_bytes);
  text_add(e->out, "}", 1);
  text_free(&about);
}
