// What SQLite asks of a system. Locks: what it remembers of its own connections. WASI has no locks, so nothing keeps it
// apart from another run, or a program of the host, that writes the same database of a mount at the same time;
// docs/projects.md says so. What it locks is noted with the descriptor: it believes what it has read of a file for as long as it has
// that locked (descriptors.c). And entropy, which it looks for in `/dev/urandom` only.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

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
    case F_SETLKW: {
      const struct flock *lock = argument;
      // A length of 0 is all of the file. Of a part it only gives back what it had locked more than for reading.
      if (lock->l_type != F_UNLCK) driver_note_lock(descriptor, true);
      else if (!lock->l_len) driver_note_lock(descriptor, false);
      return 0;
    }
    default:
      return fcntl(descriptor, command, (int)(intptr_t)argument);
  }
}

// A file that could not be opened again has no size. Of a journal that had one, if only 0, SQLite would take it that there is nothing
// to roll back, and remove what lies under its name, which is what others roll back with.
static int look(int descriptor, struct stat *about) {
  if (descriptor >= 0 && driver_is_lost((uint32_t)descriptor)) {
    errno = EBADF;
    return -1;
  }
  return fstat(descriptor, about);
}

// A connection whose database is lost still has pages of it in memory. A journal that it made would be full of them, and the next
// connection would take it for what a crash has left, and write them into the database. As if it were a folder: of anything else
// SQLite tries to read it.
static int open_file(const char *path, int flags, int mode) {
  if (flags & O_CREAT && driver_is_journal_of_lost(path)) {
    errno = EISDIR;
    return -1;
  }
  return open(path, flags, mode);
}

// What one call of getentropy gives at most, in bytes.
#define ENTROPY 256

static int randomness(sqlite3_vfs *files, int size, char *bytes) {
  (void)files;
  for (int at = 0; at < size; at += ENTROPY) {
    if (getentropy(bytes + at, (size_t)(size - at < ENTROPY ? size - at : ENTROPY))) return at;
  }
  return size;
}

void driver_start_sqlite(void) {
  // The default in WASI is a lock for each file that tells neither readers nor connections apart.
  sqlite3_vfs *files = sqlite3_vfs_find("unix");
  if (!files) return;
  files->xRandomness = randomness;
  if (files->xSetSystemCall(files, "open", (sqlite3_syscall_ptr)open_file) == SQLITE_OK &&
      files->xSetSystemCall(files, "fstat", (sqlite3_syscall_ptr)look) == SQLITE_OK &&
      files->xSetSystemCall(files, "fcntl", (sqlite3_syscall_ptr)control) == SQLITE_OK)
    sqlite3_vfs_register(files, 1);
}

void driver_reseed_sqlite(void) { sqlite3_randomness(0, NULL); }
