// Exceptions and fatal errors (docs/values.md): what was raised, where, and why. Properties are read past the user's code.
#include "guest_php.h"

#include <stdlib.h>
#include <string.h>

#include "zend_exceptions.h"

// Causes that are followed.
#define MOST_CAUSES 10

// Bytes of PHP's own rendering, and of the source line that raised.
#define LONGEST_TRACE 8192
#define LONGEST_EXCERPT 400

static const zval *field(zend_object *thrown, zend_known_string_id name) {
  static zval none;
  ZVAL_NULL(&none);
  zval holder;
  zend_class_entry *base = instanceof_function(thrown->ce, zend_ce_exception) ? zend_ce_exception : zend_ce_error;
  const zval *value = zend_read_property_ex(base, thrown, ZSTR_KNOWN(name), true, &holder);
  ZVAL_DEREF(value);
  return value;
}

static const zval *item(const zval *frame, const char *name) {
  const zval *value = Z_TYPE_P(frame) == IS_ARRAY ? zend_hash_str_find(Z_ARRVAL_P(frame), name, strlen(name)) : NULL;
  if (value) ZVAL_DEREF(value);
  return value;
}

static const zend_string *string_item(const zval *frame, const char *name) {
  const zval *value = item(frame, name);
  return value && Z_TYPE_P(value) == IS_STRING ? Z_STR_P(value) : NULL;
}

void raise_function(text *out, const zend_string *class, const char *type, const zend_string *function) {
  if (class) {
    size_t length = strnlen(ZSTR_VAL(class), ZSTR_LEN(class));
    text_add(out, ZSTR_VAL(class), text_prefix(ZSTR_VAL(class), length, 200));
    text_string(out, type);
  }
  if (function) text_add(out, ZSTR_VAL(function), text_prefix(ZSTR_VAL(function), ZSTR_LEN(function), 200));
}

static void write_frame(text *out, bool first, const zval *called, const zend_string *file, zend_long line) {
  text shown = {0};
  const zend_string *function = called ? string_item(called, "function") : NULL;
  const zend_string *type = called ? string_item(called, "type") : NULL;
  if (called) raise_function(&shown, string_item(called, "class"), type ? ZSTR_VAL(type) : "::", function);
  else text_string(&shown, "{main}");
  text_string(&shown, " (");
  if (file) {
    text_add(&shown, ZSTR_VAL(file), text_prefix(ZSTR_VAL(file), ZSTR_LEN(file), 200));
    text_format(&shown, ":%lld)", (long long)line);
  } else {
    text_string(&shown, "[internal function])");
  }
  if (!first) text_add(out, ",", 1);
  text_quoted(out, shown.bytes, shown.length, shown.length);
  text_free(&shown);
}

// PHP's frames say what was called and from where. Here each says what ran and where it was: the place moves one up.
static void write_frames(text *out, zend_object *thrown, uint32_t most) {
  const zval *trace = field(thrown, ZEND_STR_TRACE), *line = field(thrown, ZEND_STR_LINE);
  const zend_string *file = Z_TYPE_P(field(thrown, ZEND_STR_FILE)) == IS_STRING ? Z_STR_P(field(thrown, ZEND_STR_FILE)) : NULL;
  zend_long number = Z_TYPE_P(line) == IS_LONG ? Z_LVAL_P(line) : 0;
  uint32_t count = 0;
  const zval *frame;
  if (Z_TYPE_P(trace) == IS_ARRAY) {
    ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(trace), frame) {
      if (count < most) write_frame(out, count == 0, frame, file, number);
      if (++count > most) break;
      file = string_item(frame, "file");
      const zval *at = item(frame, "line");
      number = at && Z_TYPE_P(at) == IS_LONG ? Z_LVAL_P(at) : 0;
    }
    ZEND_HASH_FOREACH_END();
  }
  if (count < most) write_frame(out, count == 0, NULL, file, number);
  if (count >= most) text_string(out, most ? ",\"...(truncated)\"" : "\"...(truncated)\"");
}

static void write_message(text *out, const char *bytes, size_t length, const bounds *limits) {
  text cut = {0};
  size_t shown = text_prefix(bytes, length, limits->string_bytes);
  text_add(&cut, bytes, shown);
  if (shown < length) text_string(&cut, "...(truncated)");
  text_quoted(out, cut.bytes ? cut.bytes : "", cut.length, cut.length);
  text_free(&cut);
}

static void write_excerpt(text *out, const zend_string *file, zend_long line, bool top) {
  size_t length;
  const char *source = file && line > 0 ? run_line(file, line, top, &length) : NULL;
  if (!source) return;
  text_string(out, ",\"excerpt\":");
  text_quoted(out, source, length, LONGEST_EXCERPT);
}

// PHP's rendering, cut in the middle, where deep recursion repeats itself.
static void write_trace(text *out, zend_object *thrown) {
  zval rendered;
  ZVAL_UNDEF(&rendered);
  zend_class_entry *base = instanceof_function(thrown->ce, zend_ce_exception) ? zend_ce_exception : zend_ce_error;
  zend_call_known_instance_method_with_0_params(base->__tostring, thrown, &rendered);
  if (EG(exception)) zend_clear_exception();
  if (Z_TYPE(rendered) == IS_STRING) {
    const char *bytes = Z_STRVAL(rendered);
    size_t length = Z_STRLEN(rendered);
    text_string(out, ",\"traceback\":");
    if (length > LONGEST_TRACE) {
      text cut = {0};
      size_t tail = length - LONGEST_TRACE / 2;
      while (tail < length && ((unsigned char)bytes[tail] & 0xC0) == 0x80) tail++;
      text_add(&cut, bytes, text_prefix(bytes, length, LONGEST_TRACE / 2 - 8));
      text_string(&cut, "\n...\n");
      text_add(&cut, bytes + tail, length - tail);
      text_quoted(out, cut.bytes ? cut.bytes : "", cut.length, cut.length);
      text_free(&cut);
    } else {
      text_quoted(out, bytes, length, length);
    }
  }
  zval_ptr_dtor(&rendered);
}

// One exception without its causes, and without the closing brace.
static void write_one(zend_object *thrown, const bounds *limits, bool outermost, text *out) {
  zval holder;
  ZVAL_OBJ(&holder, thrown);
  size_t length;
  const char *class = describe_class(&holder, &length);
  text_string(out, "{\"class\":");
  text_quoted(out, class, length, 256);
  const zval *message = field(thrown, ZEND_STR_MESSAGE), *code = field(thrown, ZEND_STR_CODE);
  text_string(out, ",\"message\":");
  bool said = Z_TYPE_P(message) == IS_STRING;
  write_message(out, said ? Z_STRVAL_P(message) : "", said ? Z_STRLEN_P(message) : 0, limits);
  text_string(out, ",\"code\":");
  if (Z_TYPE_P(code) == IS_LONG) text_format(out, ZEND_LONG_FMT, Z_LVAL_P(code));
  else if (Z_TYPE_P(code) == IS_STRING) text_quoted(out, Z_STRVAL_P(code), Z_STRLEN_P(code), 256);
  else text_string(out, "null");
  const zval *file = field(thrown, ZEND_STR_FILE), *line = field(thrown, ZEND_STR_LINE);
  const zend_string *path = Z_TYPE_P(file) == IS_STRING && Z_STRLEN_P(file) ? Z_STR_P(file) : NULL;
  zend_long number = Z_TYPE_P(line) == IS_LONG ? Z_LVAL_P(line) : 0;
  text_string(out, ",\"file\":");
  if (path) text_quoted(out, ZSTR_VAL(path), ZSTR_LEN(path), 256);
  else text_string(out, "null");
  if (number > 0 && number <= UINT32_MAX) text_format(out, ",\"line\":" ZEND_LONG_FMT, number);
  else text_string(out, ",\"line\":null");
  text_string(out, ",\"column\":null,\"stack_trace\":[");
  write_frames(out, thrown, limits->frames);
  text_add(out, "]", 1);
  if (!outermost) return;
  const zval *trace = field(thrown, ZEND_STR_TRACE);
  write_excerpt(out, path, number, Z_TYPE_P(trace) != IS_ARRAY || !zend_hash_num_elements(Z_ARRVAL_P(trace)));
  write_trace(out, thrown);
}

static size_t read_causes(zend_object *thrown, zend_object **causes) {
  size_t count = 0;
  for (zend_object *at = thrown; count < MOST_CAUSES;) {
    const zval *previous = field(at, ZEND_STR_PREVIOUS);
    if (Z_TYPE_P(previous) != IS_OBJECT) break;
    at = Z_OBJ_P(previous);
    bool seen = at == thrown;
    for (size_t i = 0; i < count; i++) seen |= causes[i] == at;
    if (seen) break;
    causes[count++] = at;
  }
  return count;
}

void raise_exception(zend_object *thrown, const bounds *limits, text *out) {
  zend_object *causes[MOST_CAUSES];
  size_t count = read_causes(thrown, causes);
  bounds fitting = *limits;
  // The parts are bounded one by one; when their sum is too large, they are written again, smaller.
  for (;;) {
    out->length = 0;
    write_one(thrown, &fitting, true, out);
    text_string(out, ",\"previous\":[");
    for (size_t i = 0; i < count; i++) {
      if (i) text_add(out, ",", 1);
      write_one(causes[i], &fitting, false, out);
      text_add(out, "}", 1);
    }
    text_string(out, "]}");
    if (out->length <= limits->total_bytes || fitting.string_bytes < 64) break;
    fitting.string_bytes /= 4;
    fitting.frames /= 2;
  }
}

// A class for what has none in PHP.
static const char *fatal_class(void) {
  if (fatal.memory) return "OutOfMemoryError";
  if (fatal.type & E_COMPILE_ERROR) return "CompileError";
  if (fatal.type & E_PARSE) return "ParseError";
  return "FatalError";
}

void raise_fatal(const bounds *limits, text *out) {
  text_format(out, "{\"class\":\"%s\",\"message\":", fatal_class());
  const char *message = fatal.message ? fatal.message : "a fatal error";
  write_message(out, message, fatal.message ? fatal.message_length : strlen(message), limits);
  text_string(out, ",\"code\":null,\"file\":");
  if (fatal.file) text_quoted(out, fatal.file, fatal.file_length, 256);
  else text_string(out, "null");
  if (fatal.line) text_format(out, ",\"line\":%u", fatal.line);
  else text_string(out, ",\"line\":null");
  text_string(out, ",\"column\":null,\"stack_trace\":[");
  // The frames are few and short; more than are wanted are left out as a whole.
  uint32_t shown = 0;
  const char *at = fatal.frames.bytes, *end = at ? at + fatal.frames.length : at;
  while (at < end && shown < limits->frames) {
    const char *stop = memmem(at, (size_t)(end - at), "\",\"", 3);
    stop = stop ? stop + 1 : end;
    if (shown++) text_add(out, ",", 1);
    text_add(out, at, (size_t)(stop - at));
    at = stop < end ? stop + 1 : end;
  }
  if (at < end) text_string(out, shown ? ",\"...(truncated)\"" : "\"...(truncated)\"");
  text_string(out, "]");
  if (fatal.file && !fatal.memory) {
    zend_string *file = zend_string_init(fatal.file, fatal.file_length, 1);
    write_excerpt(out, file, fatal.line, false);
    zend_string_release(file);
  }
  text_string(out, ",\"previous\":[]}");
}
