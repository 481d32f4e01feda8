// Contexts of execution. A core module has one stack, so none can be made; PHP's fibers are refused before they would
// ask for one.
#ifndef DORMOUSE_UCONTEXT_H
#define DORMOUSE_UCONTEXT_H

#include <stddef.h>

typedef struct ucontext_t {
  struct ucontext_t *uc_link;
  struct {
    void *ss_sp;
    int ss_flags;
    size_t ss_size;
  } uc_stack;
} ucontext_t;

int getcontext(ucontext_t *);
void makecontext(ucontext_t *, void (*)(void), int, ...);
int setcontext(const ucontext_t *);
int swapcontext(ucontext_t *, const ucontext_t *);

#endif
