// Descriptors that outlive their instance. What is open lies in the host and in the adapter to WASI 0.2, and neither is part
// of the memory. So this table is: which numbers are open, and as what. When the memory goes on in a new instance, the same
// files are opened under the same numbers before anything else runs, and neither the C library nor the program knows.
//
// The host keeps the files of a sandbox's own tree open for that, also those whose name is gone, and hands them out by
// their number of the node (runtime/wasm/src/disk/held.rs). What lies below a mount is opened by its path. The linker puts
// the functions below in the place of wasi-libc's own (`--wrap`), which each of them calls.
//
// A memory can go on beside files that have changed since: after a run that was stopped, or when files or memory alone were
// restored. For a database that SQLite has locked, in the middle of a transaction or a query, that would be its end: pages of
// another moment would be written into the file. Such a file is not opened again.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wasi/api.h>

#include "driver.h"

// Descriptors that the adapter has at most.
#define DESCRIPTORS 128
// The first folder that an instance is given; where it has files of its own, it is of them.
#define FIRST 3
// How no program can open anything: the host answers EINVAL, and takes it as a word from the driver where it has kept something.
#define WORD (__WASI_OFLAGS_DIRECTORY | __WASI_OFLAGS_EXCL | __WASI_OFLAGS_TRUNC)
// Bytes of the longest word: an operation and a path.
#define LONGEST 4200

typedef struct {
  // The program has it open.
  bool open;
  // It could not be opened again. A folder that nothing can be done with keeps its number from others.
  bool lost;
  bool folder;
  __wasi_fdflags_t flags;
  // As it was opened, below the folder of this number that the instance was given, or absolute when that is 0; NULL for want
  // of memory.
  char *path;
  __wasi_fd_t below;
  // The number of its node; 0: not yet asked for.
  uint64_t node;
  // Where the next byte is read or written, when the instance last came to rest.
  __wasi_filesize_t position;
  __wasi_rights_t rights, inheriting;
  // The program has it locked, and when it last came to rest the file was changed then and had that many bytes.
  bool locked;
  __wasi_timestamp_t changed;
  __wasi_filesize_t size;
} descriptor;

static descriptor table[DESCRIPTORS];

__wasi_errno_t __real___wasi_path_open(__wasi_fd_t folder, __wasi_lookupflags_t lookup, const char *path,
                                       __wasi_oflags_t how, __wasi_rights_t rights, __wasi_rights_t inheriting,
                                       __wasi_fdflags_t flags, __wasi_fd_t *result);
__wasi_errno_t __real___wasi_fd_close(__wasi_fd_t file);
__wasi_errno_t __real___wasi_fd_renumber(__wasi_fd_t from, __wasi_fd_t to);
__wasi_errno_t __real___wasi_fd_fdstat_set_flags(__wasi_fd_t file, __wasi_fdflags_t flags);
__wasi_errno_t __real___wasi_fd_readdir(__wasi_fd_t folder, uint8_t *buffer, __wasi_size_t room, __wasi_dircookie_t from,
                                        __wasi_size_t *used);

// Whether a path is that of a database's journal.
static bool is_journal_of(const char *path, const char *database) {
  size_t length = database ? strlen(database) : 0;
  return length && path && !strncmp(database, path, length) && !strcmp(path + length, "-journal");
}

bool driver_is_journal_of_lost(const char *path) {
  for (size_t i = 0; i < DESCRIPTORS; i++) {
    if (table[i].lost && is_journal_of(path, table[i].path)) return true;
  }
  return false;
}

bool driver_is_lost(uint32_t number) { return number < DESCRIPTORS && table[number].lost; }

// The number of its node; 0 if it has none.
static uint64_t node_of(__wasi_fd_t number) {
  descriptor *one = &table[number];
  __wasi_filestat_t about;
  if (!one->node && !__wasi_fd_filestat_get(number, &about)) one->node = about.ino;
  return one->node;
}

void driver_note_lock(int number, bool locked) {
  if (number < 0 || number >= DESCRIPTORS || !table[number].open) return;
  table[number].locked = locked;
  if (locked) return;
  // SQLite locks a file once for all its connections, and gives it back by the last.
  for (__wasi_fd_t other = FIRST; other < DESCRIPTORS; other++) {
    if (table[other].locked && node_of(other) == node_of((__wasi_fd_t)number)) table[other].locked = false;
  }
}

static void forget(descriptor *one) {
  free(one->path);
  *one = (descriptor){0};
}

// The name of a folder that the instance was given, in `name`; its length, or 0.
static size_t given_folder(__wasi_fd_t number, char *name, size_t room) {
  __wasi_prestat_t about;
  if (__wasi_fd_prestat_get(number, &about)) return 0;
  size_t length = about.u.dir.pr_name_len;
  if (length > room || __wasi_fd_prestat_dir_name(number, (uint8_t *)name, length)) return 0;
  return length;
}

// A copy of `above/path`; of `above` for the folder itself.
static char *join(const char *above, size_t length, const char *path) {
  size_t rest = strlen(path);
  if (length + rest + 2 > LONGEST) return NULL;
  char *whole = malloc(length + rest + 2);
  if (!whole) return NULL;
  memcpy(whole, above, length);
  whole[length] = 0;
  if (!strcmp(path, ".")) return whole;
  if (length && whole[length - 1] != '/') whole[length++] = '/';
  memcpy(whole + length, path, rest + 1);
  return whole;
}

// Notes a path below a folder that is open. The name of one that the instance was given costs a call of the host, and is only
// asked for when the instance comes to rest.
static void note_path(descriptor *one, __wasi_fd_t folder, const char *path) {
  const descriptor *above = folder < DESCRIPTORS && table[folder].open ? &table[folder] : NULL;
  one->below = above ? above->below : folder;
  if (!above) one->path = strdup(path);
  else if (above->path) one->path = join(above->path, strlen(above->path), path);
}

// Makes the noted path absolute. The name of the folder that was asked for last is kept in `name`.
static void resolve(descriptor *one, __wasi_fd_t *folder, char *name, size_t *length) {
  if (!one->below || !one->path) return;
  if (*folder != one->below) *length = given_folder(*folder = one->below, name, LONGEST);
  char *whole = *length ? join(name, *length, one->path) : NULL;
  free(one->path);
  one->path = whole;
  one->below = 0;
}

__wasi_errno_t __wrap___wasi_path_open(__wasi_fd_t folder, __wasi_lookupflags_t lookup, const char *path,
                                       __wasi_oflags_t how, __wasi_rights_t rights, __wasi_rights_t inheriting,
                                       __wasi_fdflags_t flags, __wasi_fd_t *result) {
  if (!driver_is_text(path)) return __WASI_ERRNO_ILSEQ;
  __wasi_errno_t error = __real___wasi_path_open(folder, lookup, path, how, rights, inheriting, flags, result);
  if (error || *result >= DESCRIPTORS) return error;
  descriptor *one = &table[*result];
  forget(one);
  *one = (descriptor){
      .folder = how & __WASI_OFLAGS_DIRECTORY,
      .flags = flags,
      .rights = rights,
      .inheriting = inheriting,
  };
  note_path(one, folder, path);
  one->open = true;
  return 0;
}

__wasi_errno_t __wrap___wasi_fd_close(__wasi_fd_t file) {
  __wasi_errno_t error = __real___wasi_fd_close(file);
  if (!error && file < DESCRIPTORS) forget(&table[file]);
  return error;
}

__wasi_errno_t __wrap___wasi_fd_renumber(__wasi_fd_t from, __wasi_fd_t to) {
  __wasi_errno_t error = __real___wasi_fd_renumber(from, to);
  if (error || from == to || from >= DESCRIPTORS || to >= DESCRIPTORS) return error;
  forget(&table[to]);
  table[to] = table[from];
  table[from] = (descriptor){0};
  return 0;
}

__wasi_errno_t __wrap___wasi_fd_fdstat_set_flags(__wasi_fd_t file, __wasi_fdflags_t flags) {
  __wasi_errno_t error = __real___wasi_fd_fdstat_set_flags(file, flags);
  if (!error && file < DESCRIPTORS) table[file].flags = flags;
  return error;
}

__wasi_errno_t __wrap___wasi_fd_readdir(__wasi_fd_t folder, uint8_t *buffer, __wasi_size_t room,
                                        __wasi_dircookie_t from, __wasi_size_t *used) {
  if (driver_is_lost(folder)) return __WASI_ERRNO_BADF;
  return __real___wasi_fd_readdir(folder, buffer, room, from, used);
}

void driver_forget_descriptors(void) {
  for (size_t i = 0; i < DESCRIPTORS; i++) forget(&table[i]);
}

void driver_rest_descriptors(void (*each)(void *all, const char *path), void *all) {
  char name[LONGEST];
  __wasi_fd_t folder = 0;
  size_t length = 0;
  for (__wasi_fd_t number = FIRST; number < DESCRIPTORS; number++) {
    descriptor *one = &table[number];
    if (!one->open || one->lost) continue;
    __wasi_filestat_t about;
    // A folder has no position; the host lists it anew and skips what was seen.
    if (__wasi_fd_tell(number, &one->position)) one->position = 0;
    (void)node_of(number);
    if (one->locked && !__wasi_fd_filestat_get(number, &about)) one->changed = about.mtim, one->size = about.size;
    resolve(one, &folder, name, &length);
    each(all, one->path ? one->path : "?");
  }
}

// Says a word to the host. Only one that opens something has a result.
static __wasi_errno_t say(const char *operation, const char *about, const descriptor *one, __wasi_fd_t *result) {
  char word[LONGEST + 8];
  size_t length = strlen(operation), rest = strlen(about);
  if (length + rest + 1 > sizeof word) return __WASI_ERRNO_NAMETOOLONG;
  memcpy(word, operation, length);
  memcpy(word + length, about, rest + 1);
  return __real___wasi_path_open(FIRST, 0, word, WORD, one ? one->rights : 0, one ? one->inheriting : 0,
                                 one ? one->flags : 0, result);
}

// Opens what a path leads to now, and makes nothing.
static __wasi_errno_t open_path(const descriptor *one, __wasi_fd_t *result) {
  char name[LONGEST];
  size_t longest = 0;
  __wasi_fd_t folder = 0;
  if (!one->path) return __WASI_ERRNO_NOENT;
  for (__wasi_fd_t number = FIRST; number < DESCRIPTORS; number++) {
    size_t length = given_folder(number, name, sizeof name);
    if (!length) break;
    if (length > 1 && name[length - 1] == '/') length--;
    bool above = !strncmp(one->path, name, length) && (length == 1 || one->path[length] == '/' || !one->path[length]);
    // Of two folders with one name the later is the mount.
    if (above && length >= longest) longest = length, folder = number;
  }
  if (!longest) return __WASI_ERRNO_NOENT;
  const char *rest = one->path + longest;
  while (*rest == '/') rest++;
  return __real___wasi_path_open(folder, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, *rest ? rest : ".",
                                 one->folder ? __WASI_OFLAGS_DIRECTORY : 0, one->rights, one->inheriting, one->flags,
                                 result);
}

static bool open_again(descriptor *one, __wasi_fd_t *result) {
  char digits[24], *first = digits + sizeof digits;
  *--first = 0;
  for (uint64_t left = one->node; left; left /= 10) *--first = (char)('0' + left % 10);
  __wasi_errno_t error = one->node ? say("open ", first, one, result) : __WASI_ERRNO_NOENT;
  if (error) {
    // What lies below a mount, or is not what was kept.
    error = open_path(one, result);
    one->node = 0;
  }
  if (error) return false;
  __wasi_filesize_t position;
  if (one->position) (void)__wasi_fd_seek(*result, (__wasi_filedelta_t)one->position, __WASI_WHENCE_SET, &position);
  return true;
}

// A folder that takes up a number.
static bool take_number(__wasi_fd_t *result) {
  return !__real___wasi_path_open(FIRST, 0, ".", __WASI_OFLAGS_DIRECTORY, 0, 0, 0, result);
}

// Whether a file has changed since the memory last came to rest.
static bool has_changed(__wasi_fd_t number) {
  const descriptor *one = &table[number];
  __wasi_filestat_t about;
  return __wasi_fd_filestat_get(number, &about) || about.mtim != one->changed || about.size != one->size;
}


// Whether a journal that is open is not the one that the others find.
static bool is_replaced(__wasi_fd_t number) {
  __wasi_filestat_t mine, theirs;
  __wasi_fd_t found;
  if (__wasi_fd_filestat_get(number, &mine) || open_path(&table[number], &found)) return true;
  __wasi_errno_t error = __wasi_fd_filestat_get(found, &theirs);
  (void)__real___wasi_fd_close(found);
  return error || mine.ino != theirs.ino;
}

// Takes a file away that was opened again. A folder has its number then.
static void lose(__wasi_fd_t number) {
  descriptor *one = &table[number];
  __wasi_fd_t made;
  (void)say("lost ", one->path ? one->path : "?", NULL, &made);
  // The number that was given back last is given out next.
  if (!__real___wasi_fd_close(number)) (void)take_number(&made);
  one->lost = true;
}

// Takes databases away that have changed while the memory had them locked, with all connections and journals that they have.
static void lose_changed(void) {
  for (__wasi_fd_t locked = FIRST; locked < DESCRIPTORS; locked++) {
    descriptor *one = &table[locked];
    if (!one->open || !one->locked || one->lost) continue;
    bool changed = has_changed(locked);
    for (__wasi_fd_t other = FIRST; !changed && other < DESCRIPTORS; other++) {
      const descriptor *its = &table[other];
      changed = its->open && !its->lost && is_journal_of(its->path, one->path) && is_replaced(other);
    }
    if (!changed) continue;
    for (__wasi_fd_t other = FIRST; other < DESCRIPTORS; other++) {
      const descriptor *its = &table[other];
      if (!its->open || its->lost || other == locked) continue;
      if (node_of(other) == node_of(locked) || is_journal_of(its->path, one->path)) lose(other);
    }
    lose(locked);
  }
}

void driver_open_again(void) {
  bool any = false;
  for (size_t i = 0; i < DESCRIPTORS; i++) any = any || table[i].open;
  __wasi_fd_t next, made;
  // A new instance gives out numbers upwards, from the first one that no folder of its own has.
  if (!any || !take_number(&next)) return;
  (void)__real___wasi_fd_close(next);
  bool gap[DESCRIPTORS] = {false};
  for (__wasi_fd_t number = FIRST; number < DESCRIPTORS; number++) {
    descriptor *one = &table[number];
    if (!one->open) continue;
    while (next < number && take_number(&made) && made < DESCRIPTORS) {
      gap[made] = true;
      next = made + 1;
    }
    bool opened = next == number && !one->lost && open_again(one, &made);
    if (!opened && !one->lost) (void)say("lost ", one->path ? one->path : "?", NULL, &made);
    if (next != number) {
      // A folder that the instance was not given before has its number.
      forget(one);
      continue;
    }
    one->lost = !opened;
    if (opened || take_number(&made)) next = made + 1;
  }
  lose_changed();
  // The lowest is given out next.
  for (__wasi_fd_t number = DESCRIPTORS; number-- > 0;) {
    if (gap[number]) (void)__real___wasi_fd_close(number);
  }
  (void)say("done", "", NULL, &made);
}
