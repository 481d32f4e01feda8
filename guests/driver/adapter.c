// The memory of the adapter that stands between WASI 0.1, which guests are compiled for, and 0.2, which the host speaks. It
// asks each new instance for a page of stack, then for one of state. Out of the heap, those of every instance that a memory
// was ever in would stay in it: nobody can give back what belongs to an instance that is gone. So they have two fixed places.
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#include "driver.h"

#define PAGE 65536
#define ALIGNMENT 8

static alignas(16) unsigned char pages[2][PAGE];

// How many of them this instance has been given. Not part of the memory, so it is 0 in every new instance.
__asm__(
    ".globaltype driver_pages, i32\n"
    ".globl driver_pages\n"
    "driver_pages:\n");

// How many there were before, and counts one more.
static uint32_t give_next(void) {
  uint32_t before;
  __asm__ volatile(
      ".globaltype driver_pages, i32\n"
      "global.get driver_pages\n"
      "local.tee %0\n"
      "i32.const 1\n"
      "i32.add\n"
      "global.set driver_pages"
      : "=r"(before));
  return before;
}

// In the place of the generated one, which is weak. No list of the contract is as long as these pages and aligned like them, so
// nothing else asks for the same (tools/guests/src/guests/component.rs tests it).
__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_size, size_t alignment, size_t size) {
  (void)old_size;
  if (!old && size == PAGE && alignment == ALIGNMENT) {
    uint32_t place = give_next();
    if (place < 2) return pages[place];
  }
  // Nothing is ever at such an address; an empty list needs one that is not null.
  if (!size) return (void *)alignment;
  void *block = realloc(old, size);
  if (!block) abort();
  return block;
}

void driver_clear_adapter_stack(void) {
  uint64_t *word = (uint64_t *)pages[0];
  for (size_t left = PAGE / sizeof *word; left; left--, word++) {
    if (*word) *word = 0;
  }
}
