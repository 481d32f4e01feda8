// Timers: a list ordered by due time, emptied before a run ends. prelude/timers.js makes setTimeout and the others of it.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "javascript.h"

typedef struct {
  int64_t due;
  uint32_t id;
  // A run waits for it.
  bool waited_for;
  bool immediate;
  // Its time is over, whatever the clock says: it may have stood still while the memory was saved.
  bool is_over;
  deferred call;
} timer;

// The next timer is the last of the list.
static timer *timers;
static size_t timer_count, timer_room;
static uint32_t last_id;

#define MILLISECOND 1000000
#define LONG_TURN (10 * MILLISECOND)

// When the present turn began: timers that are set in one turn are due in the order of their delays, however long the turn takes. 0: none
// was set in this run.
static int64_t turn;

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

bool deferred_take(JSContext *ctx, deferred *call, int count, JSValueConst *arguments, int first) {
  *call = (deferred){0};
  if (count > first) {
    call->arguments = malloc((size_t)(count - first) * sizeof *call->arguments);
    if (!call->arguments) return JS_ThrowOutOfMemory(ctx), false;
    for (int i = first; i < count; i++) call->arguments[call->argument_count++] = JS_DupValue(ctx, arguments[i]);
  }
  call->function = JS_DupValue(ctx, arguments[0]);
  call->async_context = JS_DupValue(ctx, engine_async_context());
  return true;
}

void deferred_release(JSContext *ctx, deferred *call) {
  for (int i = 0; i < call->argument_count; i++) JS_FreeValue(ctx, call->arguments[i]);
  free(call->arguments);
  JS_FreeValue(ctx, call->function);
  JS_FreeValue(ctx, call->async_context);
}

bool deferred_call(JSContext *ctx, deferred *call) {
  JSValue outer = engine_enter_async_context(call->async_context);
  JSValue done = JS_Call(ctx, call->function, JS_UNDEFINED, call->argument_count, (JSValueConst *)call->arguments);
  engine_leave_async_context(ctx, outer);
  deferred_release(ctx, call);
  bool threw = JS_IsException(done);
  JS_FreeValue(ctx, done);
  return !threw;
}

// What starts a timer; the magic number says which function was called.
enum { TIMEOUT, IMMEDIATE };

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
  // A turn that has computed for long is not where a delay begins.
  int64_t present = now();
  if (!turn || present - turn > LONG_TURN) turn = present;
  timer new = {.due = (kind == IMMEDIATE ? present : turn) + (int64_t)(delay * MILLISECOND), .id = ++last_id, .waited_for = true, .immediate = kind == IMMEDIATE};
  if (!deferred_take(ctx, &new.call, count, arguments, first)) return JS_EXCEPTION;
  if (!insert(new)) {
    deferred_release(ctx, &new.call);
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
    deferred_release(ctx, &old.call);
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

int64_t timers_left(void) {
  int64_t left = timers[timer_count - 1].due - now();
  return left > 0 ? left : 0;
}

bool timers_due(void) { return timer_count && (timers[timer_count - 1].is_over || !timers_left()); }

void timers_let_pass(void) {
  if (timer_count) timers[timer_count - 1].is_over = true;
}

bool timers_fire(JSContext *ctx) {
  turn = now();
  timer due = timers[--timer_count];
  return deferred_call(ctx, &due.call);
}

void timers_clear(JSContext *ctx) {
  while (timer_count) deferred_release(ctx, &timers[--timer_count].call);
  turn = 0;
}

// activeTimers(): how many a run waits for, each of setTimeout and of setImmediate
static JSValue active_timers(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count, (void)arguments;
  uint32_t counts[2] = {0};
  for (size_t i = 0; i < timer_count; i++) counts[timers[i].immediate] += timers[i].waited_for;
  JSValue list = JS_NewArray(ctx);
  for (uint32_t i = 0; i < 2; i++) JS_SetPropertyUint32(ctx, list, i, JS_NewUint32(ctx, counts[i]));
  return list;
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_MAGIC_DEF("setTimeout", 2, set_timer, TIMEOUT),
    JS_CFUNC_MAGIC_DEF("setImmediate", 1, set_timer, IMMEDIATE),
    JS_CFUNC_DEF("clearTimer", 1, clear_timer),
    JS_CFUNC_DEF("setWaitedFor", 2, set_waited_for),
    JS_CFUNC_DEF("activeTimers", 0, active_timers),
};

void timers_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
