#include "code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

void code_fail(JSContext *ctx, const char *what) {
  JSValue thrown = JS_GetException(ctx);
  const char *message = JS_ToCString(ctx, thrown);
  JSValue stack = JS_GetPropertyStr(ctx, thrown, "stack");
  const char *trace = JS_ToCString(ctx, stack);
  fprintf(stderr, "%s: %s\n%s\n", what, message, trace);
  abort();
}

// The language's objects, and then those that the prelude makes. What is made at its first use is not among them.
static const char *const names[] = {
    "Object", "Function", "Array", "String", "Number", "Boolean", "Symbol", "BigInt", "Math", "JSON", "Map", "Set", "WeakMap",
    "WeakSet", "WeakRef", "Promise", "Proxy", "Reflect", "RegExp", "Date", "Error", "AggregateError", "EvalError", "RangeError",
    "ReferenceError", "SyntaxError", "TypeError", "URIError", "ArrayBuffer", "SharedArrayBuffer", "DataView", "Uint8Array",
    "Uint8ClampedArray", "Uint16Array", "Uint32Array", "Int8Array", "Int16Array", "Int32Array", "Float16Array", "Float32Array",
    "Float64Array", "BigInt64Array", "BigUint64Array", "Iterator", "FinalizationRegistry", "DOMException", "globalThis",
    "queueMicrotask", "parseInt", "parseFloat", "isNaN", "isFinite", "encodeURI", "encodeURIComponent", "decodeURI",
    "decodeURIComponent", "escape", "unescape", "atob", "btoa",
    // From here on, the prelude's.
    "console", "performance", "crypto", "Event", "CustomEvent", "EventTarget", "AbortSignal", "AbortController", "TextEncoder",
    "TextDecoder", "URL", "URLSearchParams", "structuredClone", "process", "setTimeout", "setInterval", "setImmediate",
    "clearTimeout", "clearInterval", "clearImmediate",
};
static const size_t name_count = sizeof names / sizeof *names;

static size_t language_count(void) {
  size_t count = 0;
  while (strcmp(names[count], "console") != 0) count++;
  return count;
}

static size_t variables_of(const code_part *part) {
  return part->kind == CODE_BARE ? 0 : part->kind == CODE_PRELUDE ? language_count() : name_count;
}

JSValue code_globals(JSContext *ctx) {
  JSValue global = JS_GetGlobalObject(ctx), values = JS_NewArray(ctx);
  for (size_t i = 0; i < name_count; i++)
    JS_SetPropertyUint32(ctx, values, (uint32_t)i, JS_GetPropertyStr(ctx, global, names[i]));
  JS_FreeValue(ctx, global);
  return values;
}

// The source in its functions. No line is added before it.
static text wrapped(const code_part *part) {
  text whole = {0};
  size_t count = variables_of(part);
  if (count) text_string(&whole, "(function (");
  for (size_t i = 0; i < count; i++) text_format(&whole, "%s%s", i ? ", " : "", names[i]);
  if (count) text_string(&whole, ") { return (");
  if (part->kind == CODE_MODULE) text_string(&whole, "function (exports, require, module, native, shared) {");
  text_add(&whole, part->source, part->length);
  if (part->kind == CODE_MODULE) text_string(&whole, "\n}");
  if (count) text_string(&whole, "\n) })");
  text_add(&whole, "", 1);
  return whole;
}

void code_compile(JSContext *ctx, code_part *part) {
  if (part->code) return;
  text whole = wrapped(part);
  JSValue code =
      JS_Eval(ctx, whole.bytes, whole.length - 1, part->name, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
  if (JS_IsException(code)) code_fail(ctx, part->name);
  size_t length;
  uint8_t *bytes = JS_WriteObject(ctx, &length, code, JS_WRITE_OBJ_BYTECODE | JS_WRITE_OBJ_STRIP_SOURCE);
  if (!bytes) code_fail(ctx, part->name);
  part->code = malloc(length);
  if (!part->code) abort();
  part->code_length = length;
  memcpy(part->code, bytes, length);
  // Zeros are no part of the image.
  memset(whole.bytes, 0, whole.length);
  memset(part->source, 0, part->length);
  js_free(ctx, bytes);
  JS_FreeValue(ctx, code);
  text_free(&whole);
}

JSValue code_evaluate(JSContext *ctx, code_part *part, JSValueConst globals) {
  code_compile(ctx, part);
  JSValue code = JS_ReadObject(ctx, part->code, part->code_length, JS_READ_OBJ_BYTECODE);
  JSValue outer = JS_IsException(code) ? code : JS_EvalFunction(ctx, code);
  size_t count = variables_of(part);
  if (!count || JS_IsException(outer)) return outer;
  JSValue values[sizeof names / sizeof *names];
  for (size_t i = 0; i < count; i++) values[i] = JS_GetPropertyUint32(ctx, globals, (uint32_t)i);
  JSValue result = JS_Call(ctx, outer, JS_UNDEFINED, (int)count, (JSValueConst *)values);
  for (size_t i = 0; i < count; i++) JS_FreeValue(ctx, values[i]);
  JS_FreeValue(ctx, outer);
  return result;
}
