// Snippets with static `import` and `export`, which only a module may have. A module has no value and leaves no variables, so
// they are run as two scripts: what they import, as `await import(...)`, and all the rest, in which those statements are
// blanks. Everything stays in its line and column. The value of the first is the modules, whose variables are then the
// second one's: what a module does to what it exports is seen.
#include <string.h>

#include "javascript.h"

// In whose place the value of `export default` stands: not longer than the words that it takes the place of.
#define DEFAULT "_default_"

static void add_quoted(JSContext *ctx, text *out, JSValueConst string) {
  size_t length;
  const char *bytes = JS_ToCStringLen(ctx, &length, string);
  if (bytes) text_quoted(out, bytes, length, length);
  else out->failed = true;
  JS_FreeCString(ctx, bytes);
}

// Goes on to the place of `at` in the source, from the place of `from`, if the line is not longer already.
static void go_to(text *out, const char *source, size_t from, size_t at) {
  size_t line = out->length;
  while (line && out->bytes[line - 1] != '\n') line--;
  for (size_t i = from; i < at; i++) {
    if (source[i] != '\n') continue;
    text_add(out, "\n", 1);
    line = out->length;
  }
  size_t begin = at;
  while (begin && source[begin - 1] != '\n') begin--;
  while (!out->failed && out->length - line < at - begin) text_add(out, " ", 1);
}

static void add_module(JSContext *ctx, text *out, const engine_statement *statement) {
  text_string(out, "(await import(");
  add_quoted(ctx, out, statement->module);
  text_string(out, "))");
}

// Ends the run where an import names what its module does not export.
static void add_check(JSContext *ctx, text *out, const engine_statement *statement, JSValueConst name) {
  text_string(out, "if (!(");
  add_quoted(ctx, out, name);
  text_string(out, " in ");
  add_module(ctx, out, statement);
  text_string(out, ")) throw new SyntaxError(`Could not find export '${");
  add_quoted(ctx, out, name);
  text_string(out, "}' in module '${");
  add_quoted(ctx, out, statement->module);
  text_string(out, "}'`);");
}

static void add_import(JSContext *ctx, text *out, const engine_statement *statement) {
  int64_t count = 0;
  JS_GetLength(ctx, statement->names, &count);
  add_module(ctx, out, statement);
  text_string(out, ";");
  for (uint32_t i = 0; i < count; i++) {
    JSValue pair = JS_GetPropertyUint32(ctx, statement->names, i), name = JS_GetPropertyUint32(ctx, pair, 0);
    const char *there = JS_ToCString(ctx, name);
    if (!there) out->failed = true;
    else if (strcmp(there, "*") != 0) add_check(ctx, out, statement, name);
    JS_FreeCString(ctx, there);
    JS_FreeValue(ctx, name);
    JS_FreeValue(ctx, pair);
  }
}

// Takes a part away; a semicolon is left, because the line before it may end without one.
static void blank(char *script, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) {
    if (script[i] != '\n' && script[i] != '\r') script[i] = i == begin ? ';' : ' ';
  }
}

static size_t skip_blanks(const char *source, size_t at) { return at + strspn(source + at, " \t\r\n"); }

static bool is_word(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_' ||
         byte == '$' || byte & 0x80 || byte == '\\';
}

// The place behind a word, if it stands here; or else 0.
static size_t behind(const char *source, size_t at, const char *word) {
  size_t length = strlen(word);
  return strncmp(source + at, word, length) == 0 && !is_word(source[at + length]) ? at + length : 0;
}

// Whether a function or a class is declared here, and where its name is, if it has one. With a comment in between it is not
// looked for.
static bool declares(const char *source, size_t at, size_t *begin, size_t *end) {
  size_t next = behind(source, at, "async");
  if (next) at = skip_blanks(source, next);
  next = behind(source, at, "function");
  bool is_class = !next;
  if (is_class) next = behind(source, at, "class");
  if (!next) return false;
  at = skip_blanks(source, next);
  if (!is_class && source[at] == '*') at = skip_blanks(source, at + 1);
  *begin = *end = at;
  if (is_class && behind(source, at, "extends")) return true;
  while (is_word(source[*end])) ++*end;
  return true;
}

// Takes the words of an export away; what is the default is the value of the snippet. False: it cannot be said in a script.
static bool rewrite_export(const char *source, char *script, const engine_statement *statement, text *value) {
  size_t at = skip_blanks(source, statement->begin + strlen("export")), begin, end;
  if (source[at] == '/' || source[at] == '*') return false;
  if (source[at] == '{') {
    size_t last = statement->end;
    while (last > at && strchr("; \t\r\n", source[last - 1])) last--;
    // What is exported of another module is in no variable.
    if (source[last - 1] != '}') return false;
    blank(script, statement->begin, statement->end);
    return true;
  }
  size_t rest = behind(source, at, "default");
  if (!rest) {
    blank(script, statement->begin, statement->begin + strlen("export"));
    return true;
  }
  rest = skip_blanks(source, rest);
  if (source[rest] == '/') return false;
  bool is_declared = declares(source, rest, &begin, &end);
  blank(script, statement->begin, rest);
  if (is_declared && end > begin) {
    text_add(value, source + begin, end - begin);
    return true;
  }
  // A function or a class without a name ends its statement without a semicolon; as a value it would not.
  if (is_declared && source[skip_blanks(source, statement->end)]) return false;
  if (memchr(source + statement->begin, '\n', rest - statement->begin)) return false;
  memcpy(script + statement->begin + 1, DEFAULT "=", sizeof DEFAULT);
  text_string(value, DEFAULT);
  return true;
}

bool statements_rewrite(JSContext *ctx, const char *source, size_t length, text *imports, text *script) {
  size_t count, at = 0;
  const engine_statement *all = engine_noted_statements(&count);
  text value = {0};
  text_add(script, source, length);
  bool done = count && !script->failed;
  for (size_t i = 0; done && i < count; i++) {
    if (JS_IsUndefined(all[i].module)) {
      done = rewrite_export(source, script->bytes, &all[i], &value);
      continue;
    }
    go_to(imports, source, at, all[i].begin);
    at = all[i].begin;
    add_import(ctx, imports, &all[i]);
    blank(script->bytes, all[i].begin, all[i].end);
  }
  text_string(imports, "\n[");
  for (size_t i = 0; i < count; i++) {
    if (JS_IsUndefined(all[i].module)) continue;
    add_module(ctx, imports, &all[i]);
    text_string(imports, ",");
  }
  text_string(imports, "]");
  if (value.length) {
    text_string(script, "\n;");
    text_add(script, value.bytes, value.length);
  }
  // A source ends with a zero that is no part of it.
  text_add(imports, "", 1);
  text_add(script, "", 1);
  done = done && !imports->failed && !script->failed && !value.failed;
  text_free(&value);
  return done;
}

bool statements_bind(JSContext *ctx, JSValueConst modules) {
  size_t count;
  const engine_statement *all = engine_noted_statements(&count);
  uint32_t at = 0;
  bool done = true;
  for (size_t i = 0; done && i < count; i++) {
    if (JS_IsUndefined(all[i].module)) continue;
    JSValue module = JS_GetPropertyUint32(ctx, modules, at++);
    done = engine_bind_imports(ctx, module, all[i].names);
    JS_FreeValue(ctx, module);
  }
  return done;
}

void statements_expect_default(JSContext *ctx, bool begins) {
  JSValue global = JS_GetGlobalObject(ctx);
  JSAtom name = JS_NewAtom(ctx, DEFAULT);
  if (begins) JS_SetProperty(ctx, global, name, JS_UNDEFINED);
  else JS_DeleteProperty(ctx, global, name, 0);
  JS_FreeAtom(ctx, name);
  JS_FreeValue(ctx, global);
}
