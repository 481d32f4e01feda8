// The exported `interpreter` interface (wit/interpreter.wit).
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wasi/libc-environ.h>

#include "javascript.h"

#define NO_ROOM_FOR_VALUE "{\"type\":\"unknown\",\"class\":\"\",\"reason\":\"out of memory\"}"

// Hands the text over. When it could not be written, `instead` is: small enough to be had even when the heap is full of
// the snippet's values.
static void give(guest_string_t *result, text *t, const char *instead) {
  if (t->failed) {
    text_free(t);
    text_string(t, instead);
    if (t->failed) abort();
  }
  result->ptr = (uint8_t *)t->bytes;
  result->len = t->length;
}

static void encode_end(run_end end, JSValue result, const bounds *limits, outcome *ret) {
  text out = {0};
  switch (end) {
    case RUN_RETURNED:
      ret->tag = EXPORTS_DORMOUSE_SANDBOX_INTERPRETER_OUTCOME_RETURNED;
      encode_value(js.context, result, limits, &out);
      give(&ret->val.returned, &out, NO_ROOM_FOR_VALUE);
      break;
    case RUN_RAISED:
      ret->tag = EXPORTS_DORMOUSE_SANDBOX_INTERPRETER_OUTCOME_RAISED;
      raise_encode(js.context, result, limits, &out);
      give(&ret->val.raised, &out, RAISE_OUT_OF_MEMORY);
      break;
    case RUN_EXITED:
      ret->tag = EXPORTS_DORMOUSE_SANDBOX_INTERPRETER_OUTCOME_EXITED;
      ret->val.exited = js.exit_status;
      break;
  }
  JS_FreeValue(js.context, result);
  // A getter or a toString can call process.exit while its object is encoded.
  if (js.exiting && end != RUN_EXITED) {
    exports_dormouse_sandbox_interpreter_outcome_free(ret);
    ret->tag = EXPORTS_DORMOUSE_SANDBOX_INTERPRETER_OUTCOME_EXITED;
    ret->val.exited = js.exit_status;
  }
  js.exiting = false;
}

// A copy with a final NUL byte, which the engine's parser needs; the original is freed.
static char *take(guest_string_t *string) {
  char *copy = realloc(string->len ? string->ptr : NULL, string->len + 1);
  if (!copy) abort();
  copy[string->len] = 0;
  string->ptr = NULL;
  return copy;
}

// What every run begins with; false when it threw.
static bool prepare(options *with) {
  start_wake();
  js.console_indent = 0;
  js.exit_code = 0;
  engine_error_lost = false;
  engine_refuse_eval = !with->allow_eval;
  if (with->refresh_environment) {
    __wasilibc_deinitialize_environ();
    js.environment_age++;
  }
  if (!with->directory.is_some) return true;
  char *path = take(&with->directory.val);
  bool changed = chdir(path) == 0;
  if (!changed) JS_Throw(js.context, files_error(js.context, errno, "chdir", path));
  free(path);
  return changed;
}

// What the program that goes on, or waits, was begun with.
static struct {
  bool waits, refuse_eval;
  bounds bounds;
  // As long as sources.c keeps it.
  const char *code;
  size_t length;
} program;

// Forgets a program that waits.
static void abandon(void) {
  if (program.waits) run_clear();
  program.waits = false;
}

static void begin_program(guest_string_t *source, options *with) {
  abandon();
  size_t length = source->len;
  char *code = take(source), *name = take(&with->name);
  sources_begin(code, length, name);
  js.program = name;
  program.code = code;
  program.length = length;
  program.bounds = with->bounds;
  program.refuse_eval = !with->allow_eval;
  if (prepare(with)) run_source(code, length, name);
  else run_begin(JS_EXCEPTION, false);
}

static void end_program(run_end end, JSValue result, outcome *ret) {
  asides_leave(js.context, program.code, program.length, &result);
  encode_end(end, result, &program.bounds, ret);
}

void exports_dormouse_sandbox_interpreter_eval(guest_string_t *source, options *with, outcome *ret) {
  JSValue result;
  run_end end;
  begin_program(source, with);
  while (!run_on(&end, &result)) run_wait();
  end_program(end, result, ret);
}

// Goes on with the program, and tells how far it came.
static void go_on(exports_dormouse_sandbox_waiting_step_t *step) {
  JSValue result;
  run_end end;
  bool ended;
  // Connections are this instance's: a program that waits for one waits here.
  while (!(ended = run_on(&end, &result)) && net_pending()) run_wait();
  program.waits = !ended;
  if (program.waits) {
    step->tag = EXPORTS_DORMOUSE_SANDBOX_WAITING_STEP_WAITS;
    calls_want(&step->val.waits);
  } else {
    step->tag = EXPORTS_DORMOUSE_SANDBOX_WAITING_STEP_ENDED;
    end_program(end, result, &step->val.ended);
  }
}

void exports_dormouse_sandbox_waiting_start(guest_string_t *source, options *with,
                                            exports_dormouse_sandbox_waiting_step_t *step) {
  begin_program(source, with);
  go_on(step);
}

void exports_dormouse_sandbox_waiting_resume(exports_dormouse_sandbox_waiting_list_answer_t *given,
                                             exports_dormouse_sandbox_waiting_step_t *step) {
  start_wake();
  engine_refuse_eval = program.refuse_eval;
  answers list = {given->ptr, given->len};
  if (!program.waits) run_begin(JS_ThrowPlainError(js.context, "no program waits"), false);
  else run_answer(&list);
  go_on(step);
}

void exports_dormouse_sandbox_interpreter_get(guest_string_t *name, guest_string_t *query, options *with,
                                              outcome *ret) {
  size_t length = name->len, query_length = query ? query->len : 0;
  abandon();
  char *global = take(name), *expression = query ? take(query) : NULL, *snippet = take(&with->name);
  JSValue value = prepare(with) ? vars_get(js.context, global, length) : JS_EXCEPTION;
  if (expression && !JS_IsException(value)) {
    JSValue code = JS_NewStringLen(js.context, expression, query_length);
    engine_own_eval = true;
    JSValue answer = JS_Call(js.context, js.evaluate, JS_UNDEFINED, 2, (JSValueConst[]){value, code});
    engine_own_eval = false;
    JS_FreeValue(js.context, code);
    JS_FreeValue(js.context, value);
    value = answer;
  }
  JSValue result;
  run_end end = run_to_the_end(value, false, &result);
  encode_end(end, result, &with->bounds, ret);
  free(global);
  free(expression);
  free(snippet);
}

bool exports_dormouse_sandbox_interpreter_set(guest_string_t *name, guest_string_t *json, guest_string_t *err) {
  start_wake();
  size_t length = name->len, json_length = json->len;
  char *global = take(name), *source = take(json);
  const char *why = NULL;
  JSValue value = JS_ParseJSON(js.context, source, json_length, "<json>");
  bool done = false;
  if (JS_IsException(value)) {
    JS_FreeValue(js.context, JS_GetException(js.context));
    why = "the value is not JSON";
  } else {
    done = vars_set(js.context, global, length, value, &why);
  }
  if (!done) guest_string_dup(err, why);
  free(global);
  free(source);
  return done;
}

void exports_dormouse_sandbox_interpreter_vars(bounds *limits, guest_string_t *ret) {
  start_wake();
  text out = {0};
  vars_list(js.context, limits, &out);
  give(ret, &out, "[]");
}
