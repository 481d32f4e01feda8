// Runs snippets to their end: promises settled, jobs and timers done, rejections answered for.
#include <stdlib.h>
#include <string.h>

#include "javascript.h"

// Promises that were rejected without a handler so far.
static struct {
  JSValue promise, reason;
} *rejections;
static size_t rejection_count, rejection_room;

static void forget_rejection(JSContext *ctx, size_t i) {
  JS_FreeValue(ctx, rejections[i].promise);
  JS_FreeValue(ctx, rejections[i].reason);
  memmove(&rejections[i], &rejections[i + 1], (--rejection_count - i) * sizeof *rejections);
}

static void forget_rejection_of(JSContext *ctx, JSValueConst promise) {
  for (size_t i = rejection_count; i-- > 0;) {
    if (JS_VALUE_GET_PTR(rejections[i].promise) == JS_VALUE_GET_PTR(promise)) forget_rejection(ctx, i);
  }
}

void run_track_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool handled, void *opaque) {
  (void)opaque;
  if (handled) {
    forget_rejection_of(ctx, promise);
    return;
  }
  if (rejection_count == rejection_room) {
    size_t room = rejection_room ? rejection_room * 2 : 4;
    void *list = realloc(rejections, room * sizeof *rejections);
    if (!list) return;
    rejections = list;
    rejection_room = room;
  }
  rejections[rejection_count].promise = JS_DupValue(ctx, promise);
  rejections[rejection_count++].reason = JS_DupValue(ctx, reason);
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
  JSValue reason = JS_DupValue(ctx, rejections[0].reason), promise = JS_DupValue(ctx, rejections[0].promise);
  forget_rejection(ctx, 0);
  telling told = tell(ctx, "unhandledRejection", reason, promise);
  JS_FreeValue(ctx, promise);
  if (told == NOBODY_LISTENS) JS_Throw(ctx, reason);
  else JS_FreeValue(ctx, reason);
  return told == TOLD;
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
    if (!rejection_count) return true;
    if (!answer_for_rejection(ctx)) return false;
  }
}

// Waits for a promise: its value, or an exception.
static JSValue settle(JSContext *ctx, JSValue promise) {
  JS_PromiseMarkAsHandled(ctx, promise);
  forget_rejection_of(ctx, promise);
  for (;;) {
    if (!run_jobs(ctx)) {
      if (hand_over(ctx)) continue;
      break;
    }
    JSPromiseStateEnum state = JS_PromiseState(ctx, promise);
    if (state != JS_PROMISE_PENDING) {
      JSValue value = JS_PromiseResult(ctx, promise);
      JS_FreeValue(ctx, promise);
      return state == JS_PROMISE_FULFILLED ? value : JS_Throw(ctx, value);
    }
    if (!timers_pending()) {
      JS_ThrowPlainError(ctx, "the snippet awaits a promise that nothing will settle");
      break;
    }
    if (!timers_fire(ctx) && !hand_over(ctx)) break;
  }
  JS_FreeValue(ctx, promise);
  return JS_EXCEPTION;
}

static bool run_rest(JSContext *ctx) {
  for (;;) {
    if (!run_jobs(ctx)) {
      if (hand_over(ctx)) continue;
      return false;
    }
    if (!timers_waited_for()) {
      // Who is told that nothing is left may begin something.
      telling told = tell(ctx, "beforeExit", JS_NewInt32(ctx, js.exit_code), JS_UNDEFINED);
      if (told == LISTENER_THREW && !hand_over(ctx)) return false;
      if (!JS_IsJobPending(js.runtime) && !ticks_pending() && !timers_waited_for()) return true;
    } else if (!timers_fire(ctx) && !hand_over(ctx)) {
      return false;
    }
  }
}

// Tells of the end of the run: what a listener throws is thrown by the run, unless it has thrown already.
static JSValue tell_end(JSContext *ctx, JSValue value) {
  if (!JS_IsFunction(ctx, js.tell)) return value;
  bool threw = JS_IsException(value);
  JSValue error = threw ? JS_GetException(ctx) : JS_UNDEFINED;
  telling told = js.exiting ? TOLD : tell(ctx, "exit", JS_NewInt32(ctx, threw ? 1 : js.exit_code), JS_UNDEFINED);
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

run_end run_to_the_end(JSValue value, bool wrapped, JSValue *result) {
  JSContext *ctx = js.context;
  if (wrapped && !JS_IsException(value)) {
    // Code with top-level `await` is an async function that returns `{value}`.
    JSValue box = settle(ctx, value);
    value = JS_IsException(box) ? JS_EXCEPTION : JS_GetPropertyStr(ctx, box, "value");
    JS_FreeValue(ctx, box);
  }
  if (JS_IsPromise(value)) value = settle(ctx, value);
  if (JS_IsException(value) && hand_over(ctx)) value = JS_UNDEFINED;
  if (!JS_IsException(value) && !run_rest(ctx)) {
    JS_FreeValue(ctx, value);
    value = JS_EXCEPTION;
  }
  value = tell_end(ctx, value);
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
  // The next run starts without what this one left undone.
  timers_clear(ctx);
  ticks_clear(ctx);
  engine_drop_jobs(js.runtime);
  while (rejection_count) forget_rejection(ctx, rejection_count - 1);
  *result = value;
  return end;
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
static run_end run_module(const char *source, size_t length, const char *name, bool await, JSValue *result) {
  JSContext *ctx = js.context;
  engine_note_statements();
  JSValue module = modules_compile(ctx, source, length, name), imports, script;
  bool is_script = !JS_IsException(module) && !is_file(name) && !is_module_name(name) &&
                   compile_statements(ctx, source, length, name, await, &imports, &script);
  if (!is_script) {
    engine_forget_statements(ctx);
    return run_to_the_end(modules_evaluate(ctx, module, name), false, result);
  }
  JS_FreeValue(ctx, module);
  bool imported = import_all(ctx, imports);
  engine_forget_statements(ctx);
  if (!imported) {
    JS_FreeValue(ctx, script);
    return run_to_the_end(JS_EXCEPTION, false, result);
  }
  statements_expect_default(ctx, true);
  run_end end = run_to_the_end(JS_EvalFunction(ctx, script), await, result);
  statements_expect_default(ctx, false);
  return end;
}

run_end run_source(const char *source, size_t length, const char *name, JSValue *result) {
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
    if (!JS_IsException(code)) return run_to_the_end(JS_EvalFunction(ctx, code), await, result);
    if (!may_be_module(source, length)) return run_to_the_end(JS_EXCEPTION, false, result);
    JS_FreeValue(ctx, JS_GetException(ctx));
  }
  return run_module(source, length, name, await, result);
}
