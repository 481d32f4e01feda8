// Folders as PHP's callers expect them of a system: wasi-libc keeps the working directory as text, and passes a final
// slash on to a host that takes it for a name. The linker puts these in the place of libc's own (`--wrap`).
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int __real_chdir(const char *path);
int __real_rmdir(const char *path);

// Takes `.`, `..` and double slashes out of an absolute path.
static void tidy(char *path) {
  char *out = path;
  for (const char *in = path; *in;) {
    while (*in == '/') in++;
    size_t length = strcspn(in, "/");
    if (length == 2 && in[0] == '.' && in[1] == '.') {
      while (out > path && *--out != '/') {
      }
    } else if (length && !(length == 1 && *in == '.')) {
      *out++ = '/';
      memmove(out, in, length);
      out += length;
    }
    in += length;
  }
  if (out == path) *out++ = '/';
  *out = 0;
}

static bool is_same(const char *left, const char *right) {
  struct stat a, b;
  return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int __wrap_chdir(const char *path) {
  char whole[PATH_MAX];
  size_t used = 0;
  if (*path && *path != '/') {
    if (!getcwd(whole, sizeof whole)) return -1;
    used = strlen(whole);
    whole[used++] = '/';
  }
  size_t length = strlen(path);
  if (!length || length >= sizeof whole - used) return __real_chdir(path);
  memcpy(whole + used, path, length + 1);
  tidy(whole);
  // After a link `..` is not what the text says.
  return __real_chdir(strstr(path, "..") && !is_same(path, whole) ? path : whole);
}

int __wrap_rmdir(const char *path) {
  char name[PATH_MAX];
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  if (!path[length] || length >= sizeof name) return __real_rmdir(path);
  memcpy(name, path, length);
  name[length] = 0;
  return __real_rmdir(name);
}
