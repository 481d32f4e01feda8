// Timers that send signals. There is no system and no thread that could interrupt the program: while a timer is set, the interpreter
// asks between bytecodes whether its time is over (patch 0015), and a sleep ends when it is. The processor's time is that of the clock.
#define Py_BUILD_CORE 1
#include "python.h"

#include <errno.h>
#include <internal/pycore_ceval.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "timers.h"

#define SECOND 1000000000LL
// The clock is looked at once in so many times.
#define TURNS 64

// By the numbers of `ITIMER_REAL`, `ITIMER_VIRTUAL` and `ITIMER_PROF`. `due` 0: it is not set.
static struct {
  int signal;
  int64_t due, interval;
} timers[TIMERS] = {{.signal = SIGALRM}, {.signal = SIGVTALRM}, {.signal = SIGPROF}};
static unsigned turns;

int __real_clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left);

static int64_t now(clockid_t clock) {
  struct timespec time;
  return clock_gettime(clock, &time) ? 0 : time.tv_sec * SECOND + time.tv_nsec;
}

// What happens without a handler is the end of the program.
static void ring(int signal) {
  if (PyOS_getsig(signal) == SIG_DFL) _Exit(128 + signal);
  PyErr_SetInterruptEx(signal);
}

static void ring_due(void) {
  int64_t time = now(CLOCK_MONOTONIC);
  for (size_t i = 0; i < TIMERS; i++) {
    if (!timers[i].due || timers[i].due > time) continue;
    timers[i].due = timers[i].interval ? time + timers[i].interval : 0;
    ring(timers[i].signal);
  }
}

void _Py_LookAtTimers(void) {
  if (++turns % TURNS == 0) ring_due();
}

static void watch(void) {
  bool any = false;
  for (size_t i = 0; i < TIMERS; i++) any |= timers[i].due != 0;
  PyThreadState *thread = PyThreadState_Get();
  if (any) _Py_set_eval_breaker_bit(thread, _PY_EVAL_EXPLICIT_MERGE_BIT);
  else _Py_unset_eval_breaker_bit(thread, _PY_EVAL_EXPLICIT_MERGE_BIT);
}

void timer_get(size_t which, int64_t *left, int64_t *interval) {
  int64_t due = timers[which].due, time = due ? now(CLOCK_MONOTONIC) : 0;
  *left = !due ? 0 : due > time ? due - time : 1;
  *interval = timers[which].interval;
}

void timer_set(size_t which, int64_t in, int64_t interval) {
  timers[which].due = in ? now(CLOCK_MONOTONIC) + in : 0;
  timers[which].interval = in ? interval : 0;
  watch();
}

bool timer_wait(void) {
  int64_t in, interval;
  timer_get(0, &in, &interval);
  if (!in) return false;
  struct timespec rest = {in / SECOND, in % SECOND};
  __real_clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
  ring_due();
  return true;
}

// What Python sleeps and waits with.
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left) {
  int64_t in, interval;
  timer_get(0, &in, &interval);
  int64_t sleeps = wanted->tv_sec * SECOND + wanted->tv_nsec - (flags & TIMER_ABSTIME ? now(clock) : 0);
  if (!in || sleeps < in) return __real_clock_nanosleep(clock, flags, wanted, left);
  struct timespec rest = {in / SECOND, in % SECOND};
  int failed = __real_clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
  if (failed) return failed;
  ring_due();
  if (left) *left = (struct timespec){(sleeps - in) / SECOND, (sleeps - in) % SECOND};
  return EINTR;
}
