// What the module `vm` builds on: scripts by their text, and realms, which have the language's objects and no global of ours.
#include <time.h>

#include "javascript.h"

static JSClassID realm_class;

static void end_realm(JSRuntime *runtime, JSValueConst value) {
  (void)runtime;
  JSContext *realm = JS_GetOpaque(value, realm_class);
  if (realm) JS_FreeContext(realm);
}

static const JSClassDef realm_definition = {.class_name = "Realm", .finalizer = end_realm};

// realm(): a new one
static JSValue make(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  JSContext *realm = JS_NewContext(js.runtime);
  if (!realm) return JS_ThrowOutOfMemory(ctx);
  engine_forget_seed(realm);
  JSValue object = JS_NewObjectClass(ctx, (int)realm_class);
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
  bool late = mine && was_late && !js.exiting && JS_IsException(value);
  if (deadline != outer) end_at(outer);
  JS_FreeCString(ctx, source);
  JS_FreeCString(ctx, name);
  if (late) return refuse_late(ctx, milliseconds);
  if (!only_compiles || JS_IsException(value)) return value;
  JS_FreeValue(ctx, value);
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("realm", 0, make),
    JS_CFUNC_DEF("realmGlobal", 1, global),
    JS_CFUNC_DEF("runScript", 4, run),
};

void realm_install(JSContext *ctx, JSValueConst native) {
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JS_NewClassID(runtime, &realm_class);
  if (!JS_IsRegisteredClass(runtime, realm_class)) JS_NewClass(runtime, realm_class, &realm_definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
