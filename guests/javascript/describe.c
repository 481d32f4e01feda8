// Names of classes and short texts, taken from internal state as far as possible: a class's name must not depend on
// a getter, and a list of variables must not run code.
#include <stdlib.h>
#include <string.h>

#include "javascript.h"

// Prototypes that are searched for a constructor's name; proxies could make a chain endless.
#define LONGEST_CHAIN 32

// Bytes of a class's name.
#define LONGEST_NAME 256

static void forget_exception(JSContext *ctx) { JS_FreeValue(ctx, JS_GetException(ctx)); }

// The value of an own data property; an accessor is not called.
static JSValue own_data(JSContext *ctx, JSValueConst object, const char *name) {
  JSPropertyDescriptor found;
  JSAtom atom = JS_NewAtom(ctx, name);
  int has = JS_GetOwnProperty(ctx, &found, object, atom);
  JS_FreeAtom(ctx, atom);
  if (has < 0) forget_exception(ctx);
  if (has <= 0) return JS_UNDEFINED;
  bool data = !(found.flags & JS_PROP_GETSET);
  JSValue value = data ? JS_DupValue(ctx, found.value) : JS_UNDEFINED;
  JS_FreeValue(ctx, found.value);
  JS_FreeValue(ctx, found.getter);
  JS_FreeValue(ctx, found.setter);
  return value;
}

// The name of a function, or NULL when it is not a plain text.
static char *function_name(JSContext *ctx, JSValueConst function) {
  JSValue name = JS_IsProxy(function) ? JS_UNDEFINED : own_data(ctx, function, "name");
  char *copy = NULL;
  size_t length;
  const char *bytes = JS_IsString(name) ? JS_ToCStringLen(ctx, &length, name) : NULL;
  if (bytes && length) copy = strndup(bytes, text_prefix(bytes, length, LONGEST_NAME));
  JS_FreeCString(ctx, bytes);
  JS_FreeValue(ctx, name);
  return copy;
}

static char *constructor_name(JSContext *ctx, JSValueConst value) {
  JSValue at = JS_DupValue(ctx, value);
  char *name = NULL;
  for (int i = 0; i < LONGEST_CHAIN && JS_IsObject(at) && !JS_IsProxy(at) && !name; i++) {
    JSValue constructor = own_data(ctx, at, "constructor");
    if (JS_IsFunction(ctx, constructor)) name = function_name(ctx, constructor);
    JS_FreeValue(ctx, constructor);
    JSValue next = JS_GetPrototype(ctx, at);
    JS_FreeValue(ctx, at);
    at = next;
  }
  if (JS_IsException(at)) forget_exception(ctx);
  JS_FreeValue(ctx, at);
  return name;
}

char *describe_class(JSContext *ctx, JSValueConst value) {
  if (!JS_IsObject(value)) {
    const char *name = JS_IsString(value)            ? "String"
                       : JS_IsNumber(value)          ? "Number"
                       : JS_IsBool(value)            ? "Boolean"
                       : JS_IsBigInt(value)          ? "BigInt"
                       : JS_IsSymbol(value)          ? "Symbol"
                       : JS_IsNull(value)            ? "null"
                                                     : "undefined";
    return strdup(name);
  }
  if (JS_IsProxy(value)) return strdup("Proxy");
  engine_kind kind = engine_kind_of(value);
  if (kind == KIND_NAMESPACE) return strdup("Module");
  if (kind == KIND_CLASS) return strdup("Function");
  if (kind == KIND_ITERATOR) {
    // Iterators share one constructor; the engine's own names tell them apart.
    JSAtom atom = JS_GetClassName(js.runtime, JS_GetClassID(value));
    const char *internal = JS_AtomToCString(ctx, atom);
    char *copy = strdup(internal ? internal : "Iterator");
    JS_FreeCString(ctx, internal);
    JS_FreeAtom(ctx, atom);
    return copy;
  }
  char *name = constructor_name(ctx, value);
  return name ? name : strdup("Object");
}

static const char *describe_function(JSContext *ctx, JSValueConst value, size_t *length) {
  char *name = function_name(ctx, value);
  text out = {0};
  text_string(&out, engine_kind_of(value) == KIND_CLASS ? "[class " : "[Function: ");
  text_string(&out, name ? name : "(anonymous)");
  text_add(&out, "]", 1);
  free(name);
  JSValue string = out.failed ? JS_UNDEFINED : JS_NewStringLen(ctx, out.bytes, out.length);
  text_free(&out);
  const char *bytes = JS_ToCStringLen(ctx, length, string);
  JS_FreeValue(ctx, string);
  return bytes;
}

static JSValue promise_text(JSContext *ctx, JSValueConst promise) {
  switch (JS_PromiseState(ctx, promise)) {
    case JS_PROMISE_PENDING:
      return JS_NewString(ctx, "Promise { <pending> }");
    case JS_PROMISE_FULFILLED:
      return JS_NewString(ctx, "Promise { <fulfilled> }");
    default:
      return JS_NewString(ctx, "Promise { <rejected> }");
  }
}

const char *describe_object(JSContext *ctx, JSValueConst value, size_t *length) {
  JSValue said = JS_UNDEFINED;
  switch (engine_kind_of(value)) {
    case KIND_FUNCTION:
    case KIND_CLASS:
      return describe_function(ctx, value, length);
    case KIND_NAMESPACE:
      said = JS_NewString(ctx, "[Module]");
      break;
    case KIND_PROMISE:
      said = promise_text(ctx, value);
      break;
    case KIND_DATE:
      said = JS_Call(ctx, js.date_to_iso_string, value, 0, NULL);
      if (JS_IsException(said)) {
        forget_exception(ctx);
        said = JS_NewString(ctx, "Invalid Date");
      }
      break;
    case KIND_PROXY:
      return NULL;
    default: {
      // Only what the object defines itself: Object.prototype's text says nothing.
      JSValue own = JS_GetPropertyStr(ctx, value, "toString");
      if (JS_IsFunction(ctx, own) && JS_VALUE_GET_PTR(own) != JS_VALUE_GET_PTR(js.object_to_string))
        said = JS_Call(ctx, own, value, 0, NULL);
      JS_FreeValue(ctx, own);
    }
  }
  const char *bytes = JS_IsString(said) ? JS_ToCStringLen(ctx, length, said) : NULL;
  JS_FreeValue(ctx, said);
  if (JS_HasException(ctx)) forget_exception(ctx);
  return bytes;
}

// Names of own properties, without their values.
static void describe_keys(JSContext *ctx, JSValueConst value, text *out) {
  JSPropertyEnum *names;
  uint32_t count;
  if (JS_GetOwnPropertyNames(ctx, &names, &count, value, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) {
    forget_exception(ctx);
    return;
  }
  text_string(out, " {");
  for (uint32_t i = 0; i < count && i < 8; i++) {
    size_t length;
    const char *name = JS_AtomToCStringLen(ctx, &length, names[i].atom);
    if (i) text_string(out, ", ");
    if (name) text_add(out, name, text_prefix(name, length, 40));
    JS_FreeCString(ctx, name);
  }
  text_string(out, count > 8 ? ", ...}" : "}");
  JS_FreePropertyEnum(ctx, names, count);
}

void describe_short(JSContext *ctx, JSValueConst value, text *out) {
  if (!JS_IsObject(value)) {
    size_t length;
    bool quote = JS_IsString(value);
    JSValue symbol = JS_IsSymbol(value) ? JS_GetPropertyStr(ctx, value, "description") : JS_UNDEFINED;
    const char *bytes = JS_ToCStringLen(ctx, &length, JS_IsSymbol(value) ? symbol : value);
    if (JS_IsSymbol(value)) text_string(out, "Symbol(");
    if (quote) text_add(out, "'", 1);
    size_t shown = bytes ? text_prefix(bytes, length, 200) : 0;
    text_add(out, bytes, shown);
    if (bytes && shown < length) text_string(out, "...");
    if (quote) text_add(out, "'", 1);
    if (JS_IsBigInt(value)) text_add(out, "n", 1);
    if (JS_IsSymbol(value)) text_add(out, ")", 1);
    JS_FreeCString(ctx, bytes);
    JS_FreeValue(ctx, symbol);
    if (!bytes) forget_exception(ctx);
    return;
  }
  engine_kind kind = engine_kind_of(value);
  size_t length;
  if (kind == KIND_FUNCTION || kind == KIND_CLASS) {
    const char *bytes = describe_function(ctx, value, &length);
    text_string(out, bytes ? bytes : "[Function]");
    JS_FreeCString(ctx, bytes);
    return;
  }
  char *class = describe_class(ctx, value);
  text_string(out, class ? class : "Object");
  free(class);
  int64_t count;
  if (kind == KIND_ARRAY && JS_GetLength(ctx, value, &count) == 0) {
    text_format(out, "(%lld)", (long long)count);
  } else if (kind == KIND_MAP || kind == KIND_SET) {
    text_format(out, "(%u)", engine_entry_count(value));
  } else if (kind == KIND_BYTES) {
    engine_bytes(ctx, value, &length);
    text_format(out, "(%zu bytes)", length);
  } else if (kind == KIND_PLAIN) {
    describe_keys(ctx, value, out);
  }
}
