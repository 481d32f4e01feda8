// The parts of the PHP driver and what they know of each other.
#ifndef DORMOUSE_GUEST_PHP_H
#define DORMOUSE_GUEST_PHP_H

#include <stdbool.h>

#include "driver.h"
#include "guest.h"
#include "php.h"
#include "text.h"

typedef exports_dormouse_sandbox_interpreter_bounds_t bounds;
typedef exports_dormouse_sandbox_interpreter_options_t options;
typedef exports_dormouse_sandbox_interpreter_outcome_t outcome;

// start.c: PHP's life. One request stays open from call to call; it is what keeps variables, functions and classes.

// Ends the request and opens a new one. Everything of the user's is gone, memory above all.
void start_over(void);

// guard.c: fatal errors, which unwind the C stack.

// Runs `body` so that a fatal error in it ends it and nothing more. False: there was one, and it is recorded.
bool guarded(void (*body)(void *), void *with);
// What the last fatal error was. Valid until the next call of `fatal_forget`.
typedef struct {
  bool raised;
  // More memory was asked for than there is; and that is so for the next small request, too.
  bool memory, starved;
  int type;
  char *message, *file;
  size_t message_length, file_length;
  uint32_t line;
  // The frames, as JSON strings with commas between them.
  text frames;
} fatal_error;
extern fatal_error fatal;
void fatal_forget(void);
// Sets memory of the request aside, so that its end can be told when it has none left.
void fatal_begin_request(void);
// After a fatal error: whether the request can go on.
bool fatal_recover(void);
// Takes the place of PHP's own report of errors, which it calls for all that is not fatal.
void fatal_install(void);

// run.c: a snippet from its text to its value.

typedef enum { RUN_RETURNED, RUN_RAISED, RUN_FATAL, RUN_EXITED } run_end;

typedef struct {
  run_end end;
  // The value, or the exception's object.
  zval value;
  int status;
} run_result;

// Takes the code, which is from `malloc`, and keeps it until the next one.
void run_snippet(char *code, size_t length, const char *name, run_result *result);
// The value of an expression in which `$value` is `value`.
void run_query(zval *value, const char *code, size_t length, const char *name, run_result *result);
// Runs `body`, which may throw, exit or fail, and says what it came to. The value stays as it is.
void run_step(void (*body)(void *), void *with, run_result *result);
// What a script does at its end: shutdown functions, then output that is still held back.
void run_last(run_result *result);
// Whether `file` is the snippet that ran last, and `line` certainly of its text; then that line.
const char *run_line(const zend_string *file, zend_long line, bool top, size_t *length);
void run_forget(void);
void run_install(void);

// permit.c: whether code may be made from text.

// A call begins: its snippet's name, and whether its text may.
void permit_begin(const char *name, bool allow);
// Compiles for the driver itself, which always may.
zend_op_array *permit_compile(zend_string *code, const char *name, zend_compile_position position);
void permit_install(void);

// encode.c: typed values (docs/values.md). May run code of the user's: to be called by `run_step`.
void encode_value(zval *value, const bounds *limits, text *out);

// describe.c: names and one-line texts without side effects.

// `Class` of an object, else the type's name. Anonymous classes lose what follows their NUL byte.
const char *describe_class(const zval *value, size_t *length);
void describe_short(const zval *value, text *out);
// The signature of a closure.
void describe_closure(zend_object *closure, text *out);

// raise.c: exceptions.
void raise_exception(zend_object *thrown, const bounds *limits, text *out);
void raise_fatal(const bounds *limits, text *out);
// `Class->method`, from parts that may be missing.
void raise_function(text *out, const zend_string *class, const char *type, const zend_string *function);

// vars.c: the user's globals.
zval *vars_get(const char *name, size_t length);
// Takes the value's reference. NULL: done; else why not.
const char *vars_set(const char *name, size_t length, zval *value);
void vars_list(const bounds *limits, text *out);

// seeds.c: random numbers that differ between instances that go on from one saved state.

// The first act of every call that may run a snippet's code.
void seeds_wake(void);
void seeds_begin_request(void);
void seeds_install(void);

// numbers.c: GMP.
void numbers_install(void);

// magic.c: the kinds of files.
void magic_begin_request(void);
// Gives its memory back, unless somebody looks at it.
void magic_rest(void);

// devices.c: `/dev/null` and its like.
void devices_install(void);

// tool.c: what the host offers to a snippet.
extern zend_module_entry tool_module;

// world.c: environment, arguments, standard streams.
void world_refresh(void);
// Without arguments the program is the snippet, by its name.
void world_name(const char *name);
void world_open_streams(void);
// A variable of the environment that nobody has set, and that there is all the same.
char *world_variable(const char *name, size_t length);
void world_install(void);
size_t world_write(const char *bytes, size_t length);

#endif
