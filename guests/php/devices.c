// Devices that programs open by their names: `/dev/null`, to throw away what they write or to have nothing to read, sources of zeros
// and of random bytes, and the standard streams. WASI has no folder `/dev`. PHP's wrapper for plain files opens them here.
#include "guest_php.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "php_streams.h"

typedef enum { NOTHING, ZEROS, RANDOM, STANDARD } kind_t;

typedef struct {
  const char *path;
  kind_t kind;
  int number;          // that of Linux
  const char *stream;  // PHP's name of a standard stream
} device_t;

static const device_t known[] = {
    {"/dev/null", NOTHING, 1 << 8 | 3, NULL},
    {"/dev/zero", ZEROS, 1 << 8 | 5, NULL},
    {"/dev/urandom", RANDOM, 1 << 8 | 9, NULL},
    {"/dev/random", RANDOM, 1 << 8 | 8, NULL},
    {"/dev/stdin", STANDARD, 136 << 8, "php://stdin"},
    {"/dev/stdout", STANDARD, 136 << 8 | 1, "php://stdout"},
    {"/dev/stderr", STANDARD, 136 << 8 | 2, "php://stderr"},
};

static const device_t *device_of(const char *path) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(known[i].path, path) == 0) return &known[i];
  }
  return NULL;
}

static void describe(const device_t *device, struct stat *about) {
  *about = (struct stat){.st_mode = S_IFCHR | 0666, .st_dev = 5, .st_nlink = 1, .st_rdev = device->number, .st_blksize = 4096};
  about->st_ino = device - known + 1;
}

static ssize_t write_device(php_stream *stream, const char *bytes, size_t count) {
  (void)stream, (void)bytes;
  return (ssize_t)count;
}

static ssize_t read_device(php_stream *stream, char *bytes, size_t count) {
  const device_t *device = stream->abstract;
  if (device->kind == ZEROS) memset(bytes, 0, count);
  else if (device->kind == RANDOM) arc4random_buf(bytes, count);
  else stream->eof = 1;
  return device->kind == NOTHING ? 0 : (ssize_t)count;
}

static int close_device(php_stream *stream, int keeps) {
  (void)stream, (void)keeps;
  return 0;
}

static int flush_device(php_stream *stream) {
  (void)stream;
  return 0;
}

// Every place is as good as the first.
static int seek_device(php_stream *stream, zend_off_t offset, int from, zend_off_t *now) {
  (void)offset, (void)from;
  stream->eof = 0;
  *now = 0;
  return 0;
}

static int stat_device(php_stream *stream, php_stream_statbuf *about) {
  describe(stream->abstract, &about->sb);
  return 0;
}

// Nobody else holds a lock.
static int set_option(php_stream *stream, int option, int value, void *with) {
  (void)stream, (void)value, (void)with;
  return option == PHP_STREAM_OPTION_LOCKING || option == PHP_STREAM_OPTION_BLOCKING ? PHP_STREAM_OPTION_RETURN_OK
                                                                                      : PHP_STREAM_OPTION_RETURN_NOTIMPL;
}

static const php_stream_ops operations = {
    write_device, read_device, close_device, flush_device, "STDIO", seek_device, NULL, stat_device, set_option,
};

static const php_stream_wrapper_ops *plain;

static php_stream *open_path(php_stream_wrapper *wrapper, const char *path, const char *mode, int options,
                             zend_string **opened, php_stream_context *context STREAMS_DC) {
  const device_t *device = device_of(path);
  // Code does not come from a device, and none is made.
  if (!device || (options & STREAM_OPEN_FOR_INCLUDE) || *mode == 'x') {
    return plain->stream_opener(wrapper, path, mode, options, opened, context STREAMS_REL_CC);
  }
  if (!(options & STREAM_DISABLE_OPEN_BASEDIR) && php_check_open_basedir(path)) return NULL;
  if (opened) *opened = zend_string_init(path, strlen(path), 0);
  if (device->stream) return php_stream_open_wrapper(device->stream, mode, options & REPORT_ERRORS, NULL);
  return php_stream_alloc_rel(&operations, (void *)device, NULL, mode);
}

static int stat_path(php_stream_wrapper *wrapper, const char *path, int flags, php_stream_statbuf *about,
                     php_stream_context *context) {
  const device_t *device = device_of(path);
  if (!device) return plain->url_stat(wrapper, path, flags, about, context);
  describe(device, &about->sb);
  return 0;
}

int __real_access(const char *path, int mode);

int __wrap_access(const char *path, int mode) {
  return !(mode & X_OK) && device_of(path) ? 0 : __real_access(path, mode);
}

void devices_install(void) {
  static php_stream_wrapper_ops ours;
  plain = php_plain_files_wrapper.wops;
  ours = *plain;
  ours.stream_opener = open_path;
  ours.url_stat = stat_path;
  php_plain_files_wrapper.wops = &ours;
}
