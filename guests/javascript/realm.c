// What the module `vm` builds on: scripts by their text, and realms, which have the language's objects and no global of ours.
#include <time.h>

#include "javascript.h"

static JSClassID realm_class, global_class;

static void end_realm(JSRuntime *runtime, JSValueConst value) {
  (void)runtime;
  JSContext *realm = JS_GetOpaque(value, realm_class);
  if (realm) JS_FreeContext(realm);
}

static void mark_realm(JSRuntime *runtime, JSValueConst value, JS_MarkFunc *mark) {
  JSContext *realm = JS_GetOpaque(value, realm_class);
  if (realm) engine_mark_context(runtime, realm, mark);
}

static const JSClassDef realm_definition = {.class_name = "Realm", .finalizer = end_realm, .gc_mark = mark_realm};

// The global object of a realm that was made for an object: its properties are the object's, and else those of the language.
typedef struct {
  JSValue object, language;
} properties;

// Past so many prototypes of an object nothing is looked for: a proxy could have no end of them.
#define PROTOTYPES 1000

static bool is_same(JSValueConst left, JSValueConst right) { return JS_VALUE_GET_PTR(left) == JS_VALUE_GET_PTR(right); }

// Looks for a property in the object and its prototypes, but not in that which all objects have.
static int find(JSContext *ctx, JSPropertyDescriptor *found, JSValueConst object, JSAtom name) {
  JSValue at = JS_DupValue(ctx, object);
  int is_there = 0;
  for (int i = 0; !is_there && i < PROTOTYPES && JS_IsObject(at) && !is_same(at, js.object_prototype); i++) {
    is_there = JS_GetOwnProperty(ctx, found, at, name);
    JSValue next = is_there ? JS_NULL : JS_GetPrototype(ctx, at);
    JS_FreeValue(ctx, at);
    if (JS_IsException(next)) return -1;
    at = next;
  }
  JS_FreeValue(ctx, at);
  return is_there;
}

static int get_own(JSContext *ctx, JSPropertyDescriptor *found, JSValueConst global, JSAtom name) {
  properties *own = JS_GetOpaque(global, global_class);
  int is_there = find(ctx, found, own->object, name);
  if (is_there == 0) return JS_GetOwnProperty(ctx, found, own->language, name);
  // Seen from inside, the object is the global one.
  if (is_there > 0 && found && JS_IsObject(found->value) && is_same(found->value, own->object)) {
    JS_FreeValue(ctx, found->value);
    found->value = JS_DupValue(ctx, global);
  }
  return is_there;
}

static int get_names(JSContext *ctx, JSPropertyEnum **names, uint32_t *count, JSValueConst global) {
  properties *own = JS_GetOpaque(global, global_class);
  JSPropertyEnum *first, *second, *all;
  uint32_t before, more, kept;
  int all_kinds = JS_GPN_STRING_MASK | JS_GPN_SYMBOL_MASK;
  if (JS_GetOwnPropertyNames(ctx, &first, &before, own->object, all_kinds) < 0) return -1;
  if (JS_GetOwnPropertyNames(ctx, &second, &more, own->language, all_kinds) < 0) {
    JS_FreePropertyEnum(ctx, first, before);
    return -1;
  }
  all = js_malloc(ctx, (before + more + 1) * sizeof *all);
  kept = all ? before : 0;
  for (uint32_t i = 0; i < kept; i++) all[i] = (JSPropertyEnum){.atom = JS_DupAtom(ctx, first[i].atom)};
  for (uint32_t i = 0; all && i < more; i++) {
    int is_known = JS_GetOwnProperty(ctx, NULL, own->object, second[i].atom);
    if (is_known == 0) all[kept++] = (JSPropertyEnum){.atom = JS_DupAtom(ctx, second[i].atom)};
    if (is_known >= 0) continue;
    JS_FreePropertyEnum(ctx, all, kept);
    all = NULL;
  }
  JS_FreePropertyEnum(ctx, first, before);
  JS_FreePropertyEnum(ctx, second, more);
  *names = all;
  *count = kept;
  return all ? 0 : -1;
}

static int delete(JSContext *ctx, JSValueConst global, JSAtom name) {
  properties *own = JS_GetOpaque(global, global_class);
  int done = JS_DeleteProperty(ctx, own->object, name, 0);
  return done > 0 ? JS_DeleteProperty(ctx, own->language, name, 0) : done;
}

static int define(JSContext *ctx, JSValueConst global, JSAtom name, JSValueConst value, JSValueConst getter, JSValueConst setter,
                  int flags) {
  properties *own = JS_GetOpaque(global, global_class);
  const int kinds = JS_PROP_HAS_CONFIGURABLE | JS_PROP_HAS_WRITABLE | JS_PROP_HAS_ENUMERABLE;
  // An assignment to what the object has not itself: it becomes a property like any.
  if (!(flags & (kinds | JS_PROP_HAS_GET | JS_PROP_HAS_SET))) {
    int is_own = JS_GetOwnProperty(ctx, NULL, own->object, name);
    int is_known = is_own ? is_own : get_own(ctx, NULL, global, name);
    if (is_known < 0) return -1;
    if (!is_own && is_known) flags |= kinds | JS_PROP_C_W_E;
  }
  return JS_DefineProperty(ctx, own->object, name, value, getter, setter, flags);
}

static void end_global(JSRuntime *runtime, JSValueConst value) {
  properties *own = JS_GetOpaque(value, global_class);
  if (!own) return;
  JS_FreeValueRT(runtime, own->object);
  JS_FreeValueRT(runtime, own->language);
  js_free_rt(runtime, own);
}

static void mark_global(JSRuntime *runtime, JSValueConst value, JS_MarkFunc *mark) {
  properties *own = JS_GetOpaque(value, global_class);
  if (!own) return;
  JS_MarkValue(runtime, own->object, mark);
  JS_MarkValue(runtime, own->language, mark);
}

static JSClassExoticMethods global_methods = {
    .get_own_property = get_own,
    .get_own_property_names = get_names,
    .delete_property = delete,
    .define_own_property = define,
};
static const JSClassDef global_definition = {.class_name = "Object", .finalizer = end_global, .gc_mark = mark_global, .exotic = &global_methods};

// Makes an object the place of a realm's globals.
static bool put_globals(JSContext *realm, JSValueConst object) {
  properties *own = js_mallocz(realm, sizeof *own);
  JSValue language = JS_GetGlobalObject(realm), prototype = JS_GetPrototype(realm, language);
  JSValue global = own ? JS_NewObjectProtoClass(realm, prototype, global_class) : JS_EXCEPTION;
  JS_FreeValue(realm, prototype);
  if (JS_IsException(global)) {
    JS_FreeValue(realm, language);
    js_free(realm, own);
    return false;
  }
  *own = (properties){JS_DupValue(realm, object), language};
  JS_SetOpaque(global, own);
  JS_DefinePropertyValueStr(realm, own->language, "globalThis", JS_DupValue(realm, global), JS_PROP_CONFIGURABLE | JS_PROP_WRITABLE);
  engine_set_global(realm, global);
  return true;
}

// What the engine gives each context, and the language does not have.
static void delete_extras(JSContext *realm) {
  JSValue global = JS_GetGlobalObject(realm);
  JSAtom performance = JS_NewAtom(realm, "performance");
  JS_DeleteProperty(realm, global, performance, 0);
  JS_FreeAtom(realm, performance);
  JS_FreeValue(realm, global);
}

// Has the prelude give a realm what depends on locales. False: an exception is thrown.
static bool localize(JSContext *ctx, JSContext *realm, JSValueConst give) {
  JSValue object = JS_GetGlobalObject(realm);
  JSValue done = JS_Call(ctx, give, JS_UNDEFINED, 1, (JSValueConst *)&object);
  JS_FreeValue(ctx, object);
  bool gave = !JS_IsException(done);
  JS_FreeValue(ctx, done);
  return gave;
}

// realm(object, give): a new one, whose globals are those of the object, if there is one; `give` is called with its global object
static JSValue make(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  JSContext *realm = JS_NewContext(js.runtime);
  if (!realm) return JS_ThrowOutOfMemory(ctx);
  engine_forget_seed(realm);
  delete_extras(realm);
  if (!localize(ctx, realm, arguments[1])) {
    JS_FreeContext(realm);
    return JS_EXCEPTION;
  }
  JSValue object = !JS_IsObject(arguments[0]) || put_globals(realm, arguments[0]) ? JS_NewObjectClass(ctx, (int)realm_class) : JS_ThrowOutOfMemory(ctx);
  if (JS_IsException(object)) JS_FreeContext(realm);
  else JS_SetOpaque(object, realm);
  return object;
}

// realmGlobal(realm): its global object
static JSValue global(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  JSContext *realm = JS_GetOpaque2(ctx, arguments[0], realm_class);
  return realm ? JS_GetGlobalObject(realm) : JS_EXCEPTION;
}

// Until when a script may run, in nanoseconds of the monotonic clock; 0: as long as it wants.
static int64_t deadline;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Whether the engine was told that the time is over; it throws an error then that nothing catches.
static bool was_late;

// Asked by the engine now and then.
static int is_late(JSRuntime *runtime, void *opaque) {
  (void)runtime, (void)opaque;
  if (now() < deadline) return 0;
  was_late = true;
  return 1;
}

static void end_at(int64_t when) {
  deadline = when;
  JS_SetInterruptHandler(js.runtime, when ? is_late : NULL, NULL);
}

// What a script gets whose time is over instead of the error that nothing catches.
static JSValue refuse_late(JSContext *ctx, int64_t milliseconds) {
  JS_FreeValue(ctx, JS_GetException(ctx));
  JS_ThrowPlainError(ctx, "Script execution timed out after %lldms", (long long)milliseconds);
  JSValue error = JS_GetException(ctx);
  JS_SetPropertyStr(ctx, error, "code", JS_NewString(ctx, "ERR_SCRIPT_EXECUTION_TIMEOUT"));
  return JS_Throw(ctx, error);
}

// runScript(source, name, realm, milliseconds): the value of a script, here without a realm; with false it is only compiled.
// 0 milliseconds: it may run as long as it wants.
static JSValue run(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  bool only_compiles = JS_IsBool(arguments[2]);
  JSContext *in = JS_IsObject(arguments[2]) ? JS_GetOpaque2(ctx, arguments[2], realm_class) : ctx;
  if (!in) return JS_EXCEPTION;
  if (!engine_may_compile(ctx)) return JS_EXCEPTION;
  size_t length;
  int64_t milliseconds;
  if (JS_ToInt64(ctx, &milliseconds, arguments[3]) < 0) return JS_EXCEPTION;
  const char *source = JS_ToCStringLen(ctx, &length, arguments[0]);
  const char *name = source ? JS_ToCString(ctx, arguments[1]) : NULL;
  int flags = JS_EVAL_TYPE_GLOBAL | ENGINE_EVAL_SNIPPET | (only_compiles ? JS_EVAL_FLAG_COMPILE_ONLY : 0);
  int64_t outer = deadline, mine = milliseconds > 0 ? now() + milliseconds * 1000000 : 0;
  if (mine && (!outer || mine < outer)) end_at(mine);
  was_late = false;
  JSValue value = name ? JS_Eval(in, source, length, name, flags) : JS_EXCEPTION;
  // A script inside may have had less time than this one, or this one less than that around it.
  bool late = mine && was_late && now() >= mine && !js.exiting && JS_IsException(value);
  if (late) was_late = false;
  if (deadline != outer) end_at(outer);
  JS_FreeCString(ctx, source);
  JS_FreeCString(ctx, name);
  if (late) return refuse_late(ctx, milliseconds);
  if (!only_compiles || JS_IsException(value)) return value;
  JS_FreeValue(ctx, value);
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("realm", 2, make),
    JS_CFUNC_DEF("realmGlobal", 1, global),
    JS_CFUNC_DEF("runScript", 4, run),
};

void realm_install(JSContext *ctx, JSValueConst native) {
  engine_class(ctx, &realm_class, &realm_definition);
  engine_class(ctx, &global_class, &global_definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
