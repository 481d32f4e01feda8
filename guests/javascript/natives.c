// The functions that the prelude builds on: output, host calls, randomness, time, UTF-8.
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "javascript.h"

// getentropy gives at most this much at a time.
#define ENTROPY_CHUNK 256

uint64_t driver_random_seed(void) {
  uint64_t seed = 0;
  while (!seed) getentropy(&seed, sizeof seed);
  return seed;
}

static void write_line(int descriptor, const char *bytes, size_t length) {
  text line = {0};
  for (uint32_t i = 0; i < js.console_indent; i++) text_add(&line, " ", 1);
  for (size_t i = 0; i < length && js.console_indent; i++) {
    // Each line of a group is moved to the right.
    text_add(&line, bytes + i, 1);
    if (bytes[i] == '\n')
      for (uint32_t k = 0; k < js.console_indent; k++) text_add(&line, " ", 1);
  }
  if (!js.console_indent) text_add(&line, bytes, length);
  text_add(&line, "\n", 1);
  driver_write(descriptor, line.bytes, line.length);
  text_free(&line);
}

// The console functions that print; the magic number is the descriptor. A single text needs no formatting.
static JSValue print(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments, int descriptor) {
  (void)self;
  JSValue line;
  if (count == 1 && (JS_IsString(arguments[0]) || JS_IsNumber(arguments[0]))) {
    line = JS_DupValue(ctx, arguments[0]);
  } else {
    JSValue list = JS_NewArrayFrom(ctx, 0, NULL);
    for (int i = 0; i < count; i++) JS_SetPropertyUint32(ctx, list, (uint32_t)i, JS_DupValue(ctx, arguments[i]));
    line = JS_Call(ctx, js.format, JS_UNDEFINED, 1, (JSValueConst[]){list});
    JS_FreeValue(ctx, list);
  }
  size_t length;
  const char *bytes = JS_IsException(line) ? NULL : JS_ToCStringLen(ctx, &length, line);
  if (bytes) write_line(descriptor, bytes, length);
  JS_FreeCString(ctx, bytes);
  JS_FreeValue(ctx, line);
  return bytes ? JS_UNDEFINED : JS_EXCEPTION;
}

// write(descriptor, text or bytes)
static JSValue write_raw(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  int32_t descriptor;
  if (count < 2 || JS_ToInt32(ctx, &descriptor, arguments[0]) < 0) return JS_EXCEPTION;
  size_t length;
  if (JS_IsObject(arguments[1]) && engine_kind_of(arguments[1]) == KIND_BYTES) {
    const uint8_t *bytes = engine_bytes(ctx, arguments[1], &length);
    if (bytes) driver_write(descriptor, (const char *)bytes, length);
    return JS_TRUE;
  }
  const char *bytes = JS_ToCStringLen(ctx, &length, arguments[1]);
  if (!bytes) return JS_EXCEPTION;
  driver_write(descriptor, bytes, length);
  JS_FreeCString(ctx, bytes);
  return JS_TRUE;
}

// indent(change): what console.group does
static JSValue indent(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  int32_t change = 0;
  if (count && JS_ToInt32(ctx, &change, arguments[0]) < 0) return JS_EXCEPTION;
  int64_t depth = (int64_t)js.console_indent + change;
  js.console_indent = depth < 0 ? 0 : depth > 100 ? 100 : (uint32_t)depth;
  return JS_UNDEFINED;
}

// callTool(name, arguments): a function of the embedder
static JSValue call_tool(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  if (count < 1 || !JS_IsString(arguments[0])) return JS_ThrowTypeError(ctx, "callTool needs the tool's name");
  JSValue object = count > 1 && !JS_IsUndefined(arguments[1]) ? JS_DupValue(ctx, arguments[1]) : JS_NewObject(ctx);
  JSValue json = JS_JSONStringify(ctx, object, JS_UNDEFINED, JS_UNDEFINED);
  JS_FreeValue(ctx, object);
  if (JS_IsException(json)) return json;
  if (!JS_IsString(json)) return JS_ThrowTypeError(ctx, "callTool's arguments must be an object");
  size_t name_length, json_length;
  const char *name = JS_ToCStringLen(ctx, &name_length, arguments[0]);
  const char *text = JS_ToCStringLen(ctx, &json_length, json);
  JS_FreeValue(ctx, json);
  JSValue value = JS_EXCEPTION;
  if (name && text) {
    guest_string_t tool = {(uint8_t *)name, name_length}, input = {(uint8_t *)text, json_length}, output, error;
    if (dormouse_sandbox_host_call_tool(&tool, &input, &output, &error)) {
      // The parser wants a final NUL byte.
      char *copy = strndup((char *)output.ptr, output.len);
      value = copy ? JS_ParseJSON(ctx, copy, output.len, "<result>") : JS_ThrowOutOfMemory(ctx);
      free(copy);
      guest_string_free(&output);
    } else {
      JSValue thrown = JS_NewError(ctx);
      JS_DefinePropertyValueStr(ctx, thrown, "message", JS_NewStringLen(ctx, (char *)error.ptr, error.len),
                                JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
      JS_Throw(ctx, thrown);
      guest_string_free(&error);
    }
  }
  JS_FreeCString(ctx, name);
  JS_FreeCString(ctx, text);
  return value;
}

// fillRandom(typed array or buffer)
static JSValue fill_random(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  if (count < 1 || !JS_IsObject(arguments[0]) || engine_kind_of(arguments[0]) != KIND_BYTES)
    return JS_ThrowTypeError(ctx, "a typed array is needed");
  size_t length;
  uint8_t *bytes = (uint8_t *)engine_bytes(ctx, arguments[0], &length);
  for (size_t done = 0; bytes && done < length; done += ENTROPY_CHUNK)
    getentropy(bytes + done, length - done < ENTROPY_CHUNK ? length - done : ENTROPY_CHUNK);
  return JS_DupValue(ctx, arguments[0]);
}

// monotonic(): milliseconds of a clock that is never set back while an instance lives
static JSValue monotonic(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return JS_NewFloat64(ctx, (double)time.tv_sec * 1000 + (double)time.tv_nsec / 1000000);
}

// encodeUtf8(string): an ArrayBuffer, lone surrogates as U+FFFD
static JSValue encode_utf8(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  size_t length;
  const char *bytes = count ? JS_ToCStringLen(ctx, &length, arguments[0]) : NULL;
  if (!bytes) return JS_EXCEPTION;
  JSValue buffer = JS_NewArrayBufferCopy(ctx, (const uint8_t *)bytes, length);
  JS_FreeCString(ctx, bytes);
  if (JS_IsException(buffer)) return buffer;
  uint8_t *copy = JS_GetArrayBuffer(ctx, &length, buffer);
  for (size_t i = 0; copy && i + 2 < length; i++) {
    if (copy[i] == 0xED && copy[i + 1] >= 0xA0) memcpy(copy + i, "\xEF\xBF\xBD", 3);
  }
  return buffer;
}

// The length of the valid character at `bytes`, or 0, then `*bad` bytes form one error.
static size_t utf8_character(const uint8_t *bytes, size_t left, size_t *bad, bool *cut) {
  uint8_t first = bytes[0];
  *bad = 1;
  *cut = false;
  if (first < 0x80) return 1;
  size_t need = first >= 0xC2 && first <= 0xDF ? 2 : first >= 0xE0 && first <= 0xEF ? 3 : first >= 0xF0 && first <= 0xF4 ? 4 : 0;
  if (!need) return 0;
  uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < need; i++) {
    if (i >= left) {
      *cut = true;
      *bad = left;
      return 0;
    }
    if (bytes[i] < low || bytes[i] > high) {
      *bad = i;
      return 0;
    }
    low = 0x80;
    high = 0xBF;
  }
  return need;
}

// decodeUtf8(bytes, fatal, more): a string, or null when it is not UTF-8 and must be. With `more`, a character that is
// cut at the end is left for later: the result is [string, bytes used].
static JSValue decode_utf8(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  if (count < 3) return JS_EXCEPTION;
  size_t length;
  const uint8_t *bytes = engine_bytes(ctx, arguments[0], &length);
  bool fatal = JS_ToBool(ctx, arguments[1]), more = JS_ToBool(ctx, arguments[2]);
  text out = {0};
  size_t start = 0, i = 0, bad;
  bool cut = false, failed = false;
  while (i < length && !failed) {
    size_t whole = utf8_character(bytes + i, length - i, &bad, &cut);
    if (whole) {
      i += whole;
      continue;
    }
    if (cut && more) break;
    failed = fatal;
    text_add(&out, (const char *)bytes + start, i - start);
    text_string(&out, "\xEF\xBF\xBD");
    start = i += bad;
  }
  text_add(&out, (const char *)bytes + start, i - start);
  JSValue string = failed       ? JS_NULL
                   : out.failed ? JS_ThrowOutOfMemory(ctx)
                                : JS_NewStringLen(ctx, out.bytes ? out.bytes : "", out.length);
  text_free(&out);
  if (!more || !JS_IsString(string)) return string;
  JSValue pair = JS_NewArray(ctx);
  JS_SetPropertyUint32(ctx, pair, 0, string);
  JS_SetPropertyUint32(ctx, pair, 1, JS_NewInt64(ctx, (int64_t)i));
  return pair;
}

// details(value): what inspect cannot see from JavaScript
static JSValue details(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  if (count < 1 || !JS_IsObject(arguments[0])) return JS_NULL;
  static const char *const kinds[] = {"object", "array", "map",     "set",   "iterator", "bytes",  "function", "class",
                                      "error",  "date",  "regexp",  "boxed", "promise",  "proxy",  "module"};
  engine_kind kind = engine_kind_of(arguments[0]);
  char *class = describe_class(ctx, arguments[0]);
  JSValue result = JS_NewArray(ctx);
  JS_SetPropertyUint32(ctx, result, 0, JS_NewString(ctx, kinds[kind]));
  JS_SetPropertyUint32(ctx, result, 1, JS_NewString(ctx, class ? class : "Object"));
  free(class);
  if (kind == KIND_PROMISE) {
    JSPromiseStateEnum state = JS_PromiseState(ctx, arguments[0]);
    JS_SetPropertyUint32(ctx, result, 2, JS_NewInt32(ctx, state));
    if (state != JS_PROMISE_PENDING) JS_SetPropertyUint32(ctx, result, 3, JS_PromiseResult(ctx, arguments[0]));
  }
  return result;
}

static JSValue environment_age(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  return JS_NewUint32(ctx, js.environment_age);
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_MAGIC_DEF("log", 0, print, STDOUT_FILENO),
    JS_CFUNC_MAGIC_DEF("error", 0, print, STDERR_FILENO),
    JS_CFUNC_DEF("write", 2, write_raw),
    JS_CFUNC_DEF("indent", 1, indent),
    JS_CFUNC_DEF("callTool", 2, call_tool),
    JS_CFUNC_DEF("fillRandom", 1, fill_random),
    JS_CFUNC_DEF("monotonic", 0, monotonic),
    JS_CFUNC_DEF("encodeUtf8", 1, encode_utf8),
    JS_CFUNC_DEF("decodeUtf8", 3, decode_utf8),
    JS_CFUNC_DEF("details", 1, details),
    JS_CFUNC_DEF("environmentAge", 0, environment_age),
    JS_CFUNC_DEF("exit", 1, run_exit),
};

void natives_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
