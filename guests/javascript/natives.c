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

// The text of a value in UTF-8, to be freed with JS_FreeCString. The engine hands out lone surrogates as three bytes
// each; they become U+FFFD.
static const char *utf8(JSContext *ctx, JSValueConst value, size_t *length) {
  char *bytes = (char *)JS_ToCStringLen(ctx, length, value);
  // Whatever is not plain ASCII is a copy of its own, so it may be changed in place.
  char *end = bytes ? bytes + *length : NULL;
  for (char *at = bytes; at && (at = memchr(at, 0xED, (size_t)(end - at))); at += 3) {
    if ((uint8_t)at[1] >= 0xA0) memcpy(at, "\xEF\xBF\xBD", 3);
  }
  return bytes;
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
  const char *bytes = JS_IsException(line) ? NULL : utf8(ctx, line, &length);
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
  const char *bytes = utf8(ctx, arguments[1], &length);
  if (!bytes) return JS_EXCEPTION;
  driver_write(descriptor, bytes, length);
  JS_FreeCString(ctx, bytes);
  return JS_TRUE;
}

// indent(change): what console.group does; how far lines are moved then
static JSValue indent(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  int32_t change = 0;
  if (count && JS_ToInt32(ctx, &change, arguments[0]) < 0) return JS_EXCEPTION;
  int64_t depth = (int64_t)js.console_indent + change;
  js.console_indent = depth < 0 ? 0 : depth > 100 ? 100 : (uint32_t)depth;
  return JS_NewUint32(ctx, js.console_indent);
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
  const char *name = utf8(ctx, arguments[0], &name_length);
  const char *text = utf8(ctx, json, &json_length);
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
  const char *bytes = count ? utf8(ctx, arguments[0], &length) : NULL;
  if (!bytes) return JS_EXCEPTION;
  JSValue buffer = JS_NewArrayBufferCopy(ctx, (const uint8_t *)bytes, length);
  JS_FreeCString(ctx, bytes);
  return buffer;
}

// Whether more bytes could follow this one.
static bool is_start(uint8_t byte) { return byte >= 0xC2 && byte <= 0xF4; }

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
  bool failed = false;
  while (i < length && !failed) {
    size_t whole = driver_utf8(bytes + i, length - i, &bad);
    if (whole) {
      i += whole;
      continue;
    }
    if (more && bad == length - i && is_start(bytes[i])) break;
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

// details(value): what inspect cannot see from JavaScript: its kind, the name of its class, and a promise's state and value, a proxy's
// target and handler, or whether an iterator gives pairs and what it has still to give
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
  bool pairs = false;
  JSValue rest = engine_rest_of_iterator(ctx, arguments[0], &pairs);
  if (!JS_IsUndefined(rest)) {
    JS_SetPropertyUint32(ctx, result, 2, JS_NewBool(ctx, pairs));
    JS_SetPropertyUint32(ctx, result, 3, rest);
  }
  if (kind == KIND_PROXY) {
    JSValue target = JS_GetProxyTarget(ctx, arguments[0]);
    // One that was revoked has neither.
    if (JS_IsException(target)) JS_FreeValue(ctx, JS_GetException(ctx));
    JS_SetPropertyUint32(ctx, result, 2, JS_IsException(target) ? JS_NULL : target);
    if (!JS_IsException(target)) JS_SetPropertyUint32(ctx, result, 3, JS_GetProxyHandler(ctx, arguments[0]));
  }
  return result;
}

// compile(source, path): the function that a file of the older kind is the body of
static JSValue compile(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  size_t length;
  const char *source = count < 2 ? NULL : JS_ToCStringLen(ctx, &length, arguments[0]);
  const char *path = source ? JS_ToCString(ctx, arguments[1]) : NULL;
  text whole = {0};
  JSValue function = JS_EXCEPTION;
  if (path && engine_may_run(ctx, path)) {
    text_string(&whole, "(function (exports, require, module, __filename, __dirname) {");
    text_add(&whole, source, length);
    text_add(&whole, "\n})", 4);
    function = whole.failed ? JS_ThrowOutOfMemory(ctx)
                            : JS_Eval(ctx, whole.bytes, whole.length - 1, path, JS_EVAL_TYPE_GLOBAL);
  }
  text_free(&whole);
  JS_FreeCString(ctx, source);
  JS_FreeCString(ctx, path);
  return function;
}

// checkModule(source, path): throws when it is no module
static JSValue check_module(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  size_t length;
  const char *source = count < 2 ? NULL : JS_ToCStringLen(ctx, &length, arguments[0]);
  const char *path = source ? JS_ToCString(ctx, arguments[1]) : NULL;
  JSValue code = path ? JS_Eval(ctx, source, length, path, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY) : JS_EXCEPTION;
  JS_FreeCString(ctx, source);
  JS_FreeCString(ctx, path);
  if (JS_IsException(code)) return code;
  JS_FreeValue(ctx, code);
  return JS_UNDEFINED;
}

// context(): what follows asynchronous work
static JSValue context(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  return JS_DupValue(ctx, engine_async_context());
}

// setContext(value)
static JSValue set_context(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  engine_leave_async_context(ctx, JS_DupValue(ctx, arguments[0]));
  return JS_UNDEFINED;
}

// requireModule(path): the exports of an ES module; undefined: it awaits something
static JSValue require_module(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  const char *path = JS_ToCString(ctx, arguments[0]);
  JSValue exports = path ? engine_require_module(ctx, path) : JS_EXCEPTION;
  JS_FreeCString(ctx, path);
  return exports;
}

// Passes on what the engine tells of promises. An exception of before waits meanwhile.
static void tell_of_promise(JSContext *ctx, JSPromiseHookType event, JSValueConst promise, JSValueConst parent, void *opaque) {
  (void)opaque;
  bool threw = JS_HasException(ctx);
  JSValue before = threw ? JS_GetException(ctx) : JS_UNDEFINED;
  JSValue done = JS_Call(ctx, js.promise_hook, JS_UNDEFINED, 3, (JSValueConst[]){JS_NewInt32(ctx, event), promise, parent});
  if (JS_IsException(done)) JS_FreeValue(ctx, JS_GetException(ctx));
  JS_FreeValue(ctx, done);
  if (threw) JS_Throw(ctx, before);
}

// setPromiseHook(function, or nothing): what is told of promises: an event's number, the promise, its parent
static JSValue set_promise_hook(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  JS_SetPromiseHook(js.runtime, NULL, NULL);
  JS_FreeValue(ctx, js.promise_hook);
  js.promise_hook = JS_DupValue(ctx, arguments[0]);
  if (JS_IsFunction(ctx, js.promise_hook)) JS_SetPromiseHook(js.runtime, tell_of_promise, NULL);
  return JS_UNDEFINED;
}

static JSValue environment_age(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  return JS_NewUint32(ctx, js.environment_age);
}

// runNumber(): of what runs
static JSValue run_number(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  return JS_NewUint32(ctx, engine_evaluation);
}

// setExitCode(status): with which the run ends when nothing else ends it
static JSValue set_exit_code(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  return count && JS_ToInt32(ctx, &js.exit_code, arguments[0]) < 0 ? JS_EXCEPTION : JS_UNDEFINED;
}

// exitCode(): what it was set to in this run, or undefined
static JSValue exit_code(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  return js.exit_code ? JS_NewInt32(ctx, js.exit_code) : JS_UNDEFINED;
}

// callerName(level): which script or module the code is of that is so many calls above this one; undefined: none
static JSValue caller_name(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  int32_t level;
  if (JS_ToInt32(ctx, &level, arguments[0]) < 0) return JS_EXCEPTION;
  JSAtom atom = JS_GetScriptOrModuleName(ctx, level);
  if (atom == JS_ATOM_NULL) return JS_UNDEFINED;
  JSValue name = JS_AtomToString(ctx, atom);
  JS_FreeAtom(ctx, atom);
  return name;
}

// programName(): what the run is called; a path, if it is a file's
static JSValue program_name(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  return JS_NewString(ctx, js.program ? js.program : "");
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("callerName", 1, caller_name),
    JS_CFUNC_DEF("programName", 0, program_name),
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
    JS_CFUNC_DEF("compile", 2, compile),
    JS_CFUNC_DEF("checkModule", 2, check_module),
    JS_CFUNC_DEF("requireModule", 1, require_module),
    JS_CFUNC_DEF("context", 0, context),
    JS_CFUNC_DEF("setContext", 1, set_context),
    JS_CFUNC_DEF("setPromiseHook", 1, set_promise_hook),
    JS_CFUNC_DEF("environmentAge", 0, environment_age),
    JS_CFUNC_DEF("runNumber", 0, run_number),
    JS_CFUNC_DEF("exit", 1, run_exit),
    JS_CFUNC_DEF("listenToRuns", 1, run_listen),
    JS_CFUNC_DEF("setExitCode", 1, set_exit_code),
    JS_CFUNC_DEF("exitCode", 0, exit_code),
};

void natives_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
