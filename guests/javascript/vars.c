// The user's globals: script-level `let`, `const` and `class`, and what was added to the global object.
#include <stdlib.h>
#include <string.h>

#include "javascript.h"

// Bytes of the text that `vars` shows for one value.
#define LONGEST_SUMMARY 200

static void forget_exception(JSContext *ctx) { JS_FreeValue(ctx, JS_GetException(ctx)); }

JSValue vars_get(JSContext *ctx, const char *name, size_t length) {
  JSAtom atom = JS_NewAtomLen(ctx, name, length);
  JSValue holders[] = {engine_lexicals(ctx), JS_GetGlobalObject(ctx)};
  JSValue value = JS_UNINITIALIZED;
  for (int i = 0; i < 2 && JS_IsUninitialized(value); i++) {
    int has = JS_HasProperty(ctx, holders[i], atom);
    if (has) value = has < 0 ? JS_EXCEPTION : JS_GetProperty(ctx, holders[i], atom);
  }
  JS_FreeAtom(ctx, atom);
  JS_FreeValue(ctx, holders[0]);
  JS_FreeValue(ctx, holders[1]);
  if (!JS_IsUninitialized(value)) return value;
  char *copy = strndup(name, text_prefix(name, length, 128));
  JS_ThrowReferenceError(ctx, "%s is not defined", copy ? copy : "the name");
  free(copy);
  return JS_EXCEPTION;
}

// Words that no variable can be called.
static bool is_reserved(const char *name, size_t length) {
  static const char *const words[] = {
      "await",  "break",   "case",     "catch",  "class", "const",      "continue", "debugger", "default", "delete",
      "do",     "else",    "enum",     "export", "extends", "false",    "finally",  "for",      "function", "if",
      "import", "in",      "instanceof", "let",  "new",   "null",       "return",   "static",   "super",   "switch",
      "this",   "throw",   "true",     "try",    "typeof", "undefined", "var",      "void",     "while",   "with",
      "yield",  "NaN",     "Infinity", "globalThis",
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strlen(words[i]) == length && memcmp(words[i], name, length) == 0) return true;
  }
  return false;
}

static bool is_identifier(const char *name, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)name[i];
    bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
    if (!letter && c != '_' && c != '$' && c < 0x80 && !(i && c >= '0' && c <= '9')) return false;
  }
  return length > 0;
}

bool vars_set(JSContext *ctx, const char *name, size_t length, JSValue value, const char **why) {
  *why = !is_identifier(name, length)  ? "the name is not an identifier"
         : is_reserved(name, length) ? "the name is a reserved word"
                                     : NULL;
  if (*why) {
    JS_FreeValue(ctx, value);
    return false;
  }
  JSAtom atom = JS_NewAtomLen(ctx, name, length);
  JSValue lexicals = engine_lexicals(ctx), global = JS_GetGlobalObject(ctx);
  // A lexical binding of that name would hide the global; it may be constant, so it goes.
  JS_DeleteProperty(ctx, lexicals, atom, 0);
  if (JS_DefinePropertyValue(ctx, global, atom, value, JS_PROP_C_W_E | JS_PROP_THROW) < 0) {
    forget_exception(ctx);
    *why = "the snippet has made this name constant";
  }
  JS_FreeValue(ctx, lexicals);
  JS_FreeValue(ctx, global);
  JS_FreeAtom(ctx, atom);
  return !*why;
}

typedef struct {
  const char *name;
  size_t length;
  JSAtom atom;
  bool lexical;
} variable;

static int by_name(const void *a, const void *b) {
  const variable *left = a, *right = b;
  size_t shorter = left->length < right->length ? left->length : right->length;
  int order = memcmp(left->name, right->name, shorter);
  return order ? order : left->length < right->length ? -1 : left->length > right->length;
}

// The data property's value; accessors and bindings that are not initialised yet give undefined.
static JSValue value_of(JSContext *ctx, JSValueConst holder, JSAtom atom) {
  JSPropertyDescriptor found;
  int has = JS_GetOwnProperty(ctx, &found, holder, atom);
  if (has < 0) forget_exception(ctx);
  if (has <= 0) return JS_UNDEFINED;
  JS_FreeValue(ctx, found.getter);
  JS_FreeValue(ctx, found.setter);
  return found.value;
}

static void write_variable(JSContext *ctx, const variable *v, JSValueConst holder, const bounds *limits, text *out) {
  JSValue value = value_of(ctx, holder, v->atom);
  char *class = describe_class(ctx, value);
  text about = {0};
  describe_short(ctx, value, &about);
  text_string(out, "{\"name\":");
  text_quoted(out, v->name, v->length, 256);
  text_string(out, ",\"type\":");
  text_quoted(out, class ? class : "", class ? strlen(class) : 0, 256);
  text_string(out, ",\"summary\":");
  text_quoted(out, about.bytes, about.length,
              limits->string_bytes < LONGEST_SUMMARY ? limits->string_bytes : LONGEST_SUMMARY);
  text_add(out, "}", 1);
  text_free(&about);
  free(class);
  JS_FreeValue(ctx, value);
}

void vars_list(JSContext *ctx, const bounds *limits, text *out) {
  JSValue holders[] = {engine_lexicals(ctx), JS_GetGlobalObject(ctx)};
  JSPropertyEnum *names[2] = {NULL, NULL};
  uint32_t counts[2] = {0, 0};
  size_t count = 0;
  for (int i = 0; i < 2; i++) {
    if (JS_GetOwnPropertyNames(ctx, &names[i], &counts[i], holders[i], JS_GPN_STRING_MASK) < 0) forget_exception(ctx);
  }
  variable *list = malloc((counts[0] + counts[1] + 1) * sizeof *list);
  for (int i = 0; i < 2 && list; i++) {
    for (uint32_t k = 0; k < counts[i]; k++) {
      if (i == 1 && JS_HasProperty(ctx, js.known_globals, names[i][k].atom)) continue;
      variable *v = &list[count++];
      v->atom = names[i][k].atom;
      v->lexical = i == 0;
      v->name = JS_AtomToCStringLen(ctx, &v->length, v->atom);
    }
  }
  if (list) qsort(list, count, sizeof *list, by_name);
  text_add(out, "[", 1);
  for (size_t i = 0; i < count; i++) {
    size_t before = out->length;
    if (i) text_add(out, ",", 1);
    write_variable(ctx, &list[i], holders[list[i].lexical ? 0 : 1], limits, out);
    if (out->length + 1 > limits->total_bytes) {
      out->length = before;
      break;
    }
  }
  text_add(out, "]", 1);
  for (size_t i = 0; i < count; i++) JS_FreeCString(ctx, list[i].name);
  free(list);
  for (int i = 0; i < 2; i++) {
    JS_FreePropertyEnum(ctx, names[i], counts[i]);
    JS_FreeValue(ctx, holders[i]);
  }
}
