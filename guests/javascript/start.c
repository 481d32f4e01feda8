// Start-up: the runtime, contexts and their prelude, and what is done once before the image is taken.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code.h"
#include "javascript.h"

// What JavaScript may use of the C stack, which is larger; past it, a RangeError is thrown.
#define STACK_LIMIT (4 << 20)

// The first collection of cycles. A fresh instance should not run one: it writes to every object of the image.
#define FIRST_COLLECTION (16 << 20)

// Frames that the engine writes into `stack`.
#define STACK_FRAMES 64

interpreter js;

static char prelude_layout[] = {
#embed "prelude/layout.js"
    , 0};
static char prelude_inspect[] = {
#embed "prelude/inspect.js"
    , 0};
static char prelude_format[] = {
#embed "prelude/format.js"
    , 0};
static char prelude_timers[] = {
#embed "prelude/timers.js"
    , 0};
static char prelude_console[] = {
#embed "prelude/console.js"
    , 0};
static char prelude_events[] = {
#embed "prelude/events.js"
    , 0};
static char prelude_encoding[] = {
#embed "prelude/encoding.js"
    , 0};
static char prelude_url_record[] = {
#embed "prelude/url_record.js"
    , 0};
static char prelude_url[] = {
#embed "prelude/url.js"
    , 0};
static char prelude_clone[] = {
#embed "prelude/clone.js"
    , 0};
static char prelude_path[] = {
#embed "prelude/path.js"
    , 0};
static char prelude_files[] = {
#embed "prelude/files.js"
    , 0};
static char prelude_opened[] = {
#embed "prelude/opened.js"
    , 0};
static char prelude_process[] = {
#embed "prelude/process.js"
    , 0};
static char prelude_names[] = {
#embed "prelude/names.js"
    , 0};
static char prelude_library[] = {
#embed "prelude/library.js"
    , 0};
static char prelude_intl[] = {
#embed "prelude/intl.js"
    , 0};
static char prelude_test[] = {
#embed "prelude/test.js"
    , 0};
static char prelude_packages[] = {
#embed "prelude/packages.js"
    , 0};
static char prelude_query[] = {
#embed "prelude/query.js"
    , 0};

// Each part is a function expression of `(native, shared)`, which is called; the last, `query`, is kept as it is.
static code_part parts[] = {
#define PART(name) {"dormouse:" #name, prelude_##name, sizeof prelude_##name - 1, CODE_PRELUDE, NULL, 0}
    PART(layout),  PART(inspect), PART(format), PART(timers), PART(console), PART(events), PART(encoding), PART(url_record), PART(url),      PART(clone), PART(path),
    PART(files),   PART(opened),  PART(library), PART(names), PART(intl), PART(process), PART(test),       PART(packages),
#undef PART
    {"dormouse:query", prelude_query, sizeof prelude_query - 1, CODE_BARE, NULL, 0},
};

static JSValue property(JSContext *ctx, JSValueConst object, const char *name) {
  JSValue value = JS_GetPropertyStr(ctx, object, name);
  if (JS_IsException(value)) code_fail(ctx, name);
  return value;
}

static void remember_globals(JSContext *ctx, JSValueConst global) {
  JSPropertyEnum *names;
  uint32_t count;
  js.known_globals = JS_NewObjectProto(ctx, JS_NULL);
  if (JS_GetOwnPropertyNames(ctx, &names, &count, global, JS_GPN_STRING_MASK) < 0) code_fail(ctx, "globals");
  for (uint32_t i = 0; i < count; i++) JS_DefinePropertyValue(ctx, js.known_globals, names[i].atom, JS_TRUE, 0);
  JS_FreePropertyEnum(ctx, names, count);
}

void start_context(void) {
  JSContext *ctx = js.context = JS_NewContext(js.runtime);
  if (!ctx) abort();
  engine_forget_seed(ctx);
  JSValue global = JS_GetGlobalObject(ctx);
  // The engine gives it to the first context of a runtime only.
  JSValue exception = property(ctx, global, "DOMException");
  if (JS_IsUndefined(exception)) JS_AddIntrinsicDOMException(ctx);
  JS_FreeValue(ctx, exception);
  JSValue constructor = property(ctx, global, "Object");
  js.object_prototype = property(ctx, constructor, "prototype");
  js.object_to_string = property(ctx, js.object_prototype, "toString");
  JS_FreeValue(ctx, constructor);
  constructor = property(ctx, global, "Date");
  JSValue prototype = property(ctx, constructor, "prototype");
  js.date_to_iso_string = property(ctx, prototype, "toISOString");
  JS_FreeValue(ctx, prototype);
  JS_FreeValue(ctx, constructor);
  constructor = property(ctx, global, "Error");
  JS_SetPropertyStr(ctx, constructor, "stackTraceLimit", JS_NewInt32(ctx, STACK_FRAMES));
  JS_FreeValue(ctx, constructor);

  js.tell = js.promise_hook = JS_UNDEFINED;
  js.globals = code_globals(ctx);
  JSValue native = JS_NewObject(ctx), shared = JS_NewObject(ctx);
  natives_install(ctx, native);
  files_install(ctx, native);
  opened_install(ctx, native);
  crypto_install(ctx, native);
  decoders_install(ctx, native);
  zlib_install(ctx, native);
  frames_install(ctx, native);
  realm_install(ctx, native);
  timers_install(ctx, native);
  ticks_install(ctx, native);
  calls_install(ctx, native);
  net_install(ctx, native);
  library_install(ctx, native);
  intl_install(ctx, native);
  typescript_install(ctx, native);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    JSValue function = code_evaluate(ctx, &parts[i], js.globals);
    if (i == sizeof parts / sizeof *parts - 1) {
      js.evaluate = function;
      break;
    }
    JSValue done = JS_Call(ctx, function, JS_UNDEFINED, 2, (JSValueConst[]){native, shared});
    if (JS_IsException(done)) code_fail(ctx, parts[i].name);
    JS_FreeValue(ctx, done);
    JS_FreeValue(ctx, function);
  }
  js.format = property(ctx, shared, "format");
  js.asides = property(ctx, shared, "asides");
  js.modules = property(ctx, shared, "modules");
  js.packages = property(ctx, shared, "packages");
  JS_FreeValue(ctx, native);
  JS_FreeValue(ctx, shared);
  JS_FreeValue(ctx, js.globals);
  js.globals = code_globals(ctx);
  remember_globals(ctx, global);
  JS_FreeValue(ctx, global);
}

void stop_context(void) {
  JSContext *ctx = js.context;
  timers_clear(ctx);
  ticks_clear(ctx);
  net_clear(ctx);
  engine_leave_async_context(ctx, JS_UNDEFINED);
  engine_drop_jobs(js.runtime);
  JS_SetPromiseHook(js.runtime, NULL, NULL);
  JSValue kept[] = {js.object_prototype, js.object_to_string, js.date_to_iso_string, js.format,
                    js.modules,          js.packages,         js.evaluate,           js.known_globals,
                    js.globals,          js.tell,             js.promise_hook,
                    js.asides};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) JS_FreeValue(ctx, kept[i]);
  JS_FreeContext(ctx);
  JS_RunGC(js.runtime);
}

// Runs a snippet and drops what came of it.
static void warm(const char *source) {
  guest_string_t text = {(uint8_t *)strdup(source), strlen(source)};
  options with = {.name = {(uint8_t *)strdup("<snippet>"), 9},
                  .allow_eval = true,
                  .bounds = {.depth = 3, .items = 50, .string_bytes = 10000, .total_bytes = 262144, .frames = 30}};
  outcome result;
  exports_dormouse_sandbox_interpreter_eval(&text, &with, &result);
  exports_dormouse_sandbox_interpreter_outcome_free(&result);
}

__attribute__((export_name("wizer-initialize"))) void initialize(void) {
  js.runtime = JS_NewRuntime();
  if (!js.runtime) abort();
  JS_SetMaxStackSize(js.runtime, STACK_LIMIT);
  // As the first thread of Node.js may.
  JS_SetCanBlock(js.runtime, true);
  JS_SetHostPromiseRejectionTracker(js.runtime, run_track_rejection, NULL);
  modules_install(js.runtime);
  start_context();
  library_compile(js.context);
  // Whatever the engine makes on first use should be in the image.
  for (int i = 0; i < 20; i++) {
    warm("1 + 1");
    warm("let a = [1, 'two', {three: 3.5}]; a");
    warm("null.x");
    warm("await Promise.resolve(1)");
    warm("function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } f(5)");
    warm("throw new TypeError('text')");
    warm("not a program");
  }
  stop_context();
  start_context();
  warm("1 + 1");
  warm("null.x");
  sources_clear();
  JS_RunGC(js.runtime);
  JS_SetGCThreshold(js.runtime, FIRST_COLLECTION);
  void *top = sbrk(0);
  driver_fill_heap();
  engine_fill_arenas(js.runtime, top);
  driver_end_initialisation();
}

void driver_rest(void) {}

void start_wake(void) {
  JS_UpdateStackTop(js.runtime);
  if (driver_restored()) engine_forget_seed(js.context);
}

// A reset makes a new context, which has to load the modules again; it is the one place where start-up code runs.
void exports_dormouse_sandbox_interpreter_reset(void) {
  start_wake();
  sources_clear();
  stop_context();
  start_context();
}
