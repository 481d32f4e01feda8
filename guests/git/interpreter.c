// The exported `interpreter` interface (wit/interpreter.wit) over the static library of this folder. A run is one command
// of git: its words are the instance's arguments, so there is no source text, and nothing lasts.
#include <stdlib.h>
#include <string.h>
#include <wasi/libc-environ.h>

#include "driver.h"
#include "guest.h"

// The other side of `src/entry.rs`: runs the command in a folder (null: where it is) and answers its exit status.
int32_t git_command(const uint8_t *directory, size_t length);

#define NO_VARIABLE "{\"class\":\"UnboundVariable\",\"message\":\"there are no variables\"}"

void exports_dormouse_sandbox_interpreter_eval(guest_string_t *source,
                                               exports_dormouse_sandbox_interpreter_options_t *with,
                                               exports_dormouse_sandbox_interpreter_outcome_t *ret) {
  if (with->refresh_environment) __wasilibc_deinitialize_environ();
  const guest_string_t *directory = with->directory.is_some ? &with->directory.val : NULL;
  ret->tag = EXPORTS_DORMOUSE_SANDBOX_INTERPRETER_OUTCOME_EXITED;
  ret->val.exited = git_command(directory ? directory->ptr : NULL, directory ? directory->len : 0);
  exports_dormouse_sandbox_interpreter_options_free(with);
  guest_string_free(source);
}

void exports_dormouse_sandbox_interpreter_get(guest_string_t *name, guest_string_t *query,
                                              exports_dormouse_sandbox_interpreter_options_t *with,
                                              exports_dormouse_sandbox_interpreter_outcome_t *ret) {
  ret->tag = EXPORTS_DORMOUSE_SANDBOX_INTERPRETER_OUTCOME_RAISED;
  guest_string_dup(&ret->val.raised, NO_VARIABLE);
  exports_dormouse_sandbox_interpreter_options_free(with);
  guest_string_free(name);
  if (query) guest_string_free(query);
}

bool exports_dormouse_sandbox_interpreter_set(guest_string_t *name, guest_string_t *json, guest_string_t *err) {
  guest_string_dup(err, "git has no variables");
  guest_string_free(name);
  guest_string_free(json);
  return false;
}

void exports_dormouse_sandbox_interpreter_vars(exports_dormouse_sandbox_interpreter_bounds_t *bounds,
                                               guest_string_t *ret) {
  (void)bounds;
  guest_string_dup(ret, "[]");
}

void exports_dormouse_sandbox_interpreter_reset(void) {}

void driver_rest(void) {}

__attribute__((export_name("wizer-initialize"))) void initialise(void) {
  driver_fill_heap();
  driver_end_initialisation();
}
