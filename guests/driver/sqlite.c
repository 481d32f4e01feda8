// Locks for SQLite: what it remembers of its own connections. WASI has no locks, so nothing keeps it apart from another
// run, or a program of the host, that writes the same database of a mount at the same time; docs/projects.md says so.
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sqlite3.h>

#include "driver.h"

// SQLite's own, where the C library has none.
#ifndef F_GETLK
#define F_GETLK 12
#define F_SETLK 13
#define F_SETLKW 14
#define F_UNLCK 2
#endif

static int control(int descriptor, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  switch (command) {
    case F_GETLK:
      ((struct flock *)argument)->l_type = F_UNLCK;
      return 0;
    case F_SETLK:
    case F_SETLKW:
      return 0;
    default:
      return fcntl(descriptor, command, (int)(intptr_t)argument);
  }
}

void driver_start_sqlite(void) {
  // The default in WASI is a lock for each file that tells neither readers nor connections apart.
  sqlite3_vfs *files = sqlite3_vfs_find("unix");
  if (files && files->xSetSystemCall(files, "fcntl", (sqlite3_syscall_ptr)control) == SQLITE_OK)
    sqlite3_vfs_register(files, 1);
}
