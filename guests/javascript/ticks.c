// What process.nextTick puts off: called when what runs has ended, before the jobs of promises.
#include <stdlib.h>

#include "javascript.h"

static deferred *ticks;
static size_t first, end, room;

static bool insert(deferred new) {
  if (end == room) {
    size_t more = room ? room * 2 : 8;
    deferred *list = realloc(ticks, more * sizeof *list);
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
  deferred new;
  if (!deferred_take(ctx, &new, count, arguments, 1)) return JS_EXCEPTION;
  if (insert(new)) return JS_UNDEFINED;
  deferred_release(ctx, &new);
  return JS_ThrowOutOfMemory(ctx);
}

bool ticks_pending(void) { return first < end; }

bool ticks_run(JSContext *ctx) {
  while (first < end) {
    deferred next = ticks[first++];
    // What comes later begins at the front of the list again.
    if (first == end) first = end = 0;
    if (!deferred_call(ctx, &next)) return false;
  }
  return true;
}

void ticks_clear(JSContext *ctx) {
  while (first < end) deferred_release(ctx, &ticks[first++]);
  first = end = 0;
}

static const JSCFunctionListEntry functions[] = {JS_CFUNC_DEF("nextTick", 1, put_off)};

void ticks_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
