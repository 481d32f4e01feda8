// The world outside: environment variables, arguments, standard streams.
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

// Where a program keeps what is its user's, as in the other languages, unless the environment says another place: the workspace,
// or where a run without one may write.
static char *home(void) {
  static char workspace[] = "/workspace", temporary[] = "/tmp";
  return access(workspace, F_OK) == 0 ? workspace : temporary;
}

char *world_variable(const char *name, size_t length) {
  (void)length;
  return strcmp(name, "HOME") == 0 && !getenv(name) ? home() : NULL;
}

static void (*import_variables)(zval *array);

static void import_with_home(zval *array) {
  import_variables(array);
  if (!zend_hash_str_exists(Z_ARRVAL_P(array), ZEND_STRL("HOME"))) add_assoc_string(array, "HOME", home());
}

void world_install(void) {
  import_variables = php_import_environment_variables;
  php_import_environment_variables = import_with_home;
}

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

void driver_rest(void) { magic_rest(); }
