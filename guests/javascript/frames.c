// Streams of Brotli and of Zstandard for the module `zlib`, as zlib.c has those of zlib. Memory is bounded by what the caller
// takes at a time and by the limit of the instance, at which a library says that it has none.
#include <stdlib.h>

#include "brotli/decode.h"
#include "brotli/encode.h"
#include "javascript.h"
#define ZSTD_STATIC_LINKING_ONLY
#include "zstd.h"
#include "zstd_errors.h"

// What comes out of one call.
#define PIECE (64 << 10)

static JSClassID frame_class;

typedef enum { BROTLI_PACK, BROTLI_UNPACK, ZSTD_PACK, ZSTD_UNPACK } format;

typedef struct {
  format format;
  union {
    BrotliEncoderState *brotli_pack;
    BrotliDecoderState *brotli_unpack;
    ZSTD_CCtx *zstd_pack;
    ZSTD_DCtx *zstd_unpack;
  };
} frame;

// What one step came to. `failed` has a word of the library for it, and a number.
typedef struct {
  enum { GOES_ON, ENDED, FAILED } state;
  int number;
  const char *code, *message;
} step;

static void end_frame(JSRuntime *runtime, JSValueConst value) {
  (void)runtime;
  frame *held = JS_GetOpaque(value, frame_class);
  if (!held) return;
  switch (held->format) {
  case BROTLI_PACK: BrotliEncoderDestroyInstance(held->brotli_pack); break;
  case BROTLI_UNPACK: BrotliDecoderDestroyInstance(held->brotli_unpack); break;
  case ZSTD_PACK: ZSTD_freeCCtx(held->zstd_pack); break;
  case ZSTD_UNPACK: ZSTD_freeDCtx(held->zstd_unpack); break;
  }
  free(held);
}

static const JSClassDef frame_definition = {.class_name = "FrameState", .finalizer = end_frame};

static bool begin(frame *made) {
  switch (made->format) {
  case BROTLI_PACK: return (made->brotli_pack = BrotliEncoderCreateInstance(NULL, NULL, NULL));
  case BROTLI_UNPACK: return (made->brotli_unpack = BrotliDecoderCreateInstance(NULL, NULL, NULL));
  case ZSTD_PACK: return (made->zstd_pack = ZSTD_createCCtx());
  case ZSTD_UNPACK: return (made->zstd_unpack = ZSTD_createDCtx());
  }
  return false;
}

// frameStream(format): 0 packs as Brotli, 1 unpacks it, 2 and 3 likewise for Zstandard
static JSValue make_frame(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  int32_t which;
  if (JS_ToInt32(ctx, &which, arguments[0]) < 0) return JS_EXCEPTION;
  if (which < BROTLI_PACK || which > ZSTD_UNPACK) return JS_ThrowRangeError(ctx, "no format");
  frame *made = calloc(1, sizeof *made);
  if (made) made->format = (format)which;
  if (!made || !begin(made)) {
    free(made);
    return JS_ThrowOutOfMemory(ctx);
  }
  JSValue object = JS_NewObjectClass(ctx, (int)frame_class);
  if (JS_IsObject(object)) JS_SetOpaque(object, made);
  return object;
}

// frameParameter(stream, name, value): whether the library takes it
static JSValue set_parameter(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  frame *held = JS_GetOpaque2(ctx, arguments[0], frame_class);
  int32_t name;
  uint32_t value;
  if (!held || JS_ToInt32(ctx, &name, arguments[1]) < 0 || JS_ToUint32(ctx, &value, arguments[2]) < 0) return JS_EXCEPTION;
  bool is_taken = false;
  switch (held->format) {
  case BROTLI_PACK: is_taken = BrotliEncoderSetParameter(held->brotli_pack, (BrotliEncoderParameter)name, value); break;
  case BROTLI_UNPACK: is_taken = BrotliDecoderSetParameter(held->brotli_unpack, (BrotliDecoderParameter)name, value); break;
  case ZSTD_PACK:
    is_taken = !ZSTD_isError(ZSTD_CCtx_setParameter(held->zstd_pack, (ZSTD_cParameter)name, (int)value));
    break;
  case ZSTD_UNPACK:
    is_taken = !ZSTD_isError(ZSTD_DCtx_setParameter(held->zstd_unpack, (ZSTD_dParameter)name, (int)value));
    break;
  }
  return JS_NewBool(ctx, is_taken);
}

// frameSize(stream, bytes): tells Zstandard how much will come; whether it is taken
static JSValue set_size(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  frame *held = JS_GetOpaque2(ctx, arguments[0], frame_class);
  double bytes;
  if (!held || JS_ToFloat64(ctx, &bytes, arguments[1]) < 0) return JS_EXCEPTION;
  bool is_size = held->format == ZSTD_PACK && bytes >= 0 && bytes <= 9007199254740991.0;
  return JS_NewBool(ctx, is_size && !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(held->zstd_pack, (uint64_t)bytes)));
}

// frameDictionary(stream, bytes): whether Zstandard takes it. It is copied.
static JSValue set_dictionary(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  frame *held = JS_GetOpaque2(ctx, arguments[0], frame_class);
  size_t length;
  const uint8_t *bytes = held ? engine_need_bytes(ctx, arguments[1], &length) : NULL;
  if (!bytes) return JS_EXCEPTION;
  size_t state = held->format == ZSTD_PACK     ? ZSTD_CCtx_loadDictionary(held->zstd_pack, bytes, length)
                 : held->format == ZSTD_UNPACK ? ZSTD_DCtx_loadDictionary(held->zstd_unpack, bytes, length)
                                               : (size_t)-1;
  return JS_NewBool(ctx, !ZSTD_isError(state));
}

static step pack_brotli(BrotliEncoderState *state, int operation, const uint8_t **in, size_t *in_left, uint8_t *out, size_t *left) {
  if (!BrotliEncoderCompressStream(state, (BrotliEncoderOperation)operation, in_left, in, left, &out, NULL))
    return (step){.state = FAILED, .number = -1, .code = "ERR_BROTLI_COMPRESSION_FAILED", .message = "Compression failed"};
  return (step){.state = BrotliEncoderIsFinished(state) ? ENDED : GOES_ON};
}

static step unpack_brotli(BrotliDecoderState *state, const uint8_t **in, size_t *in_left, uint8_t *out, size_t *left) {
  BrotliDecoderResult result = BrotliDecoderDecompressStream(state, in_left, in, left, &out, NULL);
  if (result == BROTLI_DECODER_RESULT_SUCCESS) return (step){.state = ENDED};
  if (result != BROTLI_DECODER_RESULT_ERROR) return (step){.state = GOES_ON};
  BrotliDecoderErrorCode error = BrotliDecoderGetErrorCode(state);
  return (step){
      .state = FAILED, .number = error, .code = BrotliDecoderErrorString(error), .message = "Decompression failed"};
}

static step of_zstd(size_t result, bool is_end) {
  if (!ZSTD_isError(result)) return (step){.state = is_end && result == 0 ? ENDED : GOES_ON};
  ZSTD_ErrorCode error = ZSTD_getErrorCode(result);
  return (step){.state = FAILED, .number = error, .message = ZSTD_getErrorString(error)};
}

// frameRun(stream, operation, bytes, from): [state, output, bytes used, number, code, message], of which the output has at most
// 64 KiB. State 0: it goes on; 1: it has ended; 2: it failed.
static JSValue run_frame(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  frame *held = JS_GetOpaque2(ctx, arguments[0], frame_class);
  int32_t operation;
  uint32_t from;
  size_t length;
  if (!held || JS_ToInt32(ctx, &operation, arguments[1]) < 0 || JS_ToUint32(ctx, &from, arguments[3]) < 0) return JS_EXCEPTION;
  const uint8_t *input = engine_need_bytes(ctx, arguments[2], &length);
  if (!input) return JS_EXCEPTION;
  if (from > length) return JS_ThrowRangeError(ctx, "the bytes end before");
  int last = held->format == BROTLI_PACK ? BROTLI_OPERATION_EMIT_METADATA : ZSTD_e_end;
  if (operation < 0 || operation > last) return JS_ThrowRangeError(ctx, "no operation");
  uint8_t *out = malloc(PIECE);
  if (!out) return JS_ThrowOutOfMemory(ctx);
  const uint8_t *next = input + from;
  size_t in_left = length - from, left = PIECE;
  ZSTD_inBuffer in = {next, in_left, 0};
  ZSTD_outBuffer into = {out, PIECE, 0};
  step done = {.state = FAILED};
  switch (held->format) {
  case BROTLI_PACK: done = pack_brotli(held->brotli_pack, operation, &next, &in_left, out, &left); break;
  case BROTLI_UNPACK: done = unpack_brotli(held->brotli_unpack, &next, &in_left, out, &left); break;
  case ZSTD_PACK:
    done = of_zstd(ZSTD_compressStream2(held->zstd_pack, &into, &in, (ZSTD_EndDirective)operation), operation == ZSTD_e_end);
    break;
  case ZSTD_UNPACK: done = of_zstd(ZSTD_decompressStream(held->zstd_unpack, &into, &in), true); break;
  }
  if (held->format == ZSTD_PACK || held->format == ZSTD_UNPACK) {
    in_left -= in.pos;
    left -= into.pos;
  }
  JSValue result = JS_NewArray(ctx);
  JS_SetPropertyUint32(ctx, result, 0, JS_NewInt32(ctx, done.state));
  JS_SetPropertyUint32(ctx, result, 1, JS_NewArrayBufferCopy(ctx, out, PIECE - left));
  JS_SetPropertyUint32(ctx, result, 2, JS_NewInt64(ctx, (int64_t)(length - from - in_left)));
  JS_SetPropertyUint32(ctx, result, 3, JS_NewInt32(ctx, done.number));
  JS_SetPropertyUint32(ctx, result, 4, done.code ? JS_NewString(ctx, done.code) : JS_UNDEFINED);
  JS_SetPropertyUint32(ctx, result, 5, done.message ? JS_NewString(ctx, done.message) : JS_UNDEFINED);
  free(out);
  return result;
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("frameStream", 1, make_frame),         JS_CFUNC_DEF("frameParameter", 3, set_parameter),
    JS_CFUNC_DEF("frameSize", 2, set_size),             JS_CFUNC_DEF("frameDictionary", 2, set_dictionary),
    JS_CFUNC_DEF("frameRun", 4, run_frame),
};

void frames_install(JSContext *ctx, JSValueConst native) {
  engine_class(ctx, &frame_class, &frame_definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
