// Files that grow while they are read. The adapter to WASI 0.2 keeps one stream for each file, and a stream that came to
// its end stays there. A seek to where the file is makes it open another on the next read.
#include <wasi/api.h>

#include "driver.h"

__wasi_errno_t __real___wasi_fd_read(__wasi_fd_t file, const __wasi_iovec_t *parts, size_t count, __wasi_size_t *read);

__wasi_errno_t __wrap___wasi_fd_read(__wasi_fd_t file, const __wasi_iovec_t *parts, size_t count, __wasi_size_t *read) {
  if (driver_is_lost(file)) return __WASI_ERRNO_BADF;
  __wasi_errno_t error = __real___wasi_fd_read(file, parts, count, read);
  __wasi_filesize_t position;
  // What is no file cannot seek, and says so.
  if (!error && !*read) (void)__wasi_fd_seek(file, 0, __WASI_WHENCE_CUR, &position);
  return error;
}
