// Digests, keys and ciphers for the module `crypto`, over the Rust library. Arguments were checked by library/crypto.js; here they are
// only kept from doing harm. Bytes are borrowed last: what makes a number of an argument may be code that gives them away.
#include <stdlib.h>
#include <string.h>

#include "javascript.h"
#include "native.h"

// A block of the longest cipher, which may come out besides what went in.
#define BLOCK 16

static JSClassID digestion_class, ciphering_class;

static void end_digestion(JSRuntime *runtime, JSValueConst value) {
  (void)runtime;
  native_digest_end(JS_GetOpaque(value, digestion_class));
}

static void end_ciphering(JSRuntime *runtime, JSValueConst value) {
  (void)runtime;
  native_cipher_end(JS_GetOpaque(value, ciphering_class));
}

static const JSClassDef digestion_definition = {.class_name = "Digestion", .finalizer = end_digestion};
static const JSClassDef ciphering_definition = {.class_name = "Ciphering", .finalizer = end_ciphering};

// Bytes that are borrowed for one call.
typedef struct {
  const uint8_t *first;
  size_t length;
} bytes;

// The bytes of an argument; false, with an exception: it has none.
static bool borrow(JSContext *ctx, JSValueConst value, bytes *out) {
  out->first = engine_need_bytes(ctx, value, &out->length);
  return out->first;
}

// An object that owns what Rust made, or null where that is nothing.
static JSValue own(JSContext *ctx, void *made, JSClassID class) {
  if (!made) return JS_NULL;
  JSValue object = JS_NewObjectClass(ctx, (int)class);
  if (!JS_IsException(object)) JS_SetOpaque(object, made);
  return object;
}

// An ArrayBuffer of zeros to write to.
static JSValue make_place(JSContext *ctx, JSValueConst length, uint8_t **first, size_t *count) {
  uint32_t wanted;
  if (JS_ToUint32(ctx, &wanted, length) < 0) return JS_EXCEPTION;
  uint8_t *zeros = calloc(wanted ? wanted : 1, 1);
  if (!zeros) return JS_ThrowOutOfMemory(ctx);
  JSValue place = JS_NewArrayBufferCopy(ctx, zeros, wanted);
  free(zeros);
  if (!JS_IsException(place)) *first = JS_GetArrayBuffer(ctx, count, place);
  return place;
}

// digest(name), mac(name, key): the state of one; null: there is no such algorithm
static JSValue begin_digestion(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments, int keyed) {
  (void)self, (void)count;
  size_t length;
  bytes key = {0};
  if (keyed && !borrow(ctx, arguments[1], &key)) return JS_EXCEPTION;
  const char *name = JS_ToCStringLen(ctx, &length, arguments[0]);
  if (!name) return JS_EXCEPTION;
  native_digestion *made = keyed ? native_mac((const uint8_t *)name, length, key.first, key.length)
                                 : native_digest((const uint8_t *)name, length);
  JS_FreeCString(ctx, name);
  return own(ctx, made, digestion_class);
}

// digestUpdate(state, bytes)
static JSValue update_digestion(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  native_digestion *state = JS_GetOpaque2(ctx, arguments[0], digestion_class);
  bytes data;
  if (!state || !borrow(ctx, arguments[1], &data)) return JS_EXCEPTION;
  native_digest_update(state, data.first, data.length);
  return JS_UNDEFINED;
}

// digestFinish(state, length): an ArrayBuffer
static JSValue finish_digestion(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  native_digestion *state = JS_GetOpaque2(ctx, arguments[0], digestion_class);
  uint8_t *first;
  size_t length;
  JSValue place = state ? make_place(ctx, arguments[1], &first, &length) : JS_EXCEPTION;
  if (!JS_IsException(place)) native_digest_finish(state, first, length);
  return place;
}

// digestCopy(state): another state
static JSValue copy_digestion(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  native_digestion *state = JS_GetOpaque2(ctx, arguments[0], digestion_class);
  return state ? own(ctx, native_digest_copy(state), digestion_class) : JS_EXCEPTION;
}

// pbkdf2(name, password, salt, iterations, length): an ArrayBuffer; null: there is no such algorithm
static JSValue pbkdf2(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  bytes password, salt;
  uint32_t iterations;
  uint8_t *first;
  size_t length, name_length;
  if (JS_ToUint32(ctx, &iterations, arguments[3]) < 0) return JS_EXCEPTION;
  const char *name = JS_ToCStringLen(ctx, &name_length, arguments[0]);
  if (!name) return JS_EXCEPTION;
  JSValue place = make_place(ctx, arguments[4], &first, &length);
  if (!JS_IsException(place) && (!borrow(ctx, arguments[1], &password) || !borrow(ctx, arguments[2], &salt))) {
    JS_FreeValue(ctx, place);
    place = JS_EXCEPTION;
  }
  bool done = !JS_IsException(place) && native_pbkdf2((const uint8_t *)name, name_length, password.first, password.length,
                                                      salt.first, salt.length, iterations, first, length);
  JS_FreeCString(ctx, name);
  if (done || JS_IsException(place)) return place;
  JS_FreeValue(ctx, place);
  return JS_NULL;
}

// scrypt(password, salt, log2 of the cost, block size, parallelization, length): an ArrayBuffer; null: the parameters are none
static JSValue scrypt(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  bytes password, salt;
  uint32_t numbers[3];
  uint8_t *first;
  size_t length;
  for (int i = 0; i < 3; i++)
    if (JS_ToUint32(ctx, &numbers[i], arguments[2 + i]) < 0) return JS_EXCEPTION;
  JSValue place = make_place(ctx, arguments[5], &first, &length);
  if (JS_IsException(place)) return place;
  if (!borrow(ctx, arguments[0], &password) || !borrow(ctx, arguments[1], &salt)) {
    JS_FreeValue(ctx, place);
    return JS_EXCEPTION;
  }
  if (numbers[0] < 64 && native_scrypt(password.first, password.length, salt.first, salt.length, (uint8_t)numbers[0],
                                       numbers[1], numbers[2], first, length))
    return place;
  JS_FreeValue(ctx, place);
  return JS_NULL;
}

// cipher(mode, key, initialization vector, decrypts): the state of one; null: the mode or a length is none
static JSValue begin_ciphering(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  bytes key, start;
  size_t length;
  if (!borrow(ctx, arguments[1], &key) || !borrow(ctx, arguments[2], &start)) return JS_EXCEPTION;
  const char *mode = JS_ToCStringLen(ctx, &length, arguments[0]);
  if (!mode) return JS_EXCEPTION;
  native_ciphering *made = native_cipher((const uint8_t *)mode, length, key.first, key.length, start.first, start.length,
                                         JS_ToBool(ctx, arguments[3]));
  JS_FreeCString(ctx, mode);
  return own(ctx, made, ciphering_class);
}

// cipherWithoutPadding(state)
static JSValue drop_padding(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  native_ciphering *state = JS_GetOpaque2(ctx, arguments[0], ciphering_class);
  if (!state) return JS_EXCEPTION;
  native_cipher_without_padding(state);
  return JS_UNDEFINED;
}

// cipherAdditional(state, bytes): false: the mode has no such data
static JSValue add_data(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  native_ciphering *state = JS_GetOpaque2(ctx, arguments[0], ciphering_class);
  bytes data;
  if (!state || !borrow(ctx, arguments[1], &data)) return JS_EXCEPTION;
  return JS_NewBool(ctx, native_cipher_additional(state, data.first, data.length));
}

// cipherUpdate(state, bytes): an ArrayBuffer
static JSValue update_ciphering(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  native_ciphering *state = JS_GetOpaque2(ctx, arguments[0], ciphering_class);
  bytes data;
  if (!state || !borrow(ctx, arguments[1], &data)) return JS_EXCEPTION;
  uint8_t *out = malloc(data.length + BLOCK);
  if (!out) return JS_ThrowOutOfMemory(ctx);
  JSValue result = JS_NewArrayBufferCopy(ctx, out, native_cipher_update(state, data.first, data.length, out));
  free(out);
  return result;
}

// cipherFinish(state): an ArrayBuffer; null: the length or the padding is wrong
static JSValue finish_ciphering(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  native_ciphering *state = JS_GetOpaque2(ctx, arguments[0], ciphering_class);
  if (!state) return JS_EXCEPTION;
  uint8_t out[BLOCK];
  int32_t length = native_cipher_finish(state, out);
  return length < 0 ? JS_NULL : JS_NewArrayBufferCopy(ctx, out, (size_t)length);
}

// cipherTag(state): an ArrayBuffer, once; null: there is none
static JSValue tag_of(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  native_ciphering *state = JS_GetOpaque2(ctx, arguments[0], ciphering_class);
  if (!state) return JS_EXCEPTION;
  uint8_t out[BLOCK];
  return native_cipher_tag(state, out) ? JS_NewArrayBufferCopy(ctx, out, BLOCK) : JS_NULL;
}

// pair(words, key, data, more): what native_pair answers, an ArrayBuffer; null: nothing
static JSValue pair(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  bytes key, data, more;
  size_t words_length, length = 0;
  const char *words = JS_ToCStringLen(ctx, &words_length, arguments[0]);
  if (!words) return JS_EXCEPTION;
  JSValue answer = JS_EXCEPTION;
  if (borrow(ctx, arguments[1], &key) && borrow(ctx, arguments[2], &data) && borrow(ctx, arguments[3], &more)) {
    uint8_t *made = native_pair((const uint8_t *)words, words_length, key.first, key.length, data.first, data.length,
                                more.first, more.length, &length);
    answer = made ? JS_NewArrayBufferCopy(ctx, made, length) : JS_NULL;
    native_bytes_end(made, length);
  }
  JS_FreeCString(ctx, words);
  return answer;
}

// sameBytes(left, right): in a time that depends on their length alone
static JSValue same(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  bytes left, right;
  if (!borrow(ctx, arguments[0], &left) || !borrow(ctx, arguments[1], &right)) return JS_EXCEPTION;
  return JS_NewBool(ctx, left.length == right.length && native_same(left.first, right.first, left.length));
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_MAGIC_DEF("digest", 2, begin_digestion, 0),
    JS_CFUNC_MAGIC_DEF("mac", 2, begin_digestion, 1),
    JS_CFUNC_DEF("digestUpdate", 2, update_digestion),
    JS_CFUNC_DEF("digestFinish", 2, finish_digestion),
    JS_CFUNC_DEF("digestCopy", 1, copy_digestion),
    JS_CFUNC_DEF("pbkdf2", 5, pbkdf2),
    JS_CFUNC_DEF("scrypt", 6, scrypt),
    JS_CFUNC_DEF("cipher", 4, begin_ciphering),
    JS_CFUNC_DEF("cipherWithoutPadding", 1, drop_padding),
    JS_CFUNC_DEF("cipherAdditional", 2, add_data),
    JS_CFUNC_DEF("cipherUpdate", 2, update_ciphering),
    JS_CFUNC_DEF("cipherFinish", 1, finish_ciphering),
    JS_CFUNC_DEF("cipherTag", 1, tag_of),
    JS_CFUNC_DEF("pair", 4, pair),
    JS_CFUNC_DEF("sameBytes", 2, same),
};

void crypto_install(JSContext *ctx, JSValueConst native) {
  engine_class(ctx, &digestion_class, &digestion_definition);
  engine_class(ctx, &ciphering_class, &ciphering_definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
