// Text in the encodings of the web, for TextDecoder.
#include "javascript.h"
#include "native.h"

static JSClassID reading_class;

static void end_reading(JSRuntime *runtime, JSValueConst value) {
  (void)runtime;
  native_reading_end(JS_GetOpaque(value, reading_class));
}

static const JSClassDef reading_definition = {.class_name = "TextReading", .finalizer = end_reading};

static JSValue text_of(JSContext *ctx, uint8_t *bytes, size_t length) {
  if (!bytes) return JS_NULL;
  JSValue string = JS_NewStringLen(ctx, (const char *)bytes, length);
  native_bytes_end(bytes, length);
  return string;
}

// encodingName(label): null: there is none
static JSValue name(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  size_t length, name_length = 0;
  const char *label = JS_ToCStringLen(ctx, &length, arguments[0]);
  if (!label) return JS_EXCEPTION;
  uint8_t *found = native_encoding((const uint8_t *)label, length, &name_length);
  JS_FreeCString(ctx, label);
  return text_of(ctx, found, name_length);
}

// beginReading(label, whether what is no text ends it, whether a mark at the beginning is kept)
static JSValue begin(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  size_t length;
  const char *label = JS_ToCStringLen(ctx, &length, arguments[0]);
  if (!label) return JS_EXCEPTION;
  bool fatal = JS_ToBool(ctx, arguments[1]), keeps_mark = JS_ToBool(ctx, arguments[2]);
  native_reading *reading = native_reading_begin((const uint8_t *)label, length, fatal, keeps_mark);
  JS_FreeCString(ctx, label);
  if (!reading) return JS_NULL;
  JSValue object = JS_NewObjectClass(ctx, (int)reading_class);
  if (JS_IsObject(object)) JS_SetOpaque(object, reading);
  else native_reading_end(reading);
  return object;
}

// readText(reading, bytes, whether they are the last ones): null: they are no text
static JSValue read(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  native_reading *reading = JS_GetOpaque2(ctx, arguments[0], reading_class);
  if (!reading) return JS_EXCEPTION;
  bool last = JS_ToBool(ctx, arguments[2]);
  size_t length, text_length = 0;
  const uint8_t *bytes = engine_need_bytes(ctx, arguments[1], &length);
  if (!bytes) return JS_EXCEPTION;
  uint8_t *text = native_read(reading, bytes, length, last, &text_length);
  return text_of(ctx, text, text_length);
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("encodingName", 1, name),
    JS_CFUNC_DEF("beginReading", 3, begin),
    JS_CFUNC_DEF("readText", 3, read),
};

void decoders_install(JSContext *ctx, JSValueConst native) {
  engine_class(ctx, &reading_class, &reading_definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
