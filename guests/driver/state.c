// The `state` interface (wit/state.wit), the same for all guests: memory is one linear memory, and the stack pointer
// is back at its start whenever no call is in progress.
#include "driver.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wasi/libc-environ.h>

#include "guest.h"

#define PAGE 65536

// Of wasi-libc; no public header declares it.
void __wasilibc_reset_preopens(void);

// Of wasi-libc: the working directory, on which chdir calls free once it has set it.
extern char *__wasilibc_cwd;

// Where a snippet starts that was given no directory: the one place where it can always write.
static const char start_directory[] = "/tmp";

// Of wasm-ld: the bounds of the C stack.
extern unsigned char __stack_low;

// Not part of the memory, so it is 0 in every new instance, also in one that is given the memory of another.
__asm__(
    ".globaltype driver_rested, i32\n"
    ".globl driver_rested\n"
    "driver_rested:\n");

// The memory was saved, perhaps, and nothing has run since.
static bool saved;

// Whether this instance has come to rest before, so that its memory is its own.
static bool has_rested(void) {
  uint32_t rested;
  __asm__ volatile(
      ".globaltype driver_rested, i32\n"
      "global.get driver_rested\n"
      "local.set %0"
      : "=r"(rested));
  return rested;
}

typedef struct {
  guest_string_t *list;
  size_t count, room;
} names;

// Adds a copy of a name to `names`.
static void add(void *to, const char *name) {
  names *all = to;
  if (all->count == all->room) {
    size_t room = all->room ? all->room * 2 : 8;
    guest_string_t *list = realloc(all->list, room * sizeof *list);
    // Without memory the file is open all the same, only unnamed.
    if (!list) return;
    all->list = list;
    all->room = room;
  }
  guest_string_t *slot = &all->list[all->count++];
  size_t length = strlen(name);
  slot->ptr = length ? malloc(length) : NULL;
  slot->len = slot->ptr ? length : 0;
  if (slot->ptr) memcpy(slot->ptr, name, length);
}

void exports_dormouse_sandbox_state_memory(guest_list_u8_t *ret) {
  // Address 0 is valid in a linear memory. The generated post-return frees it, which is a no-op.
  ret->ptr = NULL;
  ret->len = __builtin_wasm_memory_size(0) * PAGE;
}

bool exports_dormouse_sandbox_state_grow(uint32_t pages) {
  return __builtin_wasm_memory_grow(0, pages) != SIZE_MAX;
}

uint32_t exports_dormouse_sandbox_state_stack_pointer(void) {
  uint32_t pointer;
  __asm__ volatile(
      ".globaltype __stack_pointer, i32\n"
      "global.get __stack_pointer\n"
      "local.set %0"
      : "=r"(pointer));
  return pointer;
}

void exports_dormouse_sandbox_state_quiesce(guest_list_string_t *ret) {
  names open = {0};
  // A memory that was restored, and in which nothing has run since, is at rest as it is: nothing is open yet.
  if (!saved || has_rested()) {
    driver_rest();
    driver_rest_descriptors(add, &open);
    driver_forget_world();
    driver_clear_adapter_stack();
    saved = true;
    __asm__ volatile(
        ".globaltype driver_rested, i32\n"
        "i32.const 1\n"
        "global.set driver_rested");
  }
  ret->ptr = open.list;
  ret->len = open.count;
  // An empty list has no storage for the generated post-return to free.
  if (!open.count) free(open.list);
}

bool driver_restored(void) {
  if (!saved) return false;
  saved = false;
  if (has_rested()) return false;
  driver_open_again();
  return true;
}

void driver_forget_world(void) {
  __wasilibc_deinitialize_environ();
  __wasilibc_reset_preopens();
}

// Not inlined and without locals of its own, so that its frame lies below all that are still in use.
__attribute__((noinline)) static void clear_stack(void) {
  unsigned char *end = __builtin_frame_address(0);
  for (volatile uint64_t *word = (volatile uint64_t *)&__stack_low; (unsigned char *)word + 256 < end; word++) {
    if (*word) *word = 0;
  }
}

void driver_end_initialisation(void) {
  driver_forget_descriptors();
  driver_forget_world();
  // On the heap, because the first chdir may free it. chdir itself cannot serve: no folder is open at build time.
  char *directory = strdup(start_directory);
  if (directory) __wasilibc_cwd = directory;
  clear_stack();
}

void driver_fill_heap(void) {
  char *top = sbrk(0);
  // From large to small, so that each size takes what the larger ones could not.
  for (size_t size = 1 << 20; size; size = size > 512 ? size / 4 * 3 & ~(size_t)15 : size - 16) {
    for (;;) {
      char *block = malloc(size);
      if (!block) break;
      if (block >= top) {
        free(block);
        break;
      }
    }
  }
}

void driver_write(int descriptor, const char *bytes, size_t length) {
  while (length) {
    ssize_t written = write(descriptor, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes += written;
    length -= (size_t)written;
  }
}
