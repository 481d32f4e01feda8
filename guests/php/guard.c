// Fatal errors. PHP reports them, then unwinds the C stack to the last guard (a "bailout"). Here they are recorded
// instead of being printed, in memory that is not PHP's, and what the unwinding left half done is put in order.
#include "guest_php.h"

#include <stdlib.h>
#include <string.h>

#include "ext/json/php_json.h"
#include "ext/standard/basic_functions.h"
#include "zend_exceptions.h"
#include "zend_gc.h"

#define FATAL (E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR | E_PARSE)

// Frames that are recorded; how many are shown is decided later.
#define MOST_FRAMES 30

// Bytes of a message that are kept.
#define LONGEST_MESSAGE 65536

// Bytes of a single request for memory that says nothing of how much is left for others.
#define LARGE (4 << 20)

// Room that is given free when a fatal error came, so that it can be told when memory is what ran out: for the driver,
// and for PHP, which makes the text of its message first.
#define RESERVE 131072

fatal_error fatal;
static void *reserve, *request_reserve;
static void (*report)(int type, zend_string *file, const uint32_t line, zend_string *message);

void fatal_forget(void) {
  free(fatal.message);
  free(fatal.file);
  text_free(&fatal.frames);
  fatal = (fatal_error){0};
  if (!reserve) reserve = malloc(RESERVE);
}

void fatal_begin_request(void) { request_reserve = emalloc(RESERVE); }

static void refill(void *with) {
  (void)with;
  request_reserve = emalloc(RESERVE);
}

bool fatal_recover(void) {
  if (fatal.starved) return false;
  if (request_reserve) return true;
  // Its own failure must not replace the error that is to be told.
  return guarded(refill, NULL);
}

// Called by PHP's allocator (an edit of the recipe) before it reports that there is no memory.
void driver_open_reserve(void) {
  void *block = request_reserve;
  request_reserve = NULL;
  if (block) efree(block);
}

static char *copy(const zend_string *string, size_t limit, size_t *length) {
  *length = string ? text_prefix(ZSTR_VAL(string), ZSTR_LEN(string), limit) : 0;
  char *bytes = malloc(*length + 1);
  if (!bytes) {
    *length = 0;
    return NULL;
  }
  if (*length) memcpy(bytes, ZSTR_VAL(string), *length);
  bytes[*length] = 0;
  return bytes;
}

// PHP's own list of frames would be made on its heap, which may be full.
static void record_frames(void) {
  const zend_execute_data *frame = EG(current_execute_data);
  const zend_string *file = NULL;
  uint32_t line = 0, count = 0;
  for (; frame && count < MOST_FRAMES; frame = frame->prev_execute_data) {
    if (!frame->func) continue;
    bool user = ZEND_USER_CODE(frame->func->type);
    if (user) {
      file = frame->func->op_array.filename;
      line = frame->opline ? frame->opline->lineno : 0;
    }
    text shown = {0};
    const zend_string *function = frame->func->common.function_name;
    const zend_class_entry *scope = frame->func->common.scope;
    bool method = function && scope;
    bool object = Z_TYPE(frame->This) == IS_OBJECT;
    if (function) raise_function(&shown, method ? scope->name : NULL, object ? "->" : "::", function);
    else text_string(&shown, "{main}");
    text_string(&shown, " (");
    if (user && file) {
      text_add(&shown, ZSTR_VAL(file), text_prefix(ZSTR_VAL(file), ZSTR_LEN(file), 200));
      text_format(&shown, ":%u)", line);
    } else {
      text_string(&shown, "[internal function])");
    }
    if (count++) text_add(&fatal.frames, ",", 1);
    text_quoted(&fatal.frames, shown.bytes, shown.length, shown.length);
    text_free(&shown);
  }
}

static bool begins_with(const zend_string *message, const char *begin) {
  return strncmp(ZSTR_VAL(message), begin, strlen(begin)) == 0;
}

static void judge(const zend_string *message) {
  fatal.memory = begins_with(message, "Possible integer overflow in memory") ||
                 begins_with(message, "Allowed memory size") || begins_with(message, "Out of memory");
  const char *tried = strstr(ZSTR_VAL(message), "tried to allocate ");
  size_t size = tried ? strtoul(tried + strlen("tried to allocate "), NULL, 10) : 0;
  fatal.starved = fatal.memory && size < LARGE && !begins_with(message, "Possible integer overflow");
}

static void on_error(int type, zend_string *file, const uint32_t line, zend_string *message) {
  if (!(type & FATAL)) {
    report(type, file, line, message);
    return;
  }
  if (!fatal.raised) {
    free(reserve);
    reserve = NULL;
    fatal.raised = true;
    fatal.type = type & FATAL;
    judge(message);
    fatal.line = line;
    fatal.message = copy(message, LONGEST_MESSAGE, &fatal.message_length);
    fatal.file = copy(file, 4096, &fatal.file_length);
    record_frames();
  }
  // It is told as the outcome, so it is not printed as well.
  bool shown = PG(display_errors);
  PG(display_errors) = 0;
  // Does not come back as a rule.
  report(type, file, line, message);
  PG(display_errors) = shown;
}

void fatal_install(void) {
  report = zend_error_cb;
  zend_error_cb = on_error;
}

// What a script's end would have put in order.
static void tidy(zend_vm_stack stack, zval *top, zval *end, int error_reporting, zend_uchar display) {
  while (EG(vm_stack) != stack) {
    zend_vm_stack page = EG(vm_stack);
    EG(vm_stack) = page->prev;
    efree(page);
  }
  EG(vm_stack_top) = top;
  EG(vm_stack_end) = end;
  EG(error_reporting) = error_reporting;
  PG(display_errors) = display;
  EG(error_handling) = EH_NORMAL;
  EG(exception_class) = NULL;
  EG(exception) = NULL;
  EG(prev_exception) = NULL;
  EG(active_fiber) = NULL;
  EG(in_autoload) = NULL;
  EG(record_errors) = false;
  CG(unclean_shutdown) = 0;
  JSON_G(encoder_depth) = 0;
  memset(&BG(serialize), 0, sizeof BG(serialize));
  memset(&BG(unserialize), 0, sizeof BG(unserialize));
  gc_protect(0);
}

bool guarded(void (*body)(void *), void *with) {
  zend_vm_stack stack = EG(vm_stack);
  zval *top = EG(vm_stack_top), *end = EG(vm_stack_end);
  zend_execute_data *frame = EG(current_execute_data);
  int error_reporting = EG(error_reporting);
  zend_uchar display = PG(display_errors);
  volatile bool whole = true;
  zend_try {
    body(with);
  }
  zend_catch {
    whole = false;
  }
  zend_end_try();
  if (!whole) {
    EG(current_execute_data) = frame;
    tidy(stack, top, end, error_reporting, display);
    // An error in a handler of output ends all output.
    if (!(OG(flags) & PHP_OUTPUT_ACTIVATED)) php_output_activate();
  }
  return whole;
}
