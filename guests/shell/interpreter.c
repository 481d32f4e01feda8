// The exported `interpreter` interface (wit/interpreter.wit) over the static library of this folder, and the start.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wasi/libc-environ.h>

#include "driver.h"
#include "guest.h"

// The other side of `src/entry.rs`.
typedef struct {
  const uint8_t *first;
  size_t count;
} borrowed;

typedef struct {
  uint8_t *first;
  size_t count;
} given;

void shell_start(void);
void shell_reseed(void);
int32_t shell_run(borrowed source, borrowed directory, bool refresh_environment);
given shell_get(borrowed name);
bool shell_set(borrowed name, borrowed json);
given shell_variables(void);
void shell_reset(void);

#define NO_VARIABLE "{\"class\":\"UnboundVariable\",\"message\":\"there is no such variable\"}"

static borrowed lend(const guest_string_t *string) {
  // An empty text is one too; only a missing one has no first byte.
  return (borrowed){string->ptr ? string->ptr : (const uint8_t *)"", string->len};
}

static void take(given text, guest_string_t *into) {
  into->ptr = text.first;
  into->len = text.count;
}

void exports_dormouse_sandbox_interpreter_eval(guest_string_t *source,
                                               exports_dormouse_sandbox_interpreter_options_t *with,
                                               exports_dormouse_sandbox_interpreter_outcome_t *ret) {
  if (driver_restored()) shell_reseed();
  if (with->refresh_environment) __wasilibc_deinitialize_environ();
  borrowed directory = {NULL, 0};
  if (with->directory.is_some) directory = lend(&with->directory.val);
  ret->tag = EXPORTS_DORMOUSE_SANDBOX_INTERPRETER_OUTCOME_EXITED;
  ret->val.exited = shell_run(lend(source), directory, with->refresh_environment);
  exports_dormouse_sandbox_interpreter_options_free(with);
  guest_string_free(source);
}

void exports_dormouse_sandbox_interpreter_get(guest_string_t *name, guest_string_t *query,
                                              exports_dormouse_sandbox_interpreter_options_t *with,
                                              exports_dormouse_sandbox_interpreter_outcome_t *ret) {
  given value = shell_get(lend(name));
  if (value.first) {
    ret->tag = EXPORTS_DORMOUSE_SANDBOX_INTERPRETER_OUTCOME_RETURNED;
    take(value, &ret->val.returned);
  } else {
    ret->tag = EXPORTS_DORMOUSE_SANDBOX_INTERPRETER_OUTCOME_RAISED;
    guest_string_dup(&ret->val.raised, NO_VARIABLE);
  }
  exports_dormouse_sandbox_interpreter_options_free(with);
  guest_string_free(name);
  if (query) guest_string_free(query);
}

bool exports_dormouse_sandbox_interpreter_set(guest_string_t *name, guest_string_t *json, guest_string_t *err) {
  bool set = shell_set(lend(name), lend(json));
  if (!set) guest_string_dup(err, "a shell variable has a plain name, and a string or a number as its value");
  guest_string_free(name);
  guest_string_free(json);
  return set;
}

void exports_dormouse_sandbox_interpreter_vars(exports_dormouse_sandbox_interpreter_bounds_t *bounds,
                                               guest_string_t *ret) {
  (void)bounds;
  take(shell_variables(), ret);
}

void exports_dormouse_sandbox_interpreter_reset(void) { shell_reset(); }

// Bytes that a call may have used and freed before the free parts of the heap are cleared.
#define ROOM ((size_t)8 << 20)

size_t shell_freed(void);

// Writes zeros over the free parts of the heap: what a long pipeline has held is no part of the shell's state, and a
// page of zeros is not saved. A block of the list is free memory that is taken for a moment.
static void clear_free_memory(void) {
  struct block {
    struct block *next;
  } *taken = NULL;
  char *top = sbrk(0);
  for (size_t size = (size_t)64 << 20; size >= 4096; size /= 2) {
    for (;;) {
      struct block *block = malloc(size);
      if (!block) break;
      if ((char *)block >= top) {
        free(block);
        break;
      }
      memset(block, 0, size);
      block->next = taken;
      taken = block;
    }
  }
  while (taken) {
    struct block *next = taken->next;
    taken->next = NULL;
    free(taken);
    taken = next;
  }
}

void driver_rest(void) {
  if (shell_freed() > ROOM) clear_free_memory();
}

__attribute__((export_name("wizer-initialize"))) void initialise(void) {
  shell_start();
  driver_fill_heap();
  driver_end_initialisation();
}
