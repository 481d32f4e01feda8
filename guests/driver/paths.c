// Paths that are not UTF-8. The host takes them as strings of the component model, where other bytes are a trap that
// ends the instance, so they are refused before they get there: `Illegal byte sequence`. The linker puts these
// functions in the place of wasi-libc's own (`--wrap`), which each of them calls. Opening is done in `descriptors.c`.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wasi/api.h>

#include "driver.h"

bool driver_is_text(const char *path) {
  const uint8_t *bytes = (const uint8_t *)path;
  for (size_t whole, bad, i = 0; bytes[i]; i += whole) {
    // The final NUL byte ends a character that is cut, so no length is needed.
    whole = bytes[i] < 0x80 ? 1 : driver_utf8(bytes + i, 4, &bad);
    if (!whole) return false;
  }
  return true;
}

#define WRAP(name, check, parameters, arguments)              \
  __wasi_errno_t __real___wasi_path_##name parameters;        \
  __wasi_errno_t __wrap___wasi_path_##name parameters {       \
    return (check) ? __real___wasi_path_##name arguments      \
                   : (__wasi_errno_t)__WASI_ERRNO_ILSEQ;      \
  }

WRAP(create_directory, driver_is_text(path), (__wasi_fd_t folder, const char *path), (folder, path))

WRAP(remove_directory, driver_is_text(path), (__wasi_fd_t folder, const char *path), (folder, path))

WRAP(unlink_file, driver_is_text(path), (__wasi_fd_t folder, const char *path), (folder, path))

WRAP(filestat_get, driver_is_text(path),
     (__wasi_fd_t folder, __wasi_lookupflags_t flags, const char *path, __wasi_filestat_t *result),
     (folder, flags, path, result))

WRAP(filestat_set_times, driver_is_text(path),
     (__wasi_fd_t folder, __wasi_lookupflags_t flags, const char *path, __wasi_timestamp_t accessed,
      __wasi_timestamp_t modified, __wasi_fstflags_t which),
     (folder, flags, path, accessed, modified, which))

WRAP(readlink, driver_is_text(path),
     (__wasi_fd_t folder, const char *path, uint8_t *buffer, __wasi_size_t room, __wasi_size_t *result),
     (folder, path, buffer, room, result))

WRAP(link, driver_is_text(from) && driver_is_text(to),
     (__wasi_fd_t from_folder, __wasi_lookupflags_t flags, const char *from, __wasi_fd_t to_folder, const char *to),
     (from_folder, flags, from, to_folder, to))

WRAP(rename, driver_is_text(from) && driver_is_text(to),
     (__wasi_fd_t from_folder, const char *from, __wasi_fd_t to_folder, const char *to),
     (from_folder, from, to_folder, to))

WRAP(symlink, driver_is_text(target) && driver_is_text(path), (const char *target, __wasi_fd_t folder, const char *path),
     (target, folder, path))
