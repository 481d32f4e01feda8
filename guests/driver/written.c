// Whether a run could have written a file, so that its code is as good as code from text (`allow-eval` of a call).
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include <wasi/api.h>
#include <wasi/libc-find-relpath.h>

#include "driver.h"

// Where every run can write.
#define SCRATCH "/tmp/"

// How no program can open anything. The host takes it as a question (runtime/wasm/src/disk/layer.rs).
#define WORD (__WASI_OFLAGS_DIRECTORY | __WASI_OFLAGS_EXCL | __WASI_OFLAGS_TRUNC)
#define QUESTION "made "

driver_whose_t driver_whose(const char *path) {
  const char *above, *rest;
  char question[sizeof QUESTION + PATH_MAX] = QUESTION;
  __wasi_fd_t file;
  if (*path != '/') return WHOSE_ELSEWHERE;
  int folder = __wasilibc_find_abspath(path, &above, &rest);
  if (folder < 0 || strlen(rest) >= PATH_MAX) return WHOSE_ELSEWHERE;
  strcpy(question + sizeof QUESTION - 1, rest);
  __wasi_errno_t error = __wasi_path_open((__wasi_fd_t)folder, 0, question, WORD, 0, 0, 0, &file);
  if (error) return error == __WASI_ERRNO_NOENT ? WHOSE_PROJECT : WHOSE_ELSEWHERE;
  (void)__wasi_fd_close(file);
  return WHOSE_RUN;
}

bool driver_can_be_written(const char *path) {
  if (strncmp(path, SCRATCH, sizeof SCRATCH - 1) == 0) return true;
  driver_whose_t whose = driver_whose(path);
  if (whose != WHOSE_ELSEWHERE) return whose == WHOSE_RUN;
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file >= 0) close(file);
  return file >= 0;
}
