// The library: modules of Node.js that are evaluated when they are first asked for. Its files are those of `library` and those of
// packages that `library/library.txt` names; the recipe writes the list (`library_sources.h`).
#include <string.h>

#include "code.h"
#include "javascript.h"
#include "library_sources.h"

// library(name): the function of a module; undefined: there is none of this name
static JSValue load(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  const char *name = JS_ToCString(ctx, arguments[0]);
  if (!name) return JS_EXCEPTION;
  JSValue found = JS_UNDEFINED;
  for (size_t i = 0; i < sizeof library / sizeof *library; i++) {
    if (strcmp(library[i].name + strlen(LIBRARY_PREFIX), name) != 0) continue;
    found = code_evaluate(ctx, &library[i], js.globals);
    break;
  }
  JS_FreeCString(ctx, name);
  return found;
}

// libraryNames(): of all modules
static JSValue list(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  JSValue names = JS_NewArray(ctx);
  for (size_t i = 0; i < sizeof library / sizeof *library; i++)
    JS_SetPropertyUint32(ctx, names, (uint32_t)i, JS_NewString(ctx, library[i].name + strlen(LIBRARY_PREFIX)));
  return names;
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("library", 1, load),
    JS_CFUNC_DEF("libraryNames", 0, list),
};

void library_compile(JSContext *ctx) {
  for (size_t i = 0; i < sizeof library / sizeof *library; i++) code_compile(ctx, &library[i]);
}

void library_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
