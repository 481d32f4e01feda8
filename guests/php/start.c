// PHP's life: the module is started once, while the guest is built; one request stays open from call to call.
#include "guest_php.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "SAPI.h"
#include "openssl/openssl.h"
#include "php_ini.h"
#include "php_main.h"
#include "php_variables.h"
#include "zend_gc.h"

// Bytes of the C stack that PHP may not use before it throws an Error: the reserve is for what it does not check.
#define STACK_RESERVE 262144

// After how many requests the allocator has given back all that one with 4 GiB held.
#define PEAK_HALVINGS 12

// Of wasm-ld: the bounds of the C stack.
extern unsigned char __stack_low, __stack_high;

// What differs from PHP's own defaults. Messages go to standard error, whole and without HTML; the memory limit is the
// sandbox's.
static const char settings[] =
    "display_errors=stderr\n"
    "html_errors=0\n"
    "implicit_flush=1\n"
    "log_errors=0\n"
    "max_execution_time=0\n"
    "max_input_time=-1\n"
    "memory_limit=-1\n"
    "output_buffering=0\n"
    "phar.readonly=0\n"
    "register_argc_argv=1\n"
    "session.save_path=/tmp\n"
    "session.use_cookies=0\n"
    "session.cache_limiter=\n"
    "sys_temp_dir=/tmp\n"
    "realpath_cache_size=0\n"
    "zend.assertions=1\n";

void driver_call_stack(void **base, size_t *size) {
  *base = &__stack_high;
  *size = (size_t)(&__stack_high - &__stack_low) - STACK_RESERVE;
}

static void flush(void *context) { (void)context; }

// Headers are taken and dropped, as on PHP's command line.
static int take_header(sapi_header_struct *header, sapi_header_op_enum op, sapi_headers_struct *headers) {
  (void)header, (void)op, (void)headers;
  return 0;
}

static int send_headers(sapi_headers_struct *headers) {
  (void)headers;
  return SAPI_HEADER_SENT_SUCCESSFULLY;
}

static void send_header(sapi_header_struct *header, void *context) { (void)header, (void)context; }

static char *read_cookies(void) { return NULL; }

static void register_script(const char *name, zval *array) {
  char *script = SG(request_info).argc ? SG(request_info).argv[0] : "";
  size_t length = strlen(script);
  // `filter_input` sees what this function is shown.
  if (sapi_module.input_filter(PARSE_SERVER, name, &script, length, &length)) php_register_variable(name, script, array);
}

static void register_variables(zval *array) {
  php_import_environment_variables(array);
  // What a script of the command line finds there.
  register_script("PHP_SELF", array);
  register_script("SCRIPT_NAME", array);
  register_script("SCRIPT_FILENAME", array);
}

static void log_message(const char *message, int severity) {
  (void)severity;
  driver_write(STDERR_FILENO, message, strlen(message));
  driver_write(STDERR_FILENO, "\n", 1);
}

// PHP's own extensions, and that of this driver which takes the place of one of them.
static int register_extensions(void) {
  if (php_register_internal_extensions() == FAILURE) return FAILURE;
  return zend_register_internal_module(&openssl_module) ? SUCCESS : FAILURE;
}

static int start_module(sapi_module_struct *module) { return php_module_startup(module, &tool_module); }

static sapi_module_struct sapi = {
    // By this name PHP and its scripts know that there is no web server.
    .name = "cli",
    .pretty_name = "Dormouse",
    .startup = start_module,
    .shutdown = php_module_shutdown_wrapper,
    .ub_write = world_write,
    .flush = flush,
    .sapi_error = php_error,
    .header_handler = take_header,
    .send_headers = send_headers,
    .send_header = send_header,
    .getenv = world_variable,
    .read_cookies = read_cookies,
    .register_server_variables = register_variables,
    .log_message = log_message,
    .php_ini_ignore = 1,
    .php_ini_ignore_cwd = 1,
    .phpinfo_as_text = 1,
    .ini_entries = settings,
};

[[noreturn]] static void die(const char *what) {
  fprintf(stderr, "cannot start PHP: %s\n", what);
  abort();
}

static void start_request(void) {
  world_name(NULL);
  if (php_request_startup() == FAILURE) die("request");
  fatal_begin_request();
  seeds_begin_request();
  magic_begin_request();
  PG(during_request_startup) = 0;
  // A first line `#!` is no output.
  CG(skip_shebang) = 1;
  world_open_streams();
}

void start_over(void) {
  run_forget();
  php_request_shutdown(NULL);
  CG(unclean_shutdown) = 0;
  // The allocator keeps a part of what a request held at its peak; it forgets the peak by and by.
  for (int i = 0; i < PEAK_HALVINGS; i++) shutdown_memory_manager(true, false);
  EG(flags) = EG_FLAGS_INITIAL;
  start_request();
}

// Runs a snippet and drops what came of it.
static void warm(const char *code) {
  guest_string_t text = {(uint8_t *)strdup(code), strlen(code)};
  options with = {.name = {(uint8_t *)strdup("<snippet>"), 9},
                  .bounds = {.depth = 3, .items = 50, .string_bytes = 10000, .total_bytes = 262144, .frames = 30}};
  outcome result;
  exports_dormouse_sandbox_interpreter_eval(&text, &with, &result);
  exports_dormouse_sandbox_interpreter_outcome_free(&result);
}

__attribute__((export_name("wizer-initialize"))) void initialize(void) {
  sapi_startup(&sapi);
  php_register_internal_extensions_func = register_extensions;
  sapi.ini_entries = settings;
  if (sapi.startup(&sapi) == FAILURE) die("module");
  SG(options) |= SAPI_OPTION_NO_CHDIR;
  fatal_install();
  numbers_install();
  run_install();
  permit_install();
  seeds_install();
  world_install();
  devices_install();
  start_request();
  driver_start_sqlite();
  // Whatever PHP makes on first use should be in the image.
  for (int i = 0; i < 3; i++) {
    warm("1 + 1");
    warm("$a = [1, 'two', ['three' => 3.5]]; $a");
    warm("function f($n) { return $n < 2 ? $n : f($n - 1) + f($n - 2); } return f(5);");
    warm("throw new RuntimeException('text');");
    warm("not a program");
    start_over();
  }
  fatal_forget();
  driver_fill_heap();
  driver_end_initialisation();
}
