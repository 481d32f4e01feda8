// Timers that send signals (timers.c).
#ifndef DORMOUSE_PYTHON_TIMERS_H
#define DORMOUSE_PYTHON_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMERS 3

// Nanoseconds until a timer rings (0: it is not set), and from then on.
void timer_get(size_t which, int64_t *left, int64_t *interval);
void timer_set(size_t which, int64_t in, int64_t interval);
// Waits until the first of them rings. False: it is not set.
bool timer_wait(void);

#endif
