// The parts of the JavaScript driver and what they know of each other.
#ifndef DORMOUSE_JAVASCRIPT_H
#define DORMOUSE_JAVASCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "engine.h"
#include "guest.h"
#include "quickjs.h"
#include "text.h"

typedef exports_dormouse_sandbox_interpreter_bounds_t bounds;
typedef exports_dormouse_sandbox_interpreter_options_t options;
typedef exports_dormouse_sandbox_interpreter_outcome_t outcome;
typedef dormouse_sandbox_host_wanted_t wanted;
typedef dormouse_sandbox_host_list_answer_t answers;

// The one interpreter of this instance.
typedef struct {
  JSRuntime *runtime;
  JSContext *context;
  // Taken before any snippet ran, so that no snippet can replace them.
  JSValue object_prototype, object_to_string, date_to_iso_string;
  // Of the prelude: `(format, arguments) -> string`, the table of built-in modules, what knows packages, and the
  // evaluator of queries.
  JSValue format, modules, packages, evaluate;
  // What the prelude and the library have as variables (code.h).
  JSValue globals;
  // Tells the listeners of `process` of an event of the run, and whether there were some; undefined until there is one.
  JSValue tell;
  // Has, as its `value`, what a call returned that was made for what it does: an emitter, a timer.
  JSValue asides;
  // What is told of promises, or undefined.
  JSValue promise_hook;
  // The names of the globals that a clean namespace has, as properties.
  JSValue known_globals;
  // Spaces that each console line starts with.
  uint32_t console_indent;
  // What is run is called so (sources.c keeps it).
  const char *program;
  // Counts runs with new environment variables or arguments.
  uint32_t environment_age;
  // The snippet called process.exit.
  bool exiting;
  int32_t exit_status;
  // What process.exitCode was set to in this run.
  int32_t exit_code;
} interpreter;

extern interpreter js;

// start.c: contexts and their prelude.
void start_context(void);
void stop_context(void);
// The first act of every call that may run code.
void start_wake(void);

// run.c: runs code until nothing is left to do.
typedef enum { RUN_RETURNED, RUN_RAISED, RUN_EXITED } run_end;
// Begins a run: of a source, or one that began with `value` (which may be an exception, and is taken).
void run_source(const char *source, size_t length, const char *name);
void run_begin(JSValue value, bool wrapped);
// Goes on with it: with its promises, jobs, timers and calls. False: it waits for one of them. The value or the exception is the caller's.
bool run_on(run_end *end, JSValue *result);
// Gives it what it waits for (no answer: the time is over), or waits for that.
void run_answer(answers *given);
void run_wait(void);
// Forgets what it has left undone, or that it waits.
void run_clear(void);
// Begins a run with a value and sees it through.
run_end run_to_the_end(JSValue value, bool wrapped, JSValue *result);
void run_track_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool handled, void *opaque);
JSValue run_exit(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments);
// listenToRuns(tell): what is told of the events of runs from now on
JSValue run_listen(JSContext *ctx, JSValueConst self, int count, JSValueConst *arguments);

// sources.c: what was run, for the excerpts of exceptions.
// A run begins; its code and its name, which were allocated with malloc, are kept for a while.
void sources_begin(char *code, size_t length, char *name);
// The source of an evaluation of this name, or NULL when it is not known any more.
const char *sources_find(uint32_t evaluation, const char *name, size_t name_length, size_t *length);
void sources_clear(void);

// timers.c: what prelude/timers.js builds on, and calls that are put off, with what was given to them and the context of who asked.
typedef struct {
  JSValue function, async_context;
  int argument_count;
  JSValue *arguments;
} deferred;
// Takes the function that is the first of the arguments, and those from `first` on; false: there is no memory, and an exception is thrown.
bool deferred_take(JSContext *ctx, deferred *call, int count, JSValueConst *arguments, int first);
// Calls it and lets go of it; false when it threw.
bool deferred_call(JSContext *ctx, deferred *call);
void deferred_release(JSContext *ctx, deferred *call);
bool timers_pending(void);
// Whether a run waits for one of them.
bool timers_waited_for(void);
// Whether the next timer is due, and the nanoseconds until then, if there is one.
bool timers_due(void);
int64_t timers_left(void);
// The next timer is due from now on.
void timers_let_pass(void);
// Calls the next timer; false when it threw.
bool timers_fire(JSContext *ctx);
void timers_clear(JSContext *ctx);
void timers_install(JSContext *ctx, JSValueConst native);

// calls.c: calls of the host's functions that are under way.
bool calls_pending(void);
// What the host is told: new calls, those that are cancelled, and how long until the next timer.
void calls_want(wanted *told);
// Gives the answers, which are freed, to those who wait for them. False when one threw.
bool calls_answer(JSContext *ctx, answers *given);
// Waits where the run cannot pause; false when one threw.
bool calls_wait(JSContext *ctx);
void calls_clear(JSContext *ctx);
void calls_install(JSContext *ctx, JSValueConst native);

// net.c: connections to the outside.
// Whether one is watched, and whether a run waits for one that is.
bool net_pending(void);
bool net_waited_for(void);
// Waits for connections, calls and time together, or only looks what has happened. False when one who was told of it threw.
bool net_wait(JSContext *ctx, bool only_looks);
// Ends all connections.
void net_clear(JSContext *ctx);
void net_install(JSContext *ctx, JSValueConst native);

// ticks.c: what process.nextTick puts off.
bool ticks_pending(void);
// Calls them, and those that they put off; false when one threw.
bool ticks_run(JSContext *ctx);
void ticks_clear(JSContext *ctx);
void ticks_install(JSContext *ctx, JSValueConst native);

// encode.c: typed values (docs/values.md).
void encode_value(JSContext *ctx, JSValueConst value, const bounds *limits, text *out);

// describe.c: names and one-line texts that run as little of the snippet's code as they can.
// The name of the value's class, to be freed; never an exception.
char *describe_class(JSContext *ctx, JSValueConst value);
// What an object says of itself, or NULL; to be freed with JS_FreeCString.
const char *describe_object(JSContext *ctx, JSValueConst value, size_t *length);
// A short text without side effects.
void describe_short(JSContext *ctx, JSValueConst value, text *out);

// raise.c: exceptions.
// What stands for an exception that there is no room for.
#define RAISE_OUT_OF_MEMORY                                                                                            \
  "{\"class\":\"InternalError\",\"message\":\"out of memory\",\"code\":null,\"file\":null,\"line\":null,\"column\":null,"   \
  "\"stack_trace\":[],\"previous\":[]}"
void raise_encode(JSContext *ctx, JSValueConst thrown, const bounds *limits, text *out);

// vars.c: the user's globals.
JSValue vars_get(JSContext *ctx, const char *name, size_t length);
bool vars_set(JSContext *ctx, const char *name, size_t length, JSValue value, const char **why);
void vars_list(JSContext *ctx, const bounds *limits, text *out);

// modules.c: imports.
void modules_install(JSRuntime *runtime);
// A snippet as a module.
JSValue modules_compile(JSContext *ctx, const char *source, size_t length, const char *name);
// Runs it; the promise that it gives is of the default export. Takes the code.
JSValue modules_evaluate(JSContext *ctx, JSValue code, const char *name);

// asides.c: the value of a snippet that ends with a call which was made for what it does, such as `process.on(...)`, is undefined. Asked
// before anything else runs, and of one that awaits something at its end.
void asides_leave(JSContext *ctx, const char *source, size_t length, JSValue *value);

// typescript.c: files that are TypeScript, which the host makes JavaScript of.
bool typescript_is(const char *path);
// The JavaScript of a file, to be freed; NULL after an exception.
char *typescript_compile(JSContext *ctx, const char *path, const char *source, size_t length, size_t *code_length);
void typescript_install(JSContext *ctx, JSValueConst native);

// statements.c: what only a module may have.
// A module whose statements were noted as two sources: what it imports, and the script that it is without them. False: a
// script cannot say it.
bool statements_rewrite(JSContext *ctx, const char *source, size_t length, text *imports, text *script);
// Its imports are variables of the modules, which are the value of the first of the two. False: an exception is thrown.
bool statements_bind(JSContext *ctx, JSValueConst modules);
// Before and after such a script: its default export has a place.
void statements_expect_default(JSContext *ctx, bool begins);

// natives.c, files.c and opened.c: functions for the prelude.
struct stat;
void natives_install(JSContext *ctx, JSValueConst native);
void files_install(JSContext *ctx, JSValueConst native);
void opened_install(JSContext *ctx, JSValueConst native);
// crypto.c, decoders.c, zlib.c, frames.c and realm.c, likewise.
void crypto_install(JSContext *ctx, JSValueConst native);
void decoders_install(JSContext *ctx, JSValueConst native);
void zlib_install(JSContext *ctx, JSValueConst native);
void frames_install(JSContext *ctx, JSValueConst native);
// intl.c: what `Intl` is made of.
void intl_install(JSContext *ctx, JSValueConst native);
void realm_install(JSContext *ctx, JSValueConst native);

// library.c: modules that are evaluated when they are first asked for.
void library_install(JSContext *ctx, JSValueConst native);
// Part of the initialisation.
void library_compile(JSContext *ctx);

// The error of an operation on a path; NULL: on an open file.
JSValue files_error(JSContext *ctx, int code, const char *operation, const char *path);
// The path argument of a function, or NULL after an exception.
const char *files_path(JSContext *ctx, int count, JSValueConst *arguments, int index);
// Two times that are given in seconds. False: an exception is thrown.
struct timespec;
bool files_times(JSContext *ctx, JSValueConst *given, struct timespec *times);
// What `stat` of files.c gives.
JSValue files_about(JSContext *ctx, const struct stat *about);
// The number of a device: that of a standard stream, or FILES_NULL; -1: the path names none.
#define FILES_NULL 3
int files_device(const char *path);
void files_about_device(struct stat *about);
// A whole file, to be freed; NULL with errno set.
char *files_load(const char *path, size_t *length);

#endif
