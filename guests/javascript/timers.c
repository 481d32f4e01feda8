// Timers: a list ordered by due time, emptied before a run ends. prelude/timers.js makes setTimeout and the others of it.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "javascript.h"

typedef struct {
  int64_t due;
  // Nanoseconds between calls; 0: once.
  int64_t interval;
  uint32_t id;
  // A run waits for it.
  bool waited_for;
  // In which it was asked for.
  JSValue async_context;
  int argument_count;
  JSValue function;
  JSValue *arguments;
} timer;

// The next timer is the last of the list.
static timer *timers;
static size_t timer_count, timer_room;
static uint32_t last_id;

#define MILLISECOND 1000000

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Behind all timers that are due at the same time.
static bool insert(timer new) {
  if (timer_count == timer_room) {
    size_t room = timer_room ? timer_room * 2 : 8;
    timer *list = realloc(timers, room * sizeof *list);
    if (!list) return false;
    timers = list;
    timer_room = room;
  }
  size_t low = 0, high = timer_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (timers[middle].due > new.due) low = middle + 1;
    else high = middle;
  }
  memmove(&timers[low + 1], &timers[low], (timer_count - low) * sizeof *timers);
  timers[low] = new;
  timer_count++;
  return true;
}

static void release(JSContext *ctx, timer *old) {
  for (int i = 0; i < old->argument_count; i++) JS_FreeValue(ctx, old->arguments[i]);
  free(old->arguments);
  JS_FreeValue(ctx, old->function);
  JS_FreeValue(ctx, old->async_context);
}

// What starts a timer; the magic number says which function was called.
enum { TIMEOUT, INTERVAL, IMMEDIATE };

static JSValue set_timer(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments, int kind) {
  (void)self;
  if (count < 1 || !JS_IsFunction(ctx, arguments[0])) return JS_ThrowTypeError(ctx, "the callback must be a function");
  double delay = 0;
  int first = kind == IMMEDIATE ? 1 : 2;
  if (kind != IMMEDIATE) {
    if (count > 1 && JS_ToFloat64(ctx, &delay, arguments[1]) < 0) return JS_EXCEPTION;
    if (!(delay >= 1)) delay = 1;
    if (delay > INT32_MAX) delay = 1;
  }
  timer new = {.due = now() + (int64_t)(delay * MILLISECOND), .id = ++last_id, .waited_for = true};
  if (kind == INTERVAL) new.interval = (int64_t)(delay * MILLISECOND);
  if (count > first) {
    new.arguments = malloc((size_t)(count - first) * sizeof *new.arguments);
    if (!new.arguments) return JS_ThrowOutOfMemory(ctx);
    for (int i = first; i < count; i++) new.arguments[new.argument_count++] = JS_DupValue(ctx, arguments[i]);
  }
  new.function = JS_DupValue(ctx, arguments[0]);
  new.async_context = JS_DupValue(ctx, engine_async_context());
  if (!insert(new)) {
    release(ctx, &new);
    return JS_ThrowOutOfMemory(ctx);
  }
  return JS_NewUint32(ctx, new.id);
}

static JSValue clear_timer(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  if (count < 1 || !JS_IsNumber(arguments[0])) return JS_UNDEFINED;
  int64_t id;
  if (JS_ToInt64(ctx, &id, arguments[0]) < 0) return JS_EXCEPTION;
  for (size_t i = 0; i < timer_count; i++) {
    if (timers[i].id != id) continue;
    timer old = timers[i];
    memmove(&timers[i], &timers[i + 1], (--timer_count - i) * sizeof *timers);
    release(ctx, &old);
    break;
  }
  return JS_UNDEFINED;
}

// setWaitedFor(id, whether a run waits for it)
static JSValue set_waited_for(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  int64_t id;
  if (JS_ToInt64(ctx, &id, arguments[0]) < 0) return JS_EXCEPTION;
  for (size_t i = 0; i < timer_count; i++)
    if (timers[i].id == id) timers[i].waited_for = JS_ToBool(ctx, arguments[1]);
  return JS_UNDEFINED;
}

bool timers_pending(void) { return timer_count > 0; }

bool timers_waited_for(void) {
  for (size_t i = 0; i < timer_count; i++)
    if (timers[i].waited_for) return true;
  return false;
}

bool timers_fire(JSContext *ctx) {
  int64_t wait = timers[timer_count - 1].due - now();
  if (wait > 0) {
    struct timespec time = {.tv_sec = wait / 1000000000, .tv_nsec = wait % 1000000000};
    nanosleep(&time, NULL);
  }
  timer due = timers[--timer_count];
  if (due.interval) {
    // Back in the list before the call, so that the call can clear it.
    timer again = due;
    again.due += again.interval;
    again.function = JS_DupValue(ctx, due.function);
    again.async_context = JS_DupValue(ctx, due.async_context);
    again.arguments = due.argument_count ? malloc((size_t)due.argument_count * sizeof *again.arguments) : NULL;
    for (int i = 0; i < due.argument_count && again.arguments; i++)
      again.arguments[i] = JS_DupValue(ctx, due.arguments[i]);
    insert(again);
  }
  JSValue outer = engine_enter_async_context(due.async_context);
  JSValue done = JS_Call(ctx, due.function, JS_UNDEFINED, due.argument_count, (JSValueConst *)due.arguments);
  engine_leave_async_context(ctx, outer);
  release(ctx, &due);
  bool threw = JS_IsException(done);
  JS_FreeValue(ctx, done);
  return !threw;
}

void timers_clear(JSContext *ctx) {
  while (timer_count) release(ctx, &timers[--timer_count]);
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_MAGIC_DEF("setTimeout", 2, set_timer, TIMEOUT),
    JS_CFUNC_MAGIC_DEF("setInterval", 2, set_timer, INTERVAL),
    JS_CFUNC_MAGIC_DEF("setImmediate", 1, set_timer, IMMEDIATE),
    JS_CFUNC_DEF("clearTimer", 1, clear_timer),
    JS_CFUNC_DEF("setWaitedFor", 2, set_waited_for),
};

void timers_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
