// Snippets that end with a call which was made for what it does. That such a call returns its emitter, or a timer, is for who goes on with it.
#include <string.h>

#include "javascript.h"

static const char *const names[] = {
    "on",  "once",           "addListener",        "prependListener", "prependOnceListener",
    "off", "removeListener", "removeAllListeners", "pipe",            "setTimeout",
    "setInterval", "setImmediate",
    // Of requests of `http` and sockets.
    "get", "request", "connect", "createConnection", "end",
};

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ';'; }

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

// Where the text begins whose quote is the last character before `end`; NULL: nowhere.
static const char *quoted(const char *source, const char *end) {
  char quote = end[-1];
  for (const char *at = end - 1; at-- > source;)
    if (*at == quote && (at == source || at[-1] != '\\')) return at;
  return NULL;
}

// Where the bracket is that the one before `end` closes; NULL: it is not found, as where a comment has one.
static const char *opening(const char *source, const char *end) {
  int depth = 0;
  while (end && end > source) {
    char c = end[-1];
    depth += (c == ')') - (c == '(');
    if (depth == 0) return end - 1;
    end = c == '\'' || c == '"' || c == '`' ? quoted(source, end) : end - 1;
  }
  return NULL;
}

static bool ends_with_such_a_call(const char *source, size_t length) {
  const char *end = source + length;
  while (end > source && is_space(end[-1])) end--;
  if (end == source || end[-1] != ')') return false;
  end = opening(source, end);
  const char *begin = end;
  while (begin && begin > source && is_word(begin[-1])) begin--;
  for (size_t i = 0; begin && i < sizeof names / sizeof *names; i++)
    if (strlen(names[i]) == (size_t)(end - begin) && memcmp(names[i], begin, (size_t)(end - begin)) == 0) return true;
  return false;
}

void asides_leave(JSContext *ctx, const char *source, size_t length, JSValue *value) {
  JSValue aside = JS_GetPropertyStr(ctx, js.asides, "value");
  if (!JS_IsObject(aside)) return;
  bool is_it = JS_IsObject(*value) && JS_VALUE_GET_PTR(*value) == JS_VALUE_GET_PTR(aside);
  JS_SetPropertyStr(ctx, js.asides, "value", JS_UNDEFINED);
  JS_FreeValue(ctx, aside);
  if (!is_it || !ends_with_such_a_call(source, length)) return;
  JS_FreeValue(ctx, *value);
  *value = JS_UNDEFINED;
}
