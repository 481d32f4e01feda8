// Anonymous memory by the page for PHP's allocator, which asks for aligned blocks of 2 MiB and gives parts of them back.
// wasi-libc's own `mmap` can do neither. Ranges come from `memory.grow`; what is given back is kept in a sorted list and
// handed out again.
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 65536u
#define BLOCK (2u << 20)

// Free ranges that are remembered. A range beyond that is lost until the instance ends.
#define MOST_RANGES 1024

typedef struct {
  uintptr_t begin, end;
} range;

static range ranges[MOST_RANGES];
static size_t range_count;

static uintptr_t round_up(uintptr_t value, uintptr_t unit) { return (value + unit - 1) & ~(unit - 1); }

static uintptr_t memory_end(void) { return (uintptr_t)__builtin_wasm_memory_size(0) * PAGE; }

static void remove_range(size_t at) {
  memmove(&ranges[at], &ranges[at + 1], (--range_count - at) * sizeof *ranges);
}

static void give_back(uintptr_t begin, uintptr_t end) {
  if (begin >= end) return;
  size_t at = 0;
  while (at < range_count && ranges[at].end < begin) at++;
  // Joins what touches.
  while (at < range_count && ranges[at].begin <= end) {
    if (ranges[at].begin < begin) begin = ranges[at].begin;
    if (ranges[at].end > end) end = ranges[at].end;
    remove_range(at);
  }
  if (range_count == MOST_RANGES) return;
  memmove(&ranges[at + 1], &ranges[at], (range_count - at) * sizeof *ranges);
  ranges[at] = (range){begin, end};
  range_count++;
}

// Takes a part out of a free range.
static void *take(size_t at, uintptr_t begin, size_t size) {
  range whole = ranges[at];
  remove_range(at);
  give_back(whole.begin, begin);
  give_back(begin + size, whole.end);
  return memset((void *)begin, 0, size);
}

static void *fresh(size_t size, size_t alignment) {
  uintptr_t end = memory_end(), begin = round_up(end, alignment);
  uint64_t more = (uint64_t)(begin - end) + size;
  if (begin < end || more > UINT32_MAX || __builtin_wasm_memory_grow(0, (size_t)(more / PAGE)) == SIZE_MAX) return NULL;
  give_back(end, begin);
  return (void *)begin;
}

static void *at_address(uintptr_t begin, size_t size) {
  for (size_t i = 0; i < range_count; i++) {
    if (ranges[i].begin <= begin && size <= ranges[i].end - begin && begin < ranges[i].end) return take(i, begin, size);
  }
  return begin == memory_end() ? fresh(size, PAGE) : NULL;
}

static void *anywhere(size_t size) {
  size_t alignment = size >= BLOCK ? BLOCK : PAGE;
  for (size_t i = 0; i < range_count; i++) {
    uintptr_t begin = round_up(ranges[i].begin, alignment);
    if (begin >= ranges[i].begin && begin < ranges[i].end && size <= ranges[i].end - begin) return take(i, begin, size);
  }
  return fresh(size, alignment);
}

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
  (void)protection, (void)file, (void)offset;
  size_t size = round_up(length, PAGE);
  void *found = NULL;
  // Files cannot be mapped, and no stack but the first can be used.
  if (!(flags & MAP_ANON) || flags & MAP_STACK) {
    errno = ENODEV;
    return MAP_FAILED;
  }
  if (length && size >= length) found = address ? at_address((uintptr_t)address, size) : anywhere(size);
  if (found) return found;
  errno = ENOMEM;
  return MAP_FAILED;
}

int munmap(void *address, size_t length) {
  give_back((uintptr_t)address, (uintptr_t)address + round_up(length, PAGE));
  return 0;
}

int mprotect(void *address, size_t length, int protection) {
  (void)address, (void)length, (void)protection;
  return 0;
}

int madvise(void *address, size_t length, int advice) {
  (void)address, (void)length, (void)advice;
  return 0;
}

int msync(void *address, size_t length, int flags) {
  (void)address, (void)length, (void)flags;
  return 0;
}
