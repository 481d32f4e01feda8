// What the sandbox can do in a small way: locks that nobody contends for, random bytes, temporary files.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// Most bytes of one call of `getentropy`.
#define ENTROPY 256

int getdtablesize(void) { return 1024; }

mode_t umask(mode_t mask) {
  static mode_t current = 022;
  mode_t old = current;
  current = mask & 0777;
  return old;
}

// A file cannot be opened twice under two numbers. PHP duplicates the standard streams only, to close its own number
// later; they are never closed.
int dup(int file) {
  if (file >= 0 && file <= 2) return file;
  errno = ENOSYS;
  return -1;
}

int dup2(int from, int to) {
  if (from == to) return to;
  errno = ENOSYS;
  return -1;
}

// Nobody else can hold a lock.
int flock(int file, int operation) {
  (void)operation;
  return fcntl(file, F_GETFD) < 0 ? -1 : 0;
}

ssize_t getrandom(void *bytes, size_t size, unsigned flags) {
  (void)flags;
  size_t given = size < ENTROPY ? size : ENTROPY;
  return getentropy(bytes, given) < 0 ? -1 : (ssize_t)given;
}

// Not libc's, which keeps a state in memory: it would repeat in each instance that goes on from the same saved memory.
void arc4random_buf(void *bytes, size_t size) {
  for (unsigned char *next = bytes; size;) {
    ssize_t given = getrandom(next, size, 0);
    // There is no other source, and no way to say so.
    if (given < 0) abort();
    next += given;
    size -= (size_t)given;
  }
}

uint32_t arc4random(void) {
  uint32_t number;
  arc4random_buf(&number, sizeof number);
  return number;
}

uint32_t arc4random_uniform(uint32_t bound) {
  if (bound < 2) return 0;
  // The numbers below are a remainder, by which small results would be more frequent.
  uint32_t number, least = -bound % bound;
  do number = arc4random();
  while (number < least);
  return number % bound;
}

int mkstemp(char *path) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
  size_t length = strlen(path);
  char *end = path + length;
  if (length < 6 || strcmp(end - 6, "XXXXXX") != 0) {
    errno = EINVAL;
    return -1;
  }
  for (int attempt = 0; attempt < 64; attempt++) {
    unsigned char bytes[6];
    if (getentropy(bytes, sizeof bytes) < 0) return -1;
    for (int i = 0; i < 6; i++) end[i - 6] = letters[bytes[i] & 31];
    int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

FILE *tmpfile(void) {
  char path[] = "/tmp/php-XXXXXX";
  int file = mkstemp(path);
  if (file < 0) return NULL;
  unlink(path);
  FILE *opened = fdopen(file, "w+");
  if (!opened) close(file);
  return opened;
}
