// The world outside: environment variables, arguments, standard streams, open files.
#include "guest_php.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wasi/api.h>
#include <wasi/libc-environ.h>

#include "SAPI.h"
#include "ext/standard/file.h"
#include "php_streams.h"
#include "php_variables.h"
#include "zend_constants.h"

size_t world_write(const char *bytes, size_t length) {
  driver_write(STDOUT_FILENO, bytes, length);
  return length;
}

// The arguments that WASI has now; they replace those of the last run.
static void read_arguments(void) {
  static uint8_t **list, *buffer;
  __wasi_size_t count, size;
  free(list);
  free(buffer);
  list = NULL;
  buffer = NULL;
  SG(request_info).argc = 0;
  SG(request_info).argv = NULL;
  if (__wasi_args_sizes_get(&count, &size) || !count) return;
  list = calloc(count + 1, sizeof *list);
  buffer = malloc(size + 1);
  if (!list || !buffer || __wasi_args_get(list, buffer)) return;
  SG(request_info).argc = (int)count;
  SG(request_info).argv = (char **)list;
}

static void publish(void) {
  php_build_argv(NULL, NULL);
  // The next program that names one of these gets it made anew.
  zend_auto_global *global;
  ZEND_HASH_MAP_FOREACH_PTR(CG(auto_globals), global) {
    if (global->jit && global->auto_global_callback) global->armed = true;
  }
  ZEND_HASH_FOREACH_END();
}

void world_refresh(void) {
  driver_forget_world();
  __wasilibc_initialize_environ();
  read_arguments();
  if (SG(request_info).argc) publish();
}

void world_name(const char *name) {
  static char *list[2];
  char **known = SG(request_info).argv;
  if (known && known != list) return;
  if (!list[0] || (name && strcmp(list[0], name) != 0)) {
    free(list[0]);
    list[0] = strdup(name ? name : "<snippet>");
    if (!list[0]) abort();
  } else if (known && name) {
    return;
  }
  SG(request_info).argc = 1;
  SG(request_info).argv = list;
  if (name) publish();
}

static void open_stream(const char *path, const char *mode, const char *name) {
  php_stream *stream = php_stream_open_wrapper(path, mode, 0, NULL);
  if (!stream) return;
  stream->flags |= PHP_STREAM_FLAG_NO_RSCR_DTOR_CLOSE;
  zend_constant constant;
  php_stream_to_zval(stream, &constant.value);
  Z_CONSTANT_FLAGS(constant.value) = 0;
  constant.name = zend_string_init_interned(name, strlen(name), 0);
  zend_register_constant(&constant);
}

void world_open_streams(void) {
  open_stream("php://stdin", "rb", "STDIN");
  open_stream("php://stdout", "wb", "STDOUT");
  open_stream("php://stderr", "wb", "STDERR");
}

// A compressed file has the descriptor of the stream below it, and writes what it holds back when it is closed.
static bool is_compressed(php_stream *stream) { return strcmp(stream->ops->label, "ZLIB") == 0; }

// Files and folders: streams that have a descriptor of their own.
static bool holds_descriptor(php_stream *stream) {
  if (strcmp(stream->ops->label, "dir") == 0) return true;
  int descriptor = -1;
  bool found = stream->ops == &php_stream_stdio_ops &&
               php_stream_cast(stream, PHP_STREAM_AS_FD | PHP_STREAM_CAST_INTERNAL, (void **)&descriptor, 0) == SUCCESS;
  return found && descriptor > STDERR_FILENO;
}

static void close_files(driver_names *names, bool (*chosen)(php_stream *stream)) {
  zend_resource *resource;
  for (zend_ulong i = 0; i < EG(regular_list).nNextFreeElement; i++) {
    zval *entry = zend_hash_index_find(&EG(regular_list), i);
    if (!entry) continue;
    resource = Z_RES_P(entry);
    if (resource->type != php_file_le_stream()) continue;
    php_stream *stream = resource->ptr;
    if (!chosen(stream)) continue;
    const char *name = stream->orig_path ? stream->orig_path : "a folder";
    driver_name(names, name, strlen(name));
    zend_list_close(resource);
  }
}

void driver_close_files(driver_names *names) {
  close_files(names, is_compressed);
  close_files(names, holds_descriptor);
}
