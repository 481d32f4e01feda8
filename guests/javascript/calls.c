// Calls of the host's functions that are under way: library/internal/tools.js makes promises of them.
#include <stdlib.h>
#include <string.h>

#include "javascript.h"

// Calls that the host makes at one time; others wait for their turn.
#define AT_ONCE 256

typedef struct {
  uint32_t id;
  // The host knows of it.
  bool told;
  // JSON text, until the host is told.
  char *name, *arguments;
  deferred answer;
} one_call;

// In the order in which they were made, from `first` on: those that the host knows of come first, and go first.
static one_call *calls;
static size_t first, end, room, told_count;
static uint32_t last_id;
static uint32_t *cancelled;
static size_t cancelled_count;

bool calls_pending(void) { return end > first; }

static void forget(size_t at) {
  free(calls[at].name);
  free(calls[at].arguments);
  told_count -= calls[at].told;
  if (at - first < end - at) {
    memmove(&calls[first + 1], &calls[first], (at - first) * sizeof *calls);
    first++;
  } else {
    memmove(&calls[at], &calls[at + 1], (end - at - 1) * sizeof *calls);
    end--;
  }
  if (first == end) first = end = 0;
}

static size_t find(uint32_t id) {
  size_t at = first;
  while (at < end && calls[at].id != id) at++;
  return at;
}

static bool make_room(void) {
  if (end < room) return true;
  if (first > room / 2) {
    memmove(calls, &calls[first], (end - first) * sizeof *calls);
    end -= first;
    first = 0;
    return true;
  }
  size_t more = room ? room * 2 : 8;
  one_call *list = realloc(calls, more * sizeof *list);
  if (!list) return false;
  calls = list;
  room = more;
  return true;
}

static char *copy_of(JSContext *ctx, JSValueConst text) {
  const char *bytes = JS_ToCString(ctx, text);
  char *copy = bytes ? strdup(bytes) : NULL;
  if (bytes && !copy) JS_ThrowOutOfMemory(ctx);
  JS_FreeCString(ctx, bytes);
  return copy;
}

// beginCall(answer, name, JSON text of the arguments): its number. `answer` is called with whether it succeeded, and a text.
static JSValue begin_call(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count;
  one_call new = {.id = ++last_id, .name = copy_of(ctx, arguments[1])};
  new.arguments = new.name ? copy_of(ctx, arguments[2]) : NULL;
  if (!new.arguments || !deferred_take(ctx, &new.answer, 1, arguments, 1)) {
    free(new.name);
    free(new.arguments);
    return JS_EXCEPTION;
  }
  if (!make_room()) {
    deferred_release(ctx, &new.answer);
    free(new.name);
    free(new.arguments);
    return JS_ThrowOutOfMemory(ctx);
  }
  calls[end++] = new;
  return JS_NewUint32(ctx, new.id);
}

// cancelCall(number): nobody wants its answer any more
static JSValue cancel_call(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count;
  uint32_t id;
  if (JS_ToUint32(ctx, &id, arguments[0]) < 0) return JS_EXCEPTION;
  size_t at = find(id);
  if (at == end) return JS_UNDEFINED;
  if (calls[at].told) {
    uint32_t *list = realloc(cancelled, (cancelled_count + 1) * sizeof *list);
    if (list) {
      cancelled = list;
      cancelled[cancelled_count++] = id;
    }
  }
  deferred answer = calls[at].answer;
  forget(at);
  deferred_release(ctx, &answer);
  return JS_UNDEFINED;
}

void calls_want(wanted *told) {
  *told = (wanted){.cancelled = {cancelled, cancelled_count}};
  cancelled = NULL;
  cancelled_count = 0;
  if (timers_pending()) {
    told->nanoseconds.is_some = true;
    told->nanoseconds.val = (uint64_t)timers_left();
  }
  size_t new = end - first - told_count, free_places = AT_ONCE - told_count;
  if (new > free_places) new = free_places;
  told->calls.ptr = new ? calloc(new, sizeof *told->calls.ptr) : NULL;
  for (size_t i = first; told->calls.ptr && told->calls.len < new && i < end; i++) {
    one_call *call = &calls[i];
    if (call->told) continue;
    dormouse_sandbox_host_call_t *next = &told->calls.ptr[told->calls.len++];
    *next = (dormouse_sandbox_host_call_t){
        .id = call->id,
        .name = {(uint8_t *)call->name, strlen(call->name)},
        .arguments = {(uint8_t *)call->arguments, strlen(call->arguments)},
    };
    call->name = call->arguments = NULL;
    call->told = true;
    told_count++;
  }
}

// Gives an answer to who waits for it. False when that threw.
static bool answer_one(JSContext *ctx, dormouse_sandbox_host_answer_t *given) {
  size_t at = find(given->id);
  if (at == end) return true;
  deferred answer = calls[at].answer;
  forget(at);
  bool failed = given->outcome.is_err;
  guest_string_t *text = failed ? &given->outcome.val.err : &given->outcome.val.ok;
  JSValue *arguments = malloc(2 * sizeof *arguments);
  if (!arguments) {
    deferred_release(ctx, &answer);
    JS_ThrowOutOfMemory(ctx);
    return false;
  }
  arguments[0] = JS_NewBool(ctx, !failed);
  arguments[1] = JS_NewStringLen(ctx, (const char *)text->ptr, text->len);
  answer.arguments = arguments;
  answer.argument_count = 2;
  return deferred_call(ctx, &answer);
}

bool calls_answer(JSContext *ctx, answers *given) {
  bool done = true;
  for (size_t i = 0; done && i < given->len; i++) done = answer_one(ctx, &given->ptr[i]);
  dormouse_sandbox_host_list_answer_free(given);
  return done;
}

bool calls_wait(JSContext *ctx) {
  wanted told;
  answers given = {0};
  calls_want(&told);
  dormouse_sandbox_host_wait(&told, &given);
  dormouse_sandbox_host_wanted_free(&told);
  if (!given.len) timers_let_pass();
  return calls_answer(ctx, &given);
}

void calls_clear(JSContext *ctx) {
  while (calls_pending()) {
    deferred answer = calls[end - 1].answer;
    forget(end - 1);
    deferred_release(ctx, &answer);
  }
  free(cancelled);
  cancelled = NULL;
  cancelled_count = 0;
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("beginCall", 3, begin_call),
    JS_CFUNC_DEF("cancelCall", 1, cancel_call),
};

void calls_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
