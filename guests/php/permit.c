// Whether the snippet's own text may make code from text (`allow-eval` of a call). `eval` is a construct: whoever uses it,
// the frame that runs is of some file. Files of the project or of a mount may; what came from a snippet, from `/tmp`, from
// what a run has changed in a project, or from a stream may not, and may not include what it could have written itself.
#include "guest_php.h"

#include <stdlib.h>
#include <string.h>

#include "php_streams.h"
#include "zend_exceptions.h"

// What PHP adds to the name of a file for code that `eval` made in it: `file.php(3) : eval()'d code`.
#define EVALUATED ") : eval()'d code"

// Where every run can write.
#define SCRATCH "/tmp/"

// What the name of a file in an archive begins with.
#define ARCHIVE "phar://"

static bool allowed = true;

// The names that snippets had which could be those of files, and those of files that a run has made in a project: a file of
// the same name cannot lend them its rights.
static struct {
  char **list;
  size_t count, room;
} names;

static zend_op_array *(*php_file)(zend_file_handle *file, int type);
static zend_op_array *(*php_string)(zend_string *code, const char *name, zend_compile_position position);

static bool is_snippet(const char *name, size_t length) {
  for (size_t i = names.count; i--;) {
    if (strlen(names.list[i]) == length && memcmp(names.list[i], name, length) == 0) return true;
  }
  return false;
}

static void note(const char *name) {
  if (is_snippet(name, strlen(name))) return;
  if (names.count == names.room) {
    size_t room = names.room ? names.room * 2 : 4;
    char **list = realloc(names.list, room * sizeof *list);
    if (!list) abort();
    names.list = list;
    names.room = room;
  }
  if (!(names.list[names.count++] = strdup(name))) abort();
}

void permit_begin(const char *name, bool allow) {
  allowed = allow;
  if (*name == '/' || strncmp(name, ARCHIVE, sizeof ARCHIVE - 1) == 0) note(name);
}

// The length of the name without what `eval` added to it, or 0 if it added nothing.
static size_t without_eval(const char *name, size_t length) {
  size_t end = sizeof EVALUATED - 1;
  if (length <= end || memcmp(name + length - end, EVALUATED, end) != 0) return 0;
  size_t at = length - end;
  while (at && name[at - 1] >= '0' && name[at - 1] <= '9') at--;
  return at && name[at - 1] == '(' ? at - 1 : 0;
}

// Whether code of this name is that of a file which was there before the run.
static bool is_file(const zend_string *file) {
  const char *name = ZSTR_VAL(file);
  size_t length = ZSTR_LEN(file);
  for (size_t shorter = length; shorter; shorter = without_eval(name, length)) {
    length = shorter;
    if (is_snippet(name, length)) return false;
  }
  if (strncmp(name, ARCHIVE, sizeof ARCHIVE - 1) == 0) name += sizeof ARCHIVE - 1;
  return *name == '/' && strncmp(name, SCRATCH, sizeof SCRATCH - 1) != 0;
}

// Whether the code that is running, under whatever functions of PHP's own, is that of such a file.
static bool is_held_back(void) {
  const zend_execute_data *frame = EG(current_execute_data);
  while (frame && !(frame->func && ZEND_USER_CODE(frame->func->type))) frame = frame->prev_execute_data;
  return !frame || !is_file(frame->func->op_array.filename);
}

static zend_op_array *on_string(zend_string *code, const char *name, zend_compile_position position) {
  if (allowed || !is_held_back()) return php_string(code, name, position);
  zend_throw_error(NULL, "eval() is not allowed here");
  return NULL;
}

zend_op_array *permit_compile(zend_string *code, const char *name, zend_compile_position position) {
  return php_string(code, name, position);
}

// Why the opened file may not be run; NULL: it may.
static const char *refusal(const zend_file_handle *file, bool held_back) {
  php_stream *stream = file->type == ZEND_HANDLE_STREAM ? file->handle.stream.handle : NULL;
  const char *path = ZSTR_VAL(file->opened_path ? file->opened_path : file->filename);
  // A wrapper of the snippet's may have taken the place of that for plain files.
  if (!held_back) return stream && php_stream_is(stream, PHP_STREAM_IS_USERSPACE) && *path == '/' ? "it is no file" : NULL;
  if (!stream || stream->wrapper != &php_plain_files_wrapper) return "it is no file";
  return driver_can_be_written(path) ? "it can be written from here" : NULL;
}

// Compiles a file. What a run has made in a project is as good as its snippet.
static zend_op_array *compile(zend_file_handle *file, int type) {
  zend_op_array *code = php_file(file, type);
  if (code && code->filename && driver_whose(ZSTR_VAL(code->filename)) == WHOSE_RUN) note(ZSTR_VAL(code->filename));
  return code;
}

static zend_op_array *on_file(zend_file_handle *file, int type) {
  if (allowed) return compile(file, type);
  // `include_once` and its like have opened the file, and noted that it is included.
  bool noted = file->type == ZEND_HANDLE_STREAM;
  if (file->type == ZEND_HANDLE_FILENAME && zend_stream_open(file) == FAILURE) {
    int message = type == ZEND_REQUIRE ? ZMSG_FAILED_REQUIRE_FOPEN : ZMSG_FAILED_INCLUDE_FOPEN;
    if (!EG(exception)) zend_message_dispatcher(message, ZSTR_VAL(file->filename));
    return NULL;
  }
  const char *why = refusal(file, is_held_back());
  if (!why) return compile(file, type);
  if (noted && file->opened_path) zend_hash_del(&EG(included_files), file->opened_path);
  zend_throw_error(NULL, "code of %s is not allowed here: %s", ZSTR_VAL(file->filename), why);
  return NULL;
}

void permit_install(void) {
  php_file = zend_compile_file;
  php_string = zend_compile_string;
  zend_compile_file = on_file;
  zend_compile_string = on_string;
}
