// Imports: built-in modules by name, files by path, packages as prelude/packages.js finds them.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "javascript.h"

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

// The object that stands for a built-in module, or undefined. Some have the prefix in their name: without it they are none.
static JSValue built_in(JSContext *ctx, const char *name) {
  if (strncmp(name, "node:", 5) == 0) {
    JSValue object = JS_GetPropertyStr(ctx, js.modules, name);
    if (!JS_IsUndefined(object)) return object;
    name += 5;
  }
  return JS_GetPropertyStr(ctx, js.modules, name);
}

static bool is_path(const char *name) {
  return name[0] == '/' || strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0 || strcmp(name, ".") == 0 ||
         strcmp(name, "..") == 0;
}

static bool is_data(const char *name) { return strncmp(name, "data:", 5) == 0; }

// Joins and cleans a path; the result is absolute.
static char *resolve(JSContext *ctx, const char *base, const char *name) {
  char folder[PATH_MAX];
  const char *slash = base[0] == '/' ? strrchr(base, '/') : NULL;
  if (slash && (size_t)(slash - base) < sizeof folder) {
    memcpy(folder, base, (size_t)(slash - base));
    folder[slash - base] = 0;
  } else if (!getcwd(folder, sizeof folder)) {
    folder[0] = 0;
  }
  if (name[0] == '/') folder[0] = 0;
  size_t room = strlen(folder) + strlen(name) + 3;
  char *path = js_malloc(ctx, room), *joined = malloc(room);
  if (!path || !joined) {
    js_free(ctx, path);
    free(joined);
    return NULL;
  }
  strcpy(joined, folder);
  strcat(joined, "/");
  strcat(joined, name);
  size_t length = 0;
  for (char *part = strtok(joined, "/"); part; part = strtok(NULL, "/")) {
    if (strcmp(part, ".") == 0) continue;
    if (strcmp(part, "..") == 0) {
      while (length && path[--length] != '/') {
      }
      continue;
    }
    path[length++] = '/';
    memcpy(path + length, part, strlen(part));
    length += strlen(part);
  }
  path[length] = 0;
  free(joined);
  return path;
}

// Calls a function of the prelude's that takes two texts.
static JSValue ask_packages(JSContext *ctx, const char *function, const char *first, const char *second, size_t length) {
  JSAtom atom = JS_NewAtom(ctx, function);
  JSValue arguments[] = {JS_NewString(ctx, first), JS_NewStringLen(ctx, second, length)};
  JSValue result = JS_Invoke(ctx, js.packages, atom, 2, (JSValueConst *)arguments);
  JS_FreeValue(ctx, arguments[0]);
  JS_FreeValue(ctx, arguments[1]);
  JS_FreeAtom(ctx, atom);
  return result;
}

static bool is_built_in(JSContext *ctx, const char *name) {
  JSValue object = built_in(ctx, name);
  bool is = JS_IsObject(object);
  JS_FreeValue(ctx, object);
  return is;
}

// What the prelude finds by a function that takes two texts: a path.
static char *find(JSContext *ctx, const char *function, const char *name, const char *base) {
  JSValue found = ask_packages(ctx, function, name, base, strlen(base));
  const char *path = JS_IsException(found) ? NULL : JS_ToCString(ctx, found);
  char *copy = path ? js_strdup(ctx, path) : NULL;
  JS_FreeCString(ctx, path);
  JS_FreeValue(ctx, found);
  return copy;
}

static char *normalize(JSContext *ctx, const char *base, const char *name, void *opaque) {
  (void)opaque;
  if (is_data(name)) return js_strdup(ctx, name);
  if (strncmp(name, "file://", 7) == 0) name += 7;
  if (is_path(name) && name[0] != '/' && is_data(base)) {
    JS_ThrowTypeError(ctx, "cannot import '%s' from a data: URL, which lies in no folder", name);
    return NULL;
  }
  if (is_path(name)) {
    char *path = resolve(ctx, base, name);
    // One file is one module, whatever its name leaves out.
    char *file = path ? find(ctx, "file", path, base) : NULL;
    js_free(ctx, path);
    return file;
  }
  if (is_built_in(ctx, name)) return js_strdup(ctx, name);
  return find(ctx, "resolve", name, base);
}

static int fill_built_in(JSContext *ctx, JSModuleDef *module) {
  JSValue object = JS_GetModulePrivateValue(ctx, module);
  JSPropertyEnum *names;
  uint32_t count;
  int done = JS_GetOwnPropertyNames(ctx, &names, &count, object, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY);
  for (uint32_t i = 0; done >= 0 && i < count; i++) {
    const char *name = JS_AtomToCString(ctx, names[i].atom);
    if (name && strcmp(name, "default") != 0)
      JS_SetModuleExport(ctx, module, name, JS_GetProperty(ctx, object, names[i].atom));
    JS_FreeCString(ctx, name);
  }
  if (done >= 0) JS_FreePropertyEnum(ctx, names, count);
  JS_SetModuleExport(ctx, module, "default", object);
  return done < 0 ? -1 : 0;
}

static int fill_default(JSContext *ctx, JSModuleDef *module) {
  return JS_SetModuleExport(ctx, module, "default", JS_GetModulePrivateValue(ctx, module));
}

// A module whose default export is the value, and that has no other.
static JSModuleDef *module_of_value(JSContext *ctx, const char *name, JSValue value) {
  JSModuleDef *module = JS_IsException(value) ? NULL : JS_NewCModule(ctx, name, fill_default);
  if (module) {
    JS_AddModuleExport(ctx, module, "default");
    JS_SetModulePrivateValue(ctx, module, value);
  } else {
    JS_FreeValue(ctx, value);
  }
  return module;
}

// A module with one export for each property of the object, which is the default export.
static JSModuleDef *module_of(JSContext *ctx, const char *name, JSValue object) {
  if (!JS_IsObject(object)) return module_of_value(ctx, name, object);
  JSModuleDef *module = JS_NewCModule(ctx, name, fill_built_in);
  JSPropertyEnum *names;
  uint32_t count;
  if (!module || JS_GetOwnPropertyNames(ctx, &names, &count, object, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) {
    JS_FreeValue(ctx, object);
    return NULL;
  }
  for (uint32_t i = 0; i < count; i++) {
    const char *export = JS_AtomToCString(ctx, names[i].atom);
    if (export && strcmp(export, "default") != 0) JS_AddModuleExport(ctx, module, export);
    JS_FreeCString(ctx, export);
  }
  JS_FreePropertyEnum(ctx, names, count);
  JS_AddModuleExport(ctx, module, "default");
  JS_SetModulePrivateValue(ctx, module, object);
  return module;
}

static void set_meta(JSContext *ctx, JSModuleDef *module, const char *name) {
  JSValue meta = JS_GetImportMeta(ctx, module);
  if (JS_IsException(meta)) return;
  JSAtom resolver = JS_NewAtom(ctx, "resolver");
  JSValue base = JS_NewString(ctx, name);
  JS_SetPropertyStr(ctx, meta, "resolve", JS_Invoke(ctx, js.packages, resolver, 1, (JSValueConst *)&base));
  JS_FreeValue(ctx, base);
  JS_FreeAtom(ctx, resolver);
  if (name[0] == '/') {
    text url = {0};
    text_string(&url, "file://");
    text_string(&url, name);
    const char *slash = strrchr(name, '/');
    size_t folder = slash == name ? 1 : (size_t)(slash - name);
    JS_SetPropertyStr(ctx, meta, "url", JS_NewStringLen(ctx, url.bytes, url.length));
    JS_SetPropertyStr(ctx, meta, "filename", JS_NewStringLen(ctx, name, strcspn(name, "?#")));
    JS_SetPropertyStr(ctx, meta, "dirname", JS_NewStringLen(ctx, name, folder));
    text_free(&url);
  } else {
    JS_SetPropertyStr(ctx, meta, "url", JS_NewString(ctx, name));
  }
  JS_FreeValue(ctx, meta);
}

// A name of a module may end with a query, which makes another module of the same file.
static void cut_query(char *name) {
  name[strcspn(name, "?#")] = 0;
}

// The file itself, or with the endings that Node tries; `path`, of PATH_MAX bytes, is the one found.
static char *load(const char *name, char *path, size_t *length) {
  static const char *const endings[] = {"", ".js", ".mjs", ".cjs", ".json", "/index.js"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    if (strlen(name) + strlen(endings[i]) >= PATH_MAX) break;
    strcpy(path, name);
    strcat(path, endings[i]);
    char *source = files_load(path, length);
    if (source) return source;
  }
  return NULL;
}

static JSModuleDef *compile_module(JSContext *ctx, const char *source, size_t length, const char *name, int flags) {
  JSValue code = JS_Eval(ctx, source, length, name, flags | JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
  if (JS_IsException(code)) return NULL;
  JSModuleDef *module = JS_VALUE_GET_PTR(code);
  set_meta(ctx, module, name);
  // The context's list of loaded modules keeps it.
  JS_FreeValue(ctx, code);
  return module;
}

// The module that a `data:` URL has: code made from text.
static JSModuleDef *load_data(JSContext *ctx, const char *name) {
  if (!engine_may_compile(ctx)) return NULL;
  JSValue found = ask_packages(ctx, "dataModule", name, "", 0);
  if (JS_IsException(found)) return NULL;
  JSValue text = JS_GetPropertyStr(ctx, found, "source"), value = JS_GetPropertyStr(ctx, found, "value");
  JS_FreeValue(ctx, found);
  if (JS_IsUndefined(text)) return module_of_value(ctx, name, value);
  JS_FreeValue(ctx, value);
  size_t length;
  const char *source = JS_ToCStringLen(ctx, &length, text);
  JS_FreeValue(ctx, text);
  JSModuleDef *module = source ? compile_module(ctx, source, length, name, ENGINE_EVAL_SNIPPET) : NULL;
  JS_FreeCString(ctx, source);
  return module;
}

static JSModuleDef *load_module(JSContext *ctx, const char *name, void *opaque, JSValueConst attributes) {
  (void)opaque;
  (void)attributes;
  if (is_data(name)) return load_data(ctx, name);
  JSValue object = built_in(ctx, name);
  if (JS_IsObject(object)) return module_of(ctx, name, object);
  JS_FreeValue(ctx, object);
  size_t length;
  char path[PATH_MAX];
  char *source = load(name, path, &length);
  if (!source && strpbrk(name, "?#") && strlen(name) < PATH_MAX) {
    char plain[PATH_MAX];
    cut_query(strcpy(plain, name));
    source = load(plain, path, &length);
  }
  if (!source) {
    int code = errno;
    JSValue error = files_error(ctx, code, "import", name);
    // As Node.js names it; what else is wrong with a file has its own code.
    if (code == ENOENT) JS_SetPropertyStr(ctx, error, "code", JS_NewString(ctx, "ERR_MODULE_NOT_FOUND"));
    JS_Throw(ctx, error);
    return NULL;
  }
  if (!ends_with(path, ".json") && !engine_may_run(ctx, path)) {
    free(source);
    return NULL;
  }
  if (typescript_is(path)) {
    char *code = typescript_compile(ctx, path, source, length, &length);
    free(source);
    if (!(source = code)) return NULL;
  }
  JSModuleDef *module = NULL;
  JSValue common = ends_with(path, ".json") ? JS_UNDEFINED : ask_packages(ctx, "commonJs", path, source, length);
  if (JS_IsException(common)) {
  } else if (ends_with(path, ".json")) {
    module = module_of_value(ctx, name, JS_ParseJSON(ctx, source, length, name));
  } else if (JS_IsObject(common)) {
    module = module_of(ctx, name, JS_GetPropertyStr(ctx, common, "exports"));
  } else {
    module = compile_module(ctx, source, length, name, 0);
  }
  JS_FreeValue(ctx, common);
  free(source);
  return module;
}

void modules_install(JSRuntime *runtime) {
  JS_SetModuleLoaderFunc2(runtime, normalize, load_module, NULL, NULL);
}

static JSValue default_export(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments, int magic,
                              JSValueConst *data) {
  (void)self, (void)count, (void)arguments, (void)magic;
  JSAtom atom = JS_NewAtom(ctx, "default");
  JSValue value = JS_HasProperty(ctx, data[0], atom) > 0 ? JS_GetProperty(ctx, data[0], atom) : JS_UNDEFINED;
  JS_FreeAtom(ctx, atom);
  return value;
}

JSValue modules_compile(JSContext *ctx, const char *source, size_t length, const char *name) {
  return JS_Eval(ctx, source, length, name, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY | ENGINE_EVAL_SNIPPET);
}

JSValue modules_evaluate(JSContext *ctx, JSValue code, const char *name) {
  if (JS_IsException(code)) return code;
  JSModuleDef *module = JS_VALUE_GET_PTR(code);
  set_meta(ctx, module, name);
  JSValue done = JS_EvalFunction(ctx, code);
  if (JS_IsException(done)) return done;
  JSValue exports = JS_GetModuleNamespace(ctx, module);
  JSValue then = JS_NewCFunctionData(ctx, default_export, 0, 0, 1, (JSValueConst[]){exports});
  JSValue result = JS_PromiseThen(ctx, done, then, JS_UNDEFINED);
  JS_FreeValue(ctx, then);
  JS_FreeValue(ctx, exports);
  JS_FreeValue(ctx, done);
  return result;
}
