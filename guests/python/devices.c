// Descriptors that are no files: `/dev/null`, which programs open to throw away what they write or to have nothing to read, the
// other devices that programs name and their folder, what the system says of itself, and pipes within the program. WASI has none:
// their descriptors are those of a folder, which nothing can be read from or written to, and the functions of libc below know their
// numbers. The linker puts them in the place of libc's own (`--wrap`), which each of them calls. What lies in a pipe is part of the
// memory, and goes on with it.
#include "devices.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

// What can be opened by its name. The number is that of Linux.
typedef enum { NOTHING, ZEROS, RANDOM, STANDARD, FOLDER, TEXT } kind_t;
typedef struct {
  const char *path;
  kind_t kind;
  int number, stream;
} device_t;
static const device_t known[] = {
    {"/dev/null", NOTHING, 1 << 8 | 3, -1},       {"/dev/zero", ZEROS, 1 << 8 | 5, -1},
    {"/dev/urandom", RANDOM, 1 << 8 | 9, -1},     {"/dev/random", RANDOM, 1 << 8 | 8, -1},
    {"/dev/stdin", STANDARD, 136 << 8, 0},        {"/dev/stdout", STANDARD, 136 << 8, 1},
    {"/dev/stderr", STANDARD, 136 << 8, 2},       {"/dev", FOLDER, 1, -1},
    {"/etc/os-release", TEXT, 2, -1},
};
#define KNOWN (sizeof known / sizeof *known)
// A file of that name is read instead, where there is one.
static const char RELEASE[] = "NAME=\"Dormouse\"\nID=dormouse\nPRETTY_NAME=\"Dormouse\"\n";
#define RELEASE_LENGTH (sizeof RELEASE - 1)

// Descriptors that there are at most (guests/driver/descriptors.c).
#define DESCRIPTORS 128
// What a pipe holds at most, as on Linux.
#define ROOM 65536

typedef struct {
  bool reader, writer;  // which ends are open
  size_t first, length;
  uint8_t bytes[ROOM];
} pipe_t;

static struct {
  bool is, reads, writes;
  int flags;     // as `fcntl` sets them
  off_t at;      // how much of a text was read
  pipe_t *pipe;  // NULL: a device
  const device_t *device;
} devices[DESCRIPTORS];

int __real_open(const char *path, int flags, ...);
int __real_fcntl(int descriptor, int command, ...);
int __real_ioctl(int descriptor, int request, ...);
int __real_fstat(int descriptor, struct stat *about);
int __real_stat(const char *path, struct stat *about);
int __real_lstat(const char *path, struct stat *about);
ssize_t __real_read(int descriptor, void *bytes, size_t count);
ssize_t __real_pread(int descriptor, void *bytes, size_t count, off_t from);
ssize_t __real_write(int descriptor, const void *bytes, size_t count);
ssize_t __real_pwrite(int descriptor, const void *bytes, size_t count, off_t at);
off_t __real_lseek(int descriptor, off_t offset, int whence);
off_t __real___wasilibc_tell(int descriptor);
DIR *__real_opendir(const char *path);
struct dirent *__real_readdir(DIR *folder);
void __real_rewinddir(DIR *folder);
int __real_closedir(DIR *folder);

static int refuse(int error) {
  errno = error;
  return -1;
}

static bool is_device(int descriptor) { return descriptor >= 0 && descriptor < DESCRIPTORS && devices[descriptor].is; }

void device_closed(int descriptor) {
  if (!is_device(descriptor)) return;
  pipe_t *pipe = devices[descriptor].pipe;
  if (pipe) {
    if (devices[descriptor].reads) pipe->reader = false;
    else pipe->writer = false;
    if (!pipe->reader && !pipe->writer) free(pipe);
  }
  devices[descriptor].is = false;
}

// A descriptor of a folder: one of these is there in every run.
static int take(bool reads, bool writes, pipe_t *pipe, const device_t *device) {
  int folder = __real_open("/tmp", O_RDONLY | O_DIRECTORY);
  if (folder < 0) folder = __real_open("/", O_RDONLY | O_DIRECTORY);
  if (folder < 0) return folder;
  if (folder >= DESCRIPTORS) {
    close(folder);
    return refuse(EMFILE);
  }
  devices[folder] = (typeof(*devices)){.is = true, .reads = reads, .writes = writes, .pipe = pipe, .device = device};
  return folder;
}

bool device_pipe(int ends[2]) {
  pipe_t *pipe = malloc(sizeof *pipe);
  if (!pipe) return refuse(ENOMEM), false;
  pipe->reader = pipe->writer = true;
  pipe->first = pipe->length = 0;
  ends[0] = take(true, false, pipe, NULL);
  ends[1] = ends[0] < 0 ? -1 : take(false, true, pipe, NULL);
  if (ends[1] >= 0) return true;
  int error = errno;
  pipe->writer = false;
  if (ends[0] < 0) free(pipe);
  else close(ends[0]);
  return refuse(error), false;
}

bool device_is_ready(int descriptor) {
  pipe_t *pipe = is_device(descriptor) ? devices[descriptor].pipe : NULL;
  return !pipe || pipe->length || !pipe->writer;
}

// There is one thread: who would have to wait for the other end would wait for ever.
static ssize_t would_wait(int descriptor) {
  return refuse(devices[descriptor].flags & O_NONBLOCK ? EAGAIN : EDEADLK);
}

static ssize_t read_known(const device_t *device, uint8_t *bytes, size_t count) {
  switch (device->kind) {
    case ZEROS: memset(bytes, 0, count); return (ssize_t)count;
    case RANDOM:
      for (size_t done = 0; done < count;) {
        size_t piece = count - done < 256 ? count - done : 256;
        if (getentropy(bytes + done, piece)) return -1;
        done += piece;
      }
      return (ssize_t)count;
    case STANDARD: return device->stream == 0 ? __real_read(0, bytes, count) : refuse(EBADF);
    case FOLDER: return refuse(EISDIR);
    default: return 0;
  }
}

static bool is_text(int descriptor) {
  const device_t *device = is_device(descriptor) ? devices[descriptor].device : NULL;
  return device && device->kind == TEXT;
}

static ssize_t read_text(uint8_t *bytes, size_t count, off_t from) {
  size_t begin = (size_t)from < RELEASE_LENGTH ? (size_t)from : RELEASE_LENGTH, left = RELEASE_LENGTH - begin;
  if (count > left) count = left;
  memcpy(bytes, RELEASE + begin, count);
  return (ssize_t)count;
}

static ssize_t read_device(int descriptor, uint8_t *bytes, size_t count) {
  pipe_t *pipe = devices[descriptor].pipe;
  if (!devices[descriptor].reads) return refuse(EBADF);
  if (is_text(descriptor)) {
    ssize_t taken = read_text(bytes, count, devices[descriptor].at);
    devices[descriptor].at += taken;
    return taken;
  }
  if (!pipe) return read_known(devices[descriptor].device, bytes, count);
  if (!count) return 0;
  if (!pipe->length) return pipe->writer ? would_wait(descriptor) : 0;
  size_t taken = count < pipe->length ? count : pipe->length, before = ROOM - pipe->first;
  size_t whole = taken < before ? taken : before;
  memcpy(bytes, pipe->bytes + pipe->first, whole);
  memcpy(bytes + whole, pipe->bytes, taken - whole);
  pipe->first = (pipe->first + taken) % ROOM;
  pipe->length -= taken;
  return (ssize_t)taken;
}

static ssize_t write_known(const device_t *device, const uint8_t *bytes, size_t count) {
  if (device->kind != STANDARD) return (ssize_t)count;
  return device->stream == 0 ? refuse(EBADF) : __real_write(device->stream, bytes, count);
}

static ssize_t write_device(int descriptor, const uint8_t *bytes, size_t count) {
  pipe_t *pipe = devices[descriptor].pipe;
  if (!devices[descriptor].writes) return refuse(EBADF);
  if (!pipe) return write_known(devices[descriptor].device, bytes, count);
  if (!count) return 0;
  if (!pipe->reader) return refuse(EPIPE);
  if (pipe->length == ROOM) return would_wait(descriptor);
  size_t room = ROOM - pipe->length, taken = count < room ? count : room;
  size_t at = (pipe->first + pipe->length) % ROOM, whole = taken < ROOM - at ? taken : ROOM - at;
  memcpy(pipe->bytes + at, bytes, whole);
  memcpy(pipe->bytes, bytes + whole, taken - whole);
  pipe->length += taken;
  return (ssize_t)taken;
}

static const device_t *find(const char *path) {
  if (!path || (strncmp(path, "/dev", 4) && strncmp(path, "/etc/", 5))) return NULL;
  for (size_t i = 0; i < KNOWN; i++) {
    if (strcmp(path, known[i].path)) continue;
    struct stat about;
    return known[i].kind == TEXT && !__real_stat(path, &about) ? NULL : &known[i];
  }
  return NULL;
}

// An empty path leads nowhere; libc takes it for the working directory.
static bool is_empty(const char *path) { return path && !*path; }

static int open_known(const device_t *device, int flags) {
  int access = flags & O_ACCMODE;
  if (flags & O_CREAT && flags & O_EXCL) return refuse(EEXIST);
  if (device->kind == FOLDER && access != O_RDONLY) return refuse(EISDIR);
  if (device->kind == TEXT && access != O_RDONLY) return refuse(EACCES);
  if (flags & O_DIRECTORY && device->kind != FOLDER) return refuse(ENOTDIR);
  return take(access != O_WRONLY, access == O_WRONLY || access == O_RDWR, NULL, device);
}

int __wrap_open(const char *path, int flags, ...) {
  const device_t *device = find(path);
  if (device) return open_known(device, flags);
  if (is_empty(path)) return refuse(ENOENT);
  // WASI knows no permissions, so libc ignores the mode.
  int descriptor = __real_open(path, flags);
  // It may have had a number that was lost when the memory went on in another instance.
  device_closed(descriptor);
  return descriptor;
}

int __wrap_fcntl(int descriptor, int command, ...) {
  va_list rest;
  va_start(rest, command);
  int value = command == F_SETFL || command == F_SETFD ? va_arg(rest, int) : 0;
  va_end(rest);
  if (!is_device(descriptor)) return __real_fcntl(descriptor, command, value);
  switch (command) {
    case F_GETFL:
      return devices[descriptor].flags |
             (!devices[descriptor].writes ? O_RDONLY : devices[descriptor].reads ? O_RDWR : O_WRONLY);
    case F_SETFL: devices[descriptor].flags = value & O_NONBLOCK; return 0;
    case F_GETFD:
    case F_SETFD: return 0;
    default: return refuse(EINVAL);
  }
}

// What `os.set_blocking` is made of.
int __wrap_ioctl(int descriptor, int request, ...) {
  va_list rest;
  va_start(rest, request);
  void *value = va_arg(rest, void *);
  va_end(rest);
  if (!is_device(descriptor)) return __real_ioctl(descriptor, request, value);
  if (request != FIONBIO) return refuse(ENOTTY);
  devices[descriptor].flags = *(int *)value ? O_NONBLOCK : 0;
  return 0;
}

// No device: a pipe.
static int describe(const device_t *device, struct stat *about) {
  mode_t mode = !device                   ? S_IFIFO | 0600
                : device->kind == FOLDER ? S_IFDIR | 0755
                : device->kind == TEXT   ? S_IFREG | 0644
                                         : S_IFCHR | 0666;
  *about = (struct stat){.st_mode = mode, .st_nlink = 1, .st_blksize = 4096};
  if (device && device->kind == TEXT) about->st_size = RELEASE_LENGTH;
  if (device) about->st_dev = 6, about->st_ino = (ino_t)device->number, about->st_rdev = (dev_t)device->number;
  return 0;
}

int __wrap_fstat(int descriptor, struct stat *about) {
  return is_device(descriptor) ? describe(devices[descriptor].device, about) : __real_fstat(descriptor, about);
}

int __wrap_stat(const char *path, struct stat *about) {
  const device_t *device = find(path);
  return device ? describe(device, about) : is_empty(path) ? refuse(ENOENT) : __real_stat(path, about);
}

int __wrap_lstat(const char *path, struct stat *about) {
  const device_t *device = find(path);
  return device ? describe(device, about) : is_empty(path) ? refuse(ENOENT) : __real_lstat(path, about);
}

ssize_t __wrap_read(int descriptor, void *bytes, size_t count) {
  return is_device(descriptor) ? read_device(descriptor, bytes, count) : __real_read(descriptor, bytes, count);
}

ssize_t __wrap_write(int descriptor, const void *bytes, size_t count) {
  return is_device(descriptor) ? write_device(descriptor, bytes, count) : __real_write(descriptor, bytes, count);
}

ssize_t __wrap_pread(int descriptor, void *bytes, size_t count, off_t from) {
  if (!is_device(descriptor)) return __real_pread(descriptor, bytes, count, from);
  if (is_text(descriptor)) return from < 0 ? refuse(EINVAL) : read_text(bytes, count, from);
  return devices[descriptor].pipe ? refuse(ESPIPE) : read_device(descriptor, bytes, count);
}

ssize_t __wrap_pwrite(int descriptor, const void *bytes, size_t count, off_t at) {
  if (!is_device(descriptor)) return __real_pwrite(descriptor, bytes, count, at);
  return devices[descriptor].pipe ? refuse(ESPIPE) : write_device(descriptor, bytes, count);
}

static off_t seek(int descriptor) { return devices[descriptor].pipe ? refuse(ESPIPE) : 0; }

static off_t seek_text(int descriptor, off_t offset, int whence) {
  off_t *at = &devices[descriptor].at, base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? *at : (off_t)RELEASE_LENGTH;
  off_t wanted;
  if (__builtin_add_overflow(base, offset, &wanted) || wanted < 0) return refuse(EINVAL);
  return *at = wanted;
}

off_t __wrap_lseek(int descriptor, off_t offset, int whence) {
  if (is_text(descriptor)) return seek_text(descriptor, offset, whence);
  return is_device(descriptor) ? seek(descriptor) : __real_lseek(descriptor, offset, whence);
}

// What libc's headers make of `lseek` by 0 from where it is.
off_t __wrap___wasilibc_tell(int descriptor) {
  if (is_text(descriptor)) return devices[descriptor].at;
  return is_device(descriptor) ? seek(descriptor) : __real___wasilibc_tell(descriptor);
}

// Who reads the folder of devices, which has no file system behind it: how far that is.
typedef struct {
  size_t next;
  union {
    struct dirent entry;
    char room[sizeof(struct dirent) + 32];
  } found;
} reading_t;
// Several may be read at one time, few are.
static reading_t *readings[8];

static reading_t *reading(DIR *folder) {
  for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
    if (folder && (void *)readings[i] == (void *)folder) return readings[i];
  return NULL;
}

DIR *__wrap_opendir(const char *path) {
  const device_t *device = find(path);
  if (!device || device->kind != FOLDER) return device ? refuse(ENOTDIR), NULL : __real_opendir(path);
  for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
    if (!readings[i]) return (DIR *)(readings[i] = calloc(1, sizeof **readings));
  return refuse(EMFILE), NULL;
}

struct dirent *__wrap_readdir(DIR *folder) {
  reading_t *read = reading(folder);
  if (!read) return __real_readdir(folder);
  while (read->next < KNOWN) {
    const device_t *device = &known[read->next++];
    if (strncmp(device->path, "/dev/", 5)) continue;
    read->found.entry.d_ino = (ino_t)device->number;
    read->found.entry.d_type = DT_CHR;
    strcpy(read->found.entry.d_name, device->path + 5);
    return &read->found.entry;
  }
  return NULL;
}

void __wrap_rewinddir(DIR *folder) {
  reading_t *read = reading(folder);
  if (read) read->next = 0;
  else __real_rewinddir(folder);
}

int __wrap_closedir(DIR *folder) {
  for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
    if (!folder || (void *)readings[i] != (void *)folder) continue;
    free(readings[i]);
    readings[i] = NULL;
    return 0;
  }
  return __real_closedir(folder);
}
