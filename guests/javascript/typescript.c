// Files that are TypeScript: the host makes JavaScript of them, as of a program's that it runs.
#include <stdlib.h>
#include <string.h>

#include "javascript.h"

// What the host knows the compiler by.
#define PROGRAM "typescript"

// Columns of a line that an error's place is counted in.
#define MOST_COLUMNS 4096

// Bytes of a file and its JavaScript that are kept until the next: who looks at a file's kind asks for it again.
#define MOST_KEPT (256 << 10)

static struct {
  char *path, *source, *code;
  size_t source_length, code_length;
} last;

static void forget(void) {
  free(last.path);
  free(last.source);
  free(last.code);
  memset(&last, 0, sizeof last);
}

static void keep(const char *path, const char *source, size_t length, const char *code, size_t code_length) {
  forget();
  if (length + code_length > MOST_KEPT) return;
  last.path = strdup(path);
  last.source = malloc(length + 1);
  last.code = malloc(code_length + 1);
  if (!last.path || !last.source || !last.code) {
    forget();
    return;
  }
  memcpy(last.source, source, length);
  memcpy(last.code, code, code_length);
  last.source_length = length;
  last.code_length = code_length;
}

bool typescript_is(const char *path) {
  static const char *const endings[] = {".ts", ".tsx", ".mts", ".cts", ".jsx"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t length = strlen(path), tail = strlen(endings[i]);
    if (length > tail && strcmp(path + length - tail, endings[i]) == 0) return true;
  }
  return false;
}

// A syntax error at a place in a file: that of the engine, whose message is another then.
static JSValue error_at(JSContext *ctx, const char *path, int line, int column) {
  char code[MOST_COLUMNS + 2];
  int before = column > 1 && column <= MOST_COLUMNS ? column - 1 : 0;
  memset(code, ' ', (size_t)before);
  memcpy(code + before, ")", 2);
  JSEvalOptions options = {.version = JS_EVAL_OPTIONS_VERSION, .filename = path, .line_num = line};
  options.eval_flags = JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY;
  JS_FreeValue(ctx, JS_Eval2(ctx, code, (size_t)before + 1, &options));
  return JS_GetException(ctx);
}

// Throws what the host said, as JSON.
static void throw_said(JSContext *ctx, const char *path, const uint8_t *json, size_t length) {
  char *copy = strndup((const char *)json, length);
  JSValue said = copy ? JS_ParseJSON(ctx, copy, length, "<result>") : JS_ThrowOutOfMemory(ctx);
  free(copy);
  if (JS_IsException(said)) return;
  JSValue place[] = {JS_GetPropertyStr(ctx, said, "line"), JS_GetPropertyStr(ctx, said, "column")};
  JSValue code = JS_GetPropertyStr(ctx, said, "code");
  int32_t line = 0, column = 0;
  if (JS_IsNumber(place[0])) JS_ToInt32(ctx, &line, place[0]);
  if (JS_IsNumber(place[1])) JS_ToInt32(ctx, &column, place[1]);
  // Without a place it is the compiler that failed, and not the source.
  JSValue error = JS_IsUndefined(code) ? error_at(ctx, path, line > 0 ? line : 1, column) : JS_NewError(ctx);
  JS_DefinePropertyValueStr(ctx, error, "message", JS_GetPropertyStr(ctx, said, "message"),
                            JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  if (!JS_IsUndefined(code)) JS_SetPropertyStr(ctx, error, "code", code);
  JS_FreeValue(ctx, place[0]);
  JS_FreeValue(ctx, place[1]);
  JS_FreeValue(ctx, said);
  JS_Throw(ctx, error);
}

static char *ask_host(JSContext *ctx, const char *path, const char *source, size_t length, size_t *code_length) {
  guest_string_t argument = {(uint8_t *)path, strlen(path)};
  dormouse_sandbox_programs_command_t command = {
      .program = {(uint8_t *)PROGRAM, strlen(PROGRAM)},
      .arguments = {&argument, 1},
      .directory = {(uint8_t *)"/", 1},
      .input = {(uint8_t *)source, length},
  };
  dormouse_sandbox_programs_ended_t ended;
  if (!dormouse_sandbox_programs_run(&command, &ended)) {
    JS_ThrowTypeError(ctx, "%s: TypeScript cannot be compiled in this run", path);
    return NULL;
  }
  char *code = NULL;
  if (ended.status) {
    throw_said(ctx, path, ended.errors.ptr, ended.errors.len);
  } else if ((code = malloc(ended.output.len + 1))) {
    memcpy(code, ended.output.ptr, ended.output.len);
    code[*code_length = ended.output.len] = 0;
  } else {
    JS_ThrowOutOfMemory(ctx);
  }
  dormouse_sandbox_programs_ended_free(&ended);
  return code;
}

static void refuse_package(JSContext *ctx, const char *path) {
  JS_ThrowTypeError(ctx, "files of TypeScript below node_modules are not compiled, as in Node.js: %s", path);
  JSValue error = JS_GetException(ctx);
  JS_SetPropertyStr(ctx, error, "code", JS_NewString(ctx, "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING"));
  JS_Throw(ctx, error);
}

char *typescript_compile(JSContext *ctx, const char *path, const char *source, size_t length, size_t *code_length) {
  if (strstr(path, "/node_modules/")) {
    refuse_package(ctx, path);
    return NULL;
  }
  bool known = last.path && strcmp(last.path, path) == 0 && last.source_length == length &&
               memcmp(last.source, source, length) == 0;
  char *code = known ? malloc(last.code_length + 1) : ask_host(ctx, path, source, length, code_length);
  if (code && known) {
    memcpy(code, last.code, last.code_length);
    code[*code_length = last.code_length] = 0;
  } else if (code) {
    keep(path, source, length, code, *code_length);
  }
  return code;
}

// compileTypeScript(source, path): JavaScript
static JSValue compile(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  size_t length, code_length;
  const char *source = JS_ToCStringLen(ctx, &length, arguments[0]);
  const char *path = source ? JS_ToCString(ctx, arguments[1]) : NULL;
  char *code = path ? typescript_compile(ctx, path, source, length, &code_length) : NULL;
  JSValue result = code ? JS_NewStringLen(ctx, code, code_length) : JS_EXCEPTION;
  free(code);
  JS_FreeCString(ctx, source);
  JS_FreeCString(ctx, path);
  return result;
}

void typescript_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyStr(ctx, native, "compileTypeScript", JS_NewCFunction(ctx, compile, "compileTypeScript", 2));
}
