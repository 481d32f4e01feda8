// Runs snippets to their end: promises settled, jobs and timers done, rejections answered for.
#include <stdlib.h>
#include <string.h>

#include "javascript.h"

typedef struct {
  struct {
    JSValue promise, reason;
  } *all;
  size_t count, room;
} rejections;

// Promises that were rejected without a handler so far, and those that were told of and got one after that.
static rejections unhandled, handled_late;

static void remember(JSContext *ctx, rejections *list, JSValueConst promise, JSValueConst reason) {
  if (list->count == list->room) {
    size_t room = list->room ? list->room * 2 : 4;
    void *all = realloc(list->all, room * sizeof *list->all);
    if (!all) return;
    list->all = all;
    list->room = room;
  }
  list->all[list->count].promise = JS_DupValue(ctx, promise);
  list->all[list->count++].reason = JS_DupValue(ctx, reason);
}

static void forget(JSContext *ctx, rejections *list, size_t i) {
  JS_FreeValue(ctx, list->all[i].promise);
  JS_FreeValue(ctx, list->all[i].reason);
  memmove(&list->all[i], &list->all[i + 1], (--list->count - i) * sizeof *list->all);
}

// Whether it was one of them.
static bool forget_unhandled(JSContext *ctx, JSValueConst promise) {
  for (size_t i = unhandled.count; i-- > 0;) {
    if (JS_VALUE_GET_PTR(unhandled.all[i].promise) != JS_VALUE_GET_PTR(promise)) continue;
    forget(ctx, &unhandled, i);
    return true;
  }
  return false;
}

void run_track_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool handled, void *opaque) {
  (void)opaque;
  if (!handled) remember(ctx, &unhandled, promise, reason);
  else if (!forget_unhandled(ctx, promise) && JS_IsFunction(ctx, js.tell)) remember(ctx, &handled_late, promise, reason);
}

// process.exit: an error that no `catch` and no `finally` sees.
JSValue run_exit(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self;
  int32_t status = 0;
  if (count > 0 && !JS_IsUndefined(arguments[0]) && JS_ToInt32(ctx, &status, arguments[0]) < 0) return JS_EXCEPTION;
  js.exiting = true;
  js.exit_status = status;
  JSValue end = JS_NewError(ctx);
  JS_SetUncatchableError(ctx, end);
  return JS_Throw(ctx, end);
}

JSValue run_listen(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments) {
  (void)self, (void)count;
  JS_FreeValue(ctx, js.tell);
  js.tell = JS_DupValue(ctx, arguments[0]);
  return JS_UNDEFINED;
}

// Tells the listeners of `process` of an event.
typedef enum { NOBODY_LISTENS, TOLD, LISTENER_THREW } telling;
static telling tell(JSContext *ctx, const char *event, JSValueConst first, JSValueConst second) {
  if (!JS_IsFunction(ctx, js.tell)) return NOBODY_LISTENS;
  JSValue name = JS_NewString(ctx, event);
  JSValueConst arguments[] = {name, first, second};
  JSValue told = JS_Call(ctx, js.tell, JS_UNDEFINED, 3, arguments);
  JS_FreeValue(ctx, name);
  if (JS_IsException(told)) return LISTENER_THREW;
  bool listens = JS_ToBool(ctx, told);
  JS_FreeValue(ctx, told);
  return listens ? TOLD : NOBODY_LISTENS;
}

// What was thrown and not caught goes to who listens for it; false: to nobody, and it is thrown still.
static bool hand_over(JSContext *ctx) {
  if (js.exiting || !JS_IsFunction(ctx, js.tell)) return false;
  JSValue error = JS_GetException(ctx);
  telling told = tell(ctx, "uncaughtException", error, JS_UNDEFINED);
  if (told == NOBODY_LISTENS) JS_Throw(ctx, error);
  else JS_FreeValue(ctx, error);
  return told == TOLD;
}

// Answers for a rejection without a handler; false: its reason is thrown.
static bool answer_for_rejection(JSContext *ctx) {
  JSValue reason = JS_DupValue(ctx, unhandled.all[0].reason), promise = JS_DupValue(ctx, unhandled.all[0].promise);
  forget(ctx, &unhandled, 0);
  telling told = tell(ctx, "unhandledRejection", reason, promise);
  JS_FreeValue(ctx, promise);
  if (told == NOBODY_LISTENS) JS_Throw(ctx, reason);
  else JS_FreeValue(ctx, reason);
  return told == TOLD;
}

// Tells of a rejection that has a handler by now; false: a listener threw.
static bool tell_of_handler(JSContext *ctx) {
  JSValue promise = JS_DupValue(ctx, handled_late.all[0].promise);
  forget(ctx, &handled_late, 0);
  telling told = tell(ctx, "rejectionHandled", promise, JS_UNDEFINED);
  JS_FreeValue(ctx, promise);
  return told != LISTENER_THREW;
}

// Runs what was put off and the jobs of promises; false when one threw.
static bool run_jobs(JSContext *ctx) {
  JSContext *of;
  for (;;) {
    int done = 0;
    if (!ticks_run(ctx)) return false;
    do done = JS_ExecutePendingJob(js.runtime, &of);
    while (done > 0);
    if (done < 0) return false;
    if (ticks_pending()) continue;
    if (!unhandled.count && !handled_late.count) return true;
    if (!(handled_late.count ? tell_of_handler(ctx) : answer_for_rejection(ctx))) return false;
  }
}

// How far a run, or a promise, has come when all is done that takes no time.
typedef enum { COMPLETE, THREW, WAITS } stage;

static void await_promise(JSContext *ctx, JSValueConst promise) {
  JS_PromiseMarkAsHandled(ctx, promise);
  forget_unhandled(ctx, promise);
}

// Fires the timer that is due; false when that threw. Timers that are always due, as those of setImmediate, do not keep a program from
// hearing of its connections.
static bool fire(JSContext *ctx) {
  return (timers_fire(ctx) || hand_over(ctx)) && (!net_pending() || net_wait(ctx, true) || hand_over(ctx));
}

// Waits where the run cannot pause; false when what it heard of threw.
static bool wait_here(JSContext *ctx) { return net_pending() ? net_wait(ctx, false) : calls_wait(ctx); }

static stage settle_so_far(JSContext *ctx, JSValueConst promise) {
  for (;;) {
    if (!run_jobs(ctx)) {
      if (hand_over(ctx)) continue;
      return THREW;
    }
    if (JS_PromiseState(ctx, promise) != JS_PROMISE_PENDING) return COMPLETE;
    if (!timers_pending() && !calls_pending() && !net_pending()) {
      JS_ThrowPlainError(ctx, "the snippet awaits a promise that nothing will settle");
      return THREW;
    }
    if (!timers_due()) return WAITS;
    if (!fire(ctx)) return THREW;
  }
}

// The value of a promise that is settled, or an exception. Takes the promise.
static JSValue value_of(JSContext *ctx, JSValue promise) {
  bool fulfilled = JS_PromiseState(ctx, promise) == JS_PROMISE_FULFILLED;
  JSValue value = JS_PromiseResult(ctx, promise);
  JS_FreeValue(ctx, promise);
  return fulfilled ? value : JS_Throw(ctx, value);
}

// The same of one that is waited for where the run cannot pause. Takes the promise.
static JSValue settle(JSContext *ctx, JSValue promise) {
  await_promise(ctx, promise);
  stage come;
  do come = settle_so_far(ctx, promise);
  while (come == WAITS && (wait_here(ctx) || hand_over(ctx)));
  if (come == COMPLETE) return value_of(ctx, promise);
  JS_FreeValue(ctx, promise);
  return JS_EXCEPTION;
}

static bool anything_waited_for(void) { return timers_waited_for() || calls_pending() || net_waited_for(); }

static stage run_rest(JSContext *ctx) {
  for (;;) {
    if (!run_jobs(ctx)) {
      if (hand_over(ctx)) continue;
      return THREW;
    }
    if (anything_waited_for()) {
      if (!timers_due()) return WAITS;
      if (!fire(ctx)) return THREW;
      continue;
    }
    // Who is told that nothing is left may begin something.
    telling told = tell(ctx, "beforeExit", JS_NewInt32(ctx, js.exit_code), JS_UNDEFINED);
    if (told == LISTENER_THREW && !hand_over(ctx)) return THREW;
    if (!JS_IsJobPending(js.runtime) && !ticks_pending() && !anything_waited_for()) return COMPLETE;
  }
}

// Tells of the end of the run: what a listener throws is thrown by the run, unless it has thrown already.
static JSValue tell_end(JSContext *ctx, JSValue value) {
  if (!JS_IsFunction(ctx, js.tell)) return value;
  bool threw = JS_IsException(value);
  JSValue error = threw ? JS_GetException(ctx) : JS_UNDEFINED;
  telling told = js.exiting ? TOLD : tell(ctx, "exit", JS_NewInt32(ctx, threw ? 1 : js.exit_code), JS_UNDEFINED);
  // Jobs of promises that a listener began are done; what else it has begun is not.
  JSContext *of;
  while (told == TOLD && !js.exiting && JS_ExecutePendingJob(js.runtime, &of) > 0) {
  }
  if (threw && told == LISTENER_THREW) JS_FreeValue(ctx, JS_GetException(ctx));
  if (!threw && told == LISTENER_THREW) {
    JS_FreeValue(ctx, value);
    error = JS_GetException(ctx);
    threw = true;
  }
  // The listeners were those of this run.
  if (tell(ctx, "end", JS_UNDEFINED, JS_UNDEFINED) == LISTENER_THREW) JS_FreeValue(ctx, JS_GetException(ctx));
  return threw ? JS_Throw(ctx, error) : value;
}

// The run that goes on, or waits.
static struct {
  // What it comes to before the rest is done: the promise of a box, a value or its promise, a value.
  enum { BOX, VALUE, LAST } phase;
  JSValue value;
  bool expects_default;
} run;

void run_begin(JSValue value, bool wrapped) {
  run.phase = wrapped && !JS_IsException(value) ? BOX : VALUE;
  run.value = value;
  run.expects_default = false;
  if (JS_IsPromise(value)) await_promise(js.context, value);
}

// Goes on until the promise that it comes to is settled; false: it waits.
static bool settle_value(JSContext *ctx) {
  stage come = settle_so_far(ctx, run.value);
  if (come == WAITS) return false;
  if (come == COMPLETE) {
    run.value = value_of(ctx, run.value);
  } else {
    JS_FreeValue(ctx, run.value);
    run.value = JS_EXCEPTION;
  }
  return true;
}

// Goes on until the run has its value and nothing is left to do; false: it waits.
static bool complete(JSContext *ctx) {
  if (run.phase == BOX) {
    if (!settle_value(ctx)) return false;
    run.phase = VALUE;
    if (!JS_IsException(run.value)) {
      // Code with top-level `await` is an async function that returns `{value}`.
      JSValue box = run.value;
      run.value = JS_GetPropertyStr(ctx, box, "value");
      JS_FreeValue(ctx, box);
      if (JS_IsPromise(run.value)) await_promise(ctx, run.value);
    }
  }
  if (run.phase == VALUE) {
    if (JS_IsPromise(run.value) && !settle_value(ctx)) return false;
    if (JS_IsException(run.value) && hand_over(ctx)) run.value = JS_UNDEFINED;
    run.phase = LAST;
  }
  if (JS_IsException(run.value)) return true;
  stage come = run_rest(ctx);
  if (come != THREW) return come == COMPLETE;
  JS_FreeValue(ctx, run.value);
  run.value = JS_EXCEPTION;
  return true;
}

bool run_on(run_end *ended, JSValue *result) {
  JSContext *ctx = js.context;
  if (!complete(ctx)) return false;
  JSValue value = tell_end(ctx, run.value);
  // Those that nobody waits for end with the run.
  timers_clear(ctx);
  engine_leave_async_context(ctx, JS_UNDEFINED);
  run_end end = RUN_RETURNED;
  if (js.exiting) {
    JS_FreeValue(ctx, value);
    JS_FreeValue(ctx, JS_GetException(ctx));
    value = JS_UNDEFINED;
    end = RUN_EXITED;
  } else if (JS_IsException(value)) {
    value = JS_GetException(ctx);
    end = RUN_RAISED;
  } else if (js.exit_code) {
    JS_FreeValue(ctx, value);
    value = JS_UNDEFINED;
    js.exit_status = js.exit_code;
    end = RUN_EXITED;
  }
  if (run.expects_default) statements_expect_default(ctx, false);
  run.value = JS_UNDEFINED;
  run_clear();
  *ended = end;
  *result = value;
  return true;
}

void run_clear(void) {
  JSContext *ctx = js.context;
  JS_FreeValue(ctx, run.value);
  run.value = JS_UNDEFINED;
  timers_clear(ctx);
  ticks_clear(ctx);
  calls_clear(ctx);
  net_clear(ctx);
  engine_drop_jobs(js.runtime);
  while (unhandled.count) forget(ctx, &unhandled, unhandled.count - 1);
  while (handled_late.count) forget(ctx, &handled_late, handled_late.count - 1);
}

run_end run_to_the_end(JSValue value, bool wrapped, JSValue *result) {
  run_end end;
  run_begin(value, wrapped);
  while (!run_on(&end, result)) run_wait();
  return end;
}

// Ends the run with what is thrown, unless somebody listens for it.
static void end_thrown(JSContext *ctx) {
  if (hand_over(ctx)) return;
  JS_FreeValue(ctx, run.value);
  run.value = JS_EXCEPTION;
  run.phase = LAST;
}

void run_answer(answers *given) {
  if (!given->len) timers_let_pass();
  if (!calls_answer(js.context, given)) end_thrown(js.context);
}

void run_wait(void) {
  if (!wait_here(js.context)) end_thrown(js.context);
}

static bool contains(const char *text, size_t length, const char *word) { return memmem(text, length, word, strlen(word)); }

// Whether only a module can say it: a script cannot have `import` and `export` statements. Tried when the script has been
// refused, because almost every script would do as a module, too.
static bool may_be_module(const char *source, size_t length) {
  return contains(source, length, "import") || contains(source, length, "export");
}

// Whether a program's file is run, and no snippet: it has a path.
static bool is_file(const char *name) { return name[0] == '/'; }

static bool is_module_name(const char *name) {
  size_t end = strlen(name);
  return end > 4 && strcmp(name + end - 4, ".mjs") == 0;
}

static JSValue compile_as(JSContext *ctx, const char *source, size_t length, const char *name, int flags) {
  return JS_Eval(ctx, source, length, name,
                 flags | JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY | ENGINE_EVAL_SNIPPET);
}

static JSValue compile(JSContext *ctx, const char *source, size_t length, const char *name, bool async) {
  return compile_as(ctx, source, length, name, async ? JS_EVAL_FLAG_ASYNC : 0);
}

// Compiles a module as a script, and what it imports as another one. False: it has to be a module, as with `import.meta`.
static bool compile_statements(JSContext *ctx, const char *source, size_t length, const char *name, bool await,
                               JSValue *imports, JSValue *script) {
  text before = {0}, rest = {0};
  *imports = *script = JS_EXCEPTION;
  if (statements_rewrite(ctx, source, length, &before, &rest)) {
    int flags = JS_EVAL_FLAG_STRICT | (await ? JS_EVAL_FLAG_ASYNC : 0);
    *imports = compile(ctx, before.bytes, before.length - 1, name, true);
    if (!JS_IsException(*imports)) *script = compile_as(ctx, rest.bytes, rest.length - 1, name, flags);
    JS_FreeValue(ctx, JS_GetException(ctx));
  }
  text_free(&before);
  text_free(&rest);
  if (!JS_IsException(*script)) return true;
  JS_FreeValue(ctx, *imports);
  return false;
}

// Runs the first of the two. False: an exception is thrown.
static bool import_all(JSContext *ctx, JSValue imports) {
  JSValue box = settle(ctx, JS_EvalFunction(ctx, imports));
  if (JS_IsException(box)) return false;
  JSValue modules = JS_GetPropertyStr(ctx, box, "value");
  bool done = statements_bind(ctx, modules);
  JS_FreeValue(ctx, modules);
  JS_FreeValue(ctx, box);
  return done;
}

// Runs a snippet that only a module can be. A file is one: what imports it means the same variables.
static void begin_module(const char *source, size_t length, const char *name, bool await) {
  JSContext *ctx = js.context;
  engine_note_statements();
  JSValue module = modules_compile(ctx, source, length, name), imports, script;
  bool is_script = !JS_IsException(module) && !is_file(name) && !is_module_name(name) &&
                   compile_statements(ctx, source, length, name, await, &imports, &script);
  if (!is_script) {
    engine_forget_statements(ctx);
    run_begin(modules_evaluate(ctx, module, name), false);
    return;
  }
  JS_FreeValue(ctx, module);
  bool imported = import_all(ctx, imports);
  engine_forget_statements(ctx);
  if (!imported) {
    JS_FreeValue(ctx, script);
    run_begin(JS_EXCEPTION, false);
    return;
  }
  statements_expect_default(ctx, true);
  run_begin(JS_EvalFunction(ctx, script), await);
  run.expects_default = true;
}

void run_source(const char *source, size_t length, const char *name) {
  JSContext *ctx = js.context;
  // Code with `await` needs a promise around it; the rest is spared the cost. A script that is none with it may have
  // `await` as a name. Not the other way round: `await (f())` would be the call of a function of that name.
  bool await = contains(source, length, "await");
  JSValue code = JS_EXCEPTION;
  if (!is_module_name(name)) {
    code = compile(ctx, source, length, name, await);
    if (JS_IsException(code) && await) {
      JSValue error = JS_GetException(ctx);
      code = compile(ctx, source, length, name, false);
      await = JS_IsException(code);
      if (await) JS_Throw(ctx, error);
      else JS_FreeValue(ctx, error);
    }
    bool is_module = JS_IsException(code) && may_be_module(source, length);
    if (!is_module) {
      JSValue value = JS_IsException(code) ? code : JS_EvalFunction(ctx, code);
      if (!await) asides_leave(ctx, source, length, &value);
      run_begin(value, await);
      return;
    }
    JS_FreeValue(ctx, JS_GetException(ctx));
  }
  begin_module(source, length, name, await);
}
