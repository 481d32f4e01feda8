// The exported `interpreter` interface (wit/interpreter.wit).
#include "guest_php.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "SAPI.h"
#include "ext/json/php_json.h"
#include "ext/standard/php_filestat.h"
#include "zend_exceptions.h"

#define TAG(name) EXPORTS_DORMOUSE_SANDBOX_INTERPRETER_OUTCOME_##name

// Levels of arrays that `set` takes.
#define DEPTH 512

static void give(guest_string_t *result, text *t) {
  if (t->failed) {
    text_free(t);
    // Small enough to be had even when the heap is full of the snippet's values.
    text_string(t, "{\"type\":\"unknown\",\"class\":\"\",\"reason\":\"out of memory\"}");
    if (t->failed) abort();
  }
  result->ptr = (uint8_t *)t->bytes;
  result->len = t->length;
}

// A copy with a final NUL byte; the original is freed.
static char *take(guest_string_t *string) {
  char *copy = realloc(string->len ? string->ptr : NULL, string->len + 1);
  if (!copy) abort();
  copy[string->len] = 0;
  string->ptr = NULL;
  string->len = 0;
  return copy;
}

typedef struct {
  options *given;
  const char *name;
} beginning;

static void prepare_body(void *with) {
  const beginning *call = with;
  options *given = call->given;
  if (given->refresh_environment) world_refresh();
  world_name(call->name);
  // What one call printed is no obstacle to headers, cookies and sessions of the next.
  SG(headers_sent) = 0;
  // Files may have changed since the last call.
  php_clear_stat_cache(0, NULL, 0);
  SG(global_request_time) = 0;
  if (!given->directory.is_some) return;
  char *path = take(&given->directory.val);
  if (chdir(path) < 0) {
    zend_throw_exception_ex(zend_ce_exception, errno, "cannot change to the directory %s: %s", path, strerror(errno));
  }
  free(path);
}

static run_result prepare(options *given, const char *name) {
  run_result result = {.end = RUN_RETURNED};
  ZVAL_UNDEF(&result.value);
  seeds_wake();
  fatal_forget();
  permit_begin(name, given->allow_eval);
  beginning call = {given, name};
  run_step(prepare_body, &call, &result);
  return result;
}

typedef struct {
  run_result *result;
  const bounds *limits;
  text *out;
} encoding;

static void encode_body(void *with) {
  encoding *e = with;
  encode_value(&e->result->value, e->limits, e->out);
}

static void raise_body(void *with) {
  encoding *e = with;
  raise_exception(Z_OBJ(e->result->value), e->limits, e->out);
}

static void release_body(void *with) {
  zval *value = with;
  zval held;
  ZVAL_COPY_VALUE(&held, value);
  ZVAL_UNDEF(value);
  zval_ptr_dtor(&held);
}

// Writes the result's text. Code of the user's that runs meanwhile may change what the result is.
static void encode_result(run_result *result, const bounds *limits, text *out) {
  if (result->end == RUN_RETURNED) {
    run_result step = {.end = RUN_RETURNED};
    ZVAL_UNDEF(&step.value);
    encoding e = {result, limits, out};
    run_step(encode_body, &e, &step);
    // The last reference to an object may go here, and its destructor may fail.
    if (step.end == RUN_RETURNED) run_step(release_body, &result->value, &step);
    if (step.end == RUN_RETURNED) return;
    *result = step;
  }
  if (result->end == RUN_RAISED) {
    run_result step = {.end = RUN_RETURNED};
    ZVAL_UNDEF(&step.value);
    text_free(out);
    encoding e = {result, limits, out};
    run_step(raise_body, &e, &step);
    run_step(release_body, &result->value, &step);
    if (!fatal.raised) return;
    result->end = RUN_FATAL;
  }
  text_free(out);
}

static void finish(run_result *result, const bounds *limits, outcome *ret) {
  text out = {0};
  encode_result(result, limits, &out);
  // Only now: what was encoded may have printed something.
  run_end before = result->end;
  run_last(result);
  if (result->end != before) {
    text_free(&out);
    encode_result(result, limits, &out);
  }
  switch (result->end) {
    case RUN_RETURNED:
      ret->tag = TAG(RETURNED);
      give(&ret->val.returned, &out);
      break;
    case RUN_RAISED:
      ret->tag = TAG(RAISED);
      give(&ret->val.raised, &out);
      break;
    case RUN_EXITED:
      text_free(&out);
      ret->tag = TAG(EXITED);
      ret->val.exited = result->status;
      break;
    case RUN_FATAL:
      // When memory ran out, only a new request gives it back.
      if (!fatal_recover()) start_over();
      text_free(&out);
      raise_fatal(limits, &out);
      ret->tag = TAG(RAISED);
      give(&ret->val.raised, &out);
      break;
  }
}

void exports_dormouse_sandbox_interpreter_eval(guest_string_t *code, options *given, outcome *ret) {
  size_t length = code->len;
  char *text = take(code), *name = take(&given->name);
  run_result result = prepare(given, name);
  if (result.end == RUN_RETURNED) run_snippet(text, length, name, &result);
  else free(text);
  finish(&result, &given->bounds, ret);
  free(name);
  exports_dormouse_sandbox_interpreter_options_free(given);
}

static void missing_body(void *with) {
  const char *name = with;
  zend_throw_error(NULL, "Undefined variable $%.128s", name + (*name == '$'));
}

void exports_dormouse_sandbox_interpreter_get(guest_string_t *name, guest_string_t *query, options *given, outcome *ret) {
  size_t length = name->len, query_length = query ? query->len : 0;
  char *global = take(name), *expression = query ? take(query) : NULL, *file = take(&given->name);
  run_result result = prepare(given, file);
  zval *value = vars_get(global, length);
  if (result.end == RUN_RETURNED) {
    if (!value) run_step(missing_body, global, &result);
    else if (expression) run_query(value, expression, query_length, file, &result);
    else ZVAL_COPY(&result.value, value);
  }
  finish(&result, &given->bounds, ret);
  free(global);
  free(expression);
  free(file);
  exports_dormouse_sandbox_interpreter_options_free(given);
}

typedef struct {
  const char *name, *json;
  size_t length, json_length;
  const char *why;
} setting;

static void set_body(void *with) {
  setting *s = with;
  zval value;
  if (php_json_decode_ex(&value, s->json, s->json_length, PHP_JSON_OBJECT_AS_ARRAY, DEPTH) == FAILURE) {
    s->why = "the value is not JSON, or is nested too deep";
    return;
  }
  s->why = vars_set(s->name, s->length, &value);
}

bool exports_dormouse_sandbox_interpreter_set(guest_string_t *name, guest_string_t *json, guest_string_t *error) {
  setting s = {.length = name->len, .json_length = json->len};
  char *global = take(name), *text = take(json);
  s.name = global;
  s.json = text;
  seeds_wake();
  fatal_forget();
  run_result result = {.end = RUN_RETURNED};
  ZVAL_UNDEF(&result.value);
  run_step(set_body, &s, &result);
  zval_ptr_dtor(&result.value);
  if (fatal.raised && !fatal_recover()) start_over();
  if (result.end != RUN_RETURNED) s.why = "the value cannot be set";
  if (s.why) guest_string_dup(error, s.why);
  free(global);
  free(text);
  return !s.why;
}

void exports_dormouse_sandbox_interpreter_vars(bounds *limits, guest_string_t *ret) {
  seeds_wake();
  text out = {0};
  vars_list(limits, &out);
  give(ret, &out);
}

void exports_dormouse_sandbox_interpreter_reset(void) {
  seeds_wake();
  start_over();
}
