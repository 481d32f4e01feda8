// Included before every file of ICU: what it takes of the C++ library and of libc, and what WASI's have not. There is one thread.
#ifndef DORMOUSE_ICU_WASI_H
#define DORMOUSE_ICU_WASI_H

#include <mutex>

namespace std {

struct mutex {
  void lock() {}
  void unlock() {}
};

struct condition_variable {
  void notify_all() {}
  void notify_one() {}
  // Nobody else could end it.
  template <class Lock>
  void wait(Lock &) {
    __builtin_trap();
  }
};

}  // namespace std

// The zone where the environment names none: there are no files of zones, and libc knows UTC alone.
inline void icu_set_zone() {}
inline const char *const icu_zone_names[] = {"UTC", "UTC"};
#define U_TZSET icu_set_zone
#define U_TIMEZONE 0
#define U_TZNAME icu_zone_names

// Bundles of a program's own are read, not mapped.
#define U_HAVE_MMAP 0

#endif
