// What process.nextTick puts off: called when what runs has ended, before the jobs of promises.
#include <stdlib.h>

#include "javascript.h"

typedef struct {
  JSValue function, async_context;
  int argument_count;
  JSValue *arguments;
} tick;

static tick *ticks;
static size_t first, end, room;

static void release(JSContext *ctx, tick *old) {
  for (int i = 0; i < old->argument_count; i++) JS_FreeValue(ctx, old->arguments[i]);
  free(old->arguments);
  JS_FreeValue(ctx, old->function);
  JS_FreeValue(ctx, old->async_context);
}

static bool insert(tick new) {
  if (end == room) {
    size_t more = room ? room * 2 : 8;
    tick *list = realloc(ticks, more * sizeof *list);
    if (!list) return false;
    ticks = list;
    room = more;
  }
  ticks[end++] = new;
  return true;
}

// nextTick(function, ...arguments)
static JSValue put_off(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  tick new = {.argument_count = count > 1 ? count - 1 : 0};
  if (new.argument_count) {
    new.arguments = malloc((size_t)new.argument_count * sizeof *new.arguments);
    if (!new.arguments) return JS_ThrowOutOfMemory(ctx);
    for (int i = 0; i < new.argument_count; i++) new.arguments[i] = JS_DupValue(ctx, arguments[i + 1]);
  }
  new.function = JS_DupValue(ctx, arguments[0]);
  new.async_context = JS_DupValue(ctx, engine_async_context());
  if (insert(new)) return JS_UNDEFINED;
  release(ctx, &new);
  return JS_ThrowOutOfMemory(ctx);
}

bool ticks_pending(void) { return first < end; }

bool ticks_run(JSContext *ctx) {
  while (first < end) {
    tick next = ticks[first++];
    // What comes later begins at the front of the list again.
    if (first == end) first = end = 0;
    JSValue outer = engine_enter_async_context(next.async_context);
    JSValue done = JS_Call(ctx, next.function, JS_UNDEFINED, next.argument_count, (JSValueConst *)next.arguments);
    engine_leave_async_context(ctx, outer);
    release(ctx, &next);
    bool threw = JS_IsException(done);
    JS_FreeValue(ctx, done);
    if (threw) return false;
  }
  return true;
}

void ticks_clear(JSContext *ctx) {
  while (first < end) release(ctx, &ticks[first++]);
  first = end = 0;
}

static const JSCFunctionListEntry functions[] = {JS_CFUNC_DEF("nextTick", 1, put_off)};

void ticks_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
