// Streams of zlib for the module `zlib`. Memory is bounded by what the caller takes at a time; how much may come out in all is
// library/zlib.js's matter.
#include <stdlib.h>
#include <string.h>

#include "javascript.h"
#include "zlib.h"

// What comes out of one call.
#define PIECE (64 << 10)

static JSClassID stream_class;

typedef struct {
  z_stream z;
  bool inflates;
} stream;

static void end_stream(JSRuntime *runtime, JSValueConst value) {
  (void)runtime;
  stream *held = JS_GetOpaque(value, stream_class);
  if (!held) return;
  if (held->inflates) inflateEnd(&held->z);
  else deflateEnd(&held->z);
  free(held);
}

static const JSClassDef stream_definition = {.class_name = "CompressionState", .finalizer = end_stream};

// zlibStream(inflates, window bits, level, memory level, strategy): null: an argument is none
static JSValue make_stream(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  int32_t numbers[4];
  for (int i = 0; i < 4; i++)
    if (JS_ToInt32(ctx, &numbers[i], arguments[1 + i]) < 0) return JS_EXCEPTION;
  stream *made = calloc(1, sizeof *made);
  if (!made) return JS_ThrowOutOfMemory(ctx);
  made->inflates = JS_ToBool(ctx, arguments[0]);
  int state = made->inflates ? inflateInit2(&made->z, numbers[0])
                             : deflateInit2(&made->z, numbers[1], Z_DEFLATED, numbers[0], numbers[2], numbers[3]);
  JSValue object = state == Z_OK          ? JS_NewObjectClass(ctx, (int)stream_class)
                   : state == Z_MEM_ERROR ? JS_ThrowOutOfMemory(ctx)
                                          : JS_NULL;
  if (JS_IsObject(object)) JS_SetOpaque(object, made);
  else free(made);
  return object;
}

// zlibRun(stream, flush, bytes, from): [state, output, bytes used, message], of which the output has at most 64 KiB
static JSValue run_stream(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  stream *held = JS_GetOpaque2(ctx, arguments[0], stream_class);
  int32_t flush;
  uint32_t from;
  size_t length;
  if (!held || JS_ToInt32(ctx, &flush, arguments[1]) < 0 || JS_ToUint32(ctx, &from, arguments[3]) < 0) return JS_EXCEPTION;
  const uint8_t *input = engine_need_bytes(ctx, arguments[2], &length);
  if (!input) return JS_EXCEPTION;
  if (from > length) return JS_ThrowRangeError(ctx, "the bytes end before");
  uint8_t *out = malloc(PIECE);
  if (!out) return JS_ThrowOutOfMemory(ctx);
  z_stream *z = &held->z;
  z->next_in = (Bytef *)input + from;
  z->avail_in = (uInt)(length - from);
  z->next_out = out;
  z->avail_out = PIECE;
  z->msg = NULL;
  int state = held->inflates ? inflate(z, flush) : deflate(z, flush);
  JSValue result = JS_NewArray(ctx);
  JS_SetPropertyUint32(ctx, result, 0, JS_NewInt32(ctx, state));
  JS_SetPropertyUint32(ctx, result, 1, JS_NewArrayBufferCopy(ctx, out, PIECE - z->avail_out));
  JS_SetPropertyUint32(ctx, result, 2, JS_NewInt64(ctx, (int64_t)(length - from - z->avail_in)));
  JS_SetPropertyUint32(ctx, result, 3, z->msg ? JS_NewString(ctx, z->msg) : JS_UNDEFINED);
  free(out);
  return result;
}

// zlibDictionary(stream, bytes): zlib's state
static JSValue set_dictionary(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  stream *held = JS_GetOpaque2(ctx, arguments[0], stream_class);
  size_t length;
  const uint8_t *bytes = held ? engine_need_bytes(ctx, arguments[1], &length) : NULL;
  if (!bytes) return JS_EXCEPTION;
  int state = held->inflates ? inflateSetDictionary(&held->z, bytes, (uInt)length)
                             : deflateSetDictionary(&held->z, bytes, (uInt)length);
  return JS_NewInt32(ctx, state);
}

// zlibParameters(stream, level, strategy): zlib's state. It is asked after a flush, so that nothing comes out of it.
static JSValue set_parameters(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  stream *held = JS_GetOpaque2(ctx, arguments[0], stream_class);
  int32_t level, strategy;
  if (!held || JS_ToInt32(ctx, &level, arguments[1]) < 0 || JS_ToInt32(ctx, &strategy, arguments[2]) < 0) return JS_EXCEPTION;
  if (held->inflates) return JS_NewInt32(ctx, Z_STREAM_ERROR);
  uint8_t nothing;
  held->z.next_in = held->z.next_out = &nothing;
  held->z.avail_in = held->z.avail_out = 0;
  return JS_NewInt32(ctx, deflateParams(&held->z, level, strategy));
}

// zlibReset(stream): zlib's state
static JSValue reset_stream(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  stream *held = JS_GetOpaque2(ctx, arguments[0], stream_class);
  if (!held) return JS_EXCEPTION;
  return JS_NewInt32(ctx, held->inflates ? inflateReset(&held->z) : deflateReset(&held->z));
}

// crc32(bytes, sum before)
static JSValue sum(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  uint32_t before;
  size_t length;
  // Before the bytes are borrowed: a number may be made by code that gives them away.
  if (JS_ToUint32(ctx, &before, arguments[1]) < 0) return JS_EXCEPTION;
  const uint8_t *bytes = engine_need_bytes(ctx, arguments[0], &length);
  if (!bytes) return JS_EXCEPTION;
  return JS_NewUint32(ctx, (uint32_t)crc32(before, bytes, (uInt)length));
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("zlibStream", 5, make_stream),         JS_CFUNC_DEF("zlibRun", 4, run_stream),
    JS_CFUNC_DEF("zlibDictionary", 2, set_dictionary),  JS_CFUNC_DEF("zlibReset", 1, reset_stream),
    JS_CFUNC_DEF("zlibParameters", 3, set_parameters),  JS_CFUNC_DEF("crc32", 2, sum),
};

void zlib_install(JSContext *ctx, JSValueConst native) {
  engine_class(ctx, &stream_class, &stream_definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
