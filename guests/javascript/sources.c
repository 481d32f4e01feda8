// The sources of the last runs, for the excerpts of exceptions: all snippets can have one name, and a function of an
// earlier one raises as well.
#include <stdlib.h>
#include <string.h>

#include "javascript.h"

// What is kept besides the source of the running snippet.
#define MOST_SOURCES 64
#define MOST_BYTES (1 << 20)

typedef struct source source;

struct source {
  source *older;
  uint32_t evaluation;
  char *code, *name;
  size_t length;
};

static source *newest;
static uint32_t evaluations;

static void drop(source *from) {
  while (from) {
    source *older = from->older;
    free(from->code);
    free(from->name);
    free(from);
    from = older;
  }
}

void sources_begin(char *code, size_t length, char *name) {
  source *kept = malloc(sizeof *kept);
  if (!kept) abort();
  // Zero stands for code of our own.
  if (!++evaluations) evaluations++;
  *kept = (source){newest, evaluations, code, name, length};
  newest = kept;
  engine_evaluation = evaluations;
  size_t count = 0, bytes = 0;
  for (source *at = newest; at; at = at->older) {
    source *next = at->older;
    if (!next) break;
    bytes += next->length;
    if (++count < MOST_SOURCES && bytes <= MOST_BYTES) continue;
    drop(next);
    at->older = NULL;
  }
}

const char *sources_find(uint32_t evaluation, const char *name, size_t name_length, size_t *length) {
  for (source *at = newest; at; at = at->older) {
    if (at->evaluation != evaluation) continue;
    if (strlen(at->name) != name_length || memcmp(at->name, name, name_length) != 0) return NULL;
    *length = at->length;
    return at->code;
  }
  return NULL;
}

void sources_clear(void) {
  drop(newest);
  newest = NULL;
}
