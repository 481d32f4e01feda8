// Exceptions (docs/values.md): what was thrown, where, and why.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "javascript.h"

// Causes that are followed.
#define MOST_CAUSES 10

// Bytes of the engine's own rendering.
#define LONGEST_TRACE 8192

// Bytes of the source line that raised.
#define LONGEST_EXCERPT 400

// Scripts of our own have names with this prefix; their frames are left out.
static const char own_prefix[] = "dormouse:";

typedef struct {
  const char *function, *file;
  size_t function_length, file_length;
  int line, column;
} frame;

static void forget_exception(JSContext *ctx) { JS_FreeValue(ctx, JS_GetException(ctx)); }

// A property as it is read by the snippet, or undefined when reading it throws.
static JSValue field(JSContext *ctx, JSValueConst object, const char *name) {
  if (!JS_IsObject(object)) return JS_UNDEFINED;
  JSValue value = JS_GetPropertyStr(ctx, object, name);
  if (!JS_IsException(value)) return value;
  forget_exception(ctx);
  return JS_UNDEFINED;
}

// Cuts `:LINE:COLUMN` from the end of a place.
static void cut_place(frame *f, const char *place, size_t length) {
  f->file = place;
  f->file_length = length;
  int *numbers[] = {&f->column, &f->line};
  for (int i = 0; i < 2; i++) {
    size_t at = f->file_length;
    while (at && place[at - 1] >= '0' && place[at - 1] <= '9') at--;
    if (at < 2 || at == f->file_length || place[at - 1] != ':') return;
    *numbers[i] = atoi(place + at);
    f->file_length = at - 1;
  }
}

// Reads `    at NAME (FILE:LINE:COLUMN)` or `    at FILE:LINE:COLUMN`.
static bool read_frame(const char *line, size_t length, frame *f) {
  *f = (frame){0};
  if (length < 8 || memcmp(line, "    at ", 7) != 0) return false;
  line += 7;
  length -= 7;
  const char *open = NULL;
  for (size_t i = length; i-- > 1 && !open;) {
    if (line[i] == '(' && line[i - 1] == ' ') open = line + i;
  }
  if (open && line[length - 1] == ')') {
    f->function = line;
    f->function_length = (size_t)(open - line) - 1;
    cut_place(f, open + 1, (size_t)(line + length - 1 - (open + 1)));
  } else {
    cut_place(f, line, length);
  }
  return true;
}

static bool is_own(const frame *f) {
  return f->file_length >= sizeof own_prefix - 1 && memcmp(f->file, own_prefix, sizeof own_prefix - 1) == 0;
}

// Whether the frame is the constructor of the error's own class: that is where it was made, not where it was raised.
static bool is_constructor(const frame *f, const char *class) {
  return class && f->function && f->function_length == strlen(class) && memcmp(f->function, class, f->function_length) == 0;
}

// The frames of a stack text as JSON strings; the innermost with a place is where it was raised.
static void write_frames(text *out, const char *stack, const char *class, uint32_t most, frame *raised) {
  uint32_t count = 0;
  for (const char *line = stack; line && *line;) {
    const char *end = strchrnul(line, '\n');
    frame f;
    bool shown_before = count || raised->file;
    if (read_frame(line, (size_t)(end - line), &f) && !is_own(&f) && (shown_before || !is_constructor(&f, class))) {
      // JSON.parse reports places in its text under this name.
      bool in_text = f.file_length == 7 && memcmp(f.file, "<input>", 7) == 0;
      if (!raised->file && f.line && !in_text) *raised = f;
      if (f.function && count < most) {
        text shown = {0};
        const char *dot = memchr(f.function, '.', f.function_length);
        size_t class_length = dot ? (size_t)(dot - f.function) : 0;
        if (class_length) {
          // A method with its class, as for the other languages.
          text_add(&shown, f.function, text_prefix(f.function, class_length, 200));
          text_string(&shown, "->");
          f.function += class_length + 1;
          f.function_length -= class_length + 1;
        }
        text_add(&shown, f.function, text_prefix(f.function, f.function_length, 200));
        text_string(&shown, " (");
        text_add(&shown, f.file, text_prefix(f.file, f.file_length, 200));
        if (f.line) text_format(&shown, ":%d", f.line);
        text_add(&shown, ")", 1);
        if (count) text_add(out, ",", 1);
        text_quoted(out, shown.bytes, shown.length, shown.length);
        text_free(&shown);
      }
      if (f.function) count++;
    }
    line = *end ? end + 1 : NULL;
  }
  if (count > most) text_string(out, most ? ",\"...(truncated)\"" : "\"...(truncated)\"");
}

// What was thrown, in words: the message of an error, the text of anything else.
static void read_message(JSContext *ctx, JSValueConst thrown, text *out) {
  JSValue message = JS_IsString(thrown) ? JS_DupValue(ctx, thrown) : field(ctx, thrown, "message");
  size_t length;
  const char *bytes = JS_IsString(message) ? JS_ToCStringLen(ctx, &length, message) : NULL;
  if (bytes) text_add(out, bytes, length);
  else describe_short(ctx, thrown, out);
  JS_FreeCString(ctx, bytes);
  JS_FreeValue(ctx, message);
}

// Where the frames of a stack text begin: behind `Name: message`, whose message may look like frames.
static const char *frames_of(const char *stack, const text *message) {
  if (!stack || !message->length) return stack;
  size_t length = strlen(stack);
  const char *found = memmem(stack, length, message->bytes, message->length);
  return found && !memchr(stack, '\n', (size_t)(found - stack)) ? found + message->length : stack;
}

static void write_message(text *out, const text *message, const bounds *limits) {
  text cut = {0};
  size_t shown = text_prefix(message->bytes, message->length, limits->string_bytes);
  text_add(&cut, message->bytes, shown);
  if (shown < message->length) text_string(&cut, "...(truncated)");
  text_quoted(out, cut.bytes, cut.length, cut.length);
  text_free(&cut);
}

// The class of an error by its constructor; errors that only carry a name (DOMException) by that.
static char *read_class(JSContext *ctx, JSValueConst thrown) {
  char *class = describe_class(ctx, thrown);
  if (!class || (strcmp(class, "Error") != 0 && strcmp(class, "DOMException") != 0)) return class;
  JSValue name = field(ctx, thrown, "name");
  const char *bytes = JS_IsString(name) ? JS_ToCString(ctx, name) : NULL;
  if (bytes && *bytes) {
    free(class);
    class = strndup(bytes, text_prefix(bytes, strlen(bytes), 256));
  }
  JS_FreeCString(ctx, bytes);
  JS_FreeValue(ctx, name);
  return class;
}

static void write_code(JSContext *ctx, JSValueConst thrown, text *out) {
  JSValue code = field(ctx, thrown, "code");
  size_t length;
  double number;
  const char *bytes = JS_IsString(code) ? JS_ToCStringLen(ctx, &length, code) : NULL;
  if (bytes) {
    text_quoted(out, bytes, length, 256);
    JS_FreeCString(ctx, bytes);
  } else if (JS_IsNumber(code) && JS_ToFloat64(ctx, &number, code) == 0 && number == (int32_t)number) {
    text_format(out, "%d", (int32_t)number);
  } else {
    text_string(out, "null");
  }
  JS_FreeValue(ctx, code);
}

static void write_place(text *out, const frame *raised) {
  if (!raised->file) {
    text_string(out, ",\"file\":null,\"line\":null,\"column\":null");
    return;
  }
  text_string(out, ",\"file\":");
  text_quoted(out, raised->file, raised->file_length, 256);
  text_format(out, ",\"line\":%d,\"column\":%d", raised->line, raised->column);
}

// The source line that raised, while its snippet is at hand.
static void write_excerpt(JSValueConst thrown, const frame *raised, text *out) {
  if (!raised->file) return;
  size_t length;
  const char *line = sources_find(engine_evaluation_of(thrown), raised->file, raised->file_length, &length);
  if (!line) return;
  const char *end = line + length;
  for (int i = 1; i < raised->line && line; i++) {
    line = memchr(line, '\n', (size_t)(end - line));
    if (line) line++;
  }
  if (!line || line >= end) return;
  const char *stop = memchr(line, '\n', (size_t)(end - line));
  text_string(out, ",\"excerpt\":");
  text_quoted(out, line, (size_t)((stop ? stop : end) - line), LONGEST_EXCERPT);
}

// `Class: message` and the frames, cut in the middle, where deep recursion repeats itself.
static void write_trace(text *out, const char *class, const text *message, const char *stack) {
  text whole = {0};
  text_string(&whole, class);
  if (message->length) text_string(&whole, ": ");
  text_add(&whole, message->bytes, message->length);
  text_add(&whole, "\n", 1);
  bool has_begun = false;
  for (const char *line = stack; line && *line;) {
    const char *end = strchrnul(line, '\n');
    frame f;
    bool is_frame = read_frame(line, (size_t)(end - line), &f);
    // What stands before the frames is the header, which was written above.
    has_begun = has_begun || is_frame;
    if (has_begun && !(is_frame && is_own(&f))) {
      text_add(&whole, line, (size_t)(end - line));
      text_add(&whole, "\n", 1);
    }
    line = *end ? end + 1 : NULL;
  }
  text_string(out, ",\"traceback\":");
  if (whole.length > LONGEST_TRACE) {
    text cut = {0};
    size_t tail = whole.length - LONGEST_TRACE / 2;
    while (tail < whole.length && ((unsigned char)whole.bytes[tail] & 0xC0) == 0x80) tail++;
    text_add(&cut, whole.bytes, text_prefix(whole.bytes, whole.length, LONGEST_TRACE / 2 - 8));
    text_string(&cut, "\n...\n");
    text_add(&cut, whole.bytes + tail, whole.length - tail);
    text_free(&whole);
    whole = cut;
  }
  text_quoted(out, whole.bytes, whole.length, whole.length);
  text_free(&whole);
}

// One exception without its causes, and without the closing brace.
static void write_one(JSContext *ctx, JSValueConst thrown, const bounds *limits, bool outermost, text *out) {
  char *class = read_class(ctx, thrown);
  text message = {0};
  read_message(ctx, thrown, &message);
  JSValue stack = field(ctx, thrown, "stack");
  const char *stack_text = JS_IsString(stack) ? JS_ToCString(ctx, stack) : NULL;
  const char *frames = frames_of(stack_text, &message);
  frame raised = {0};
  text list = {0};
  write_frames(&list, frames, class, limits->frames, &raised);
  text_string(out, "{\"class\":");
  text_quoted(out, class ? class : "", class ? strlen(class) : 0, 256);
  text_string(out, ",\"message\":");
  write_message(out, &message, limits);
  text_string(out, ",\"code\":");
  write_code(ctx, thrown, out);
  write_place(out, &raised);
  text_string(out, ",\"stack_trace\":[");
  text_add(out, list.bytes, list.length);
  text_add(out, "]", 1);
  if (outermost) {
    write_excerpt(thrown, &raised, out);
    write_trace(out, class ? class : "", &message, frames);
  }
  text_free(&list);
  text_free(&message);
  JS_FreeCString(ctx, stack_text);
  JS_FreeValue(ctx, stack);
  free(class);
}

// The causes: `cause` of each, then the members of an AggregateError.
static size_t read_causes(JSContext *ctx, JSValueConst thrown, JSValue *causes) {
  size_t count = 0;
  JSValue at = field(ctx, thrown, "cause");
  while (!JS_IsUndefined(at) && count < MOST_CAUSES) {
    bool seen = JS_IsObject(at) && JS_VALUE_GET_PTR(at) == JS_VALUE_GET_PTR(thrown);
    for (size_t i = 0; i < count && JS_IsObject(at); i++) seen |= JS_VALUE_GET_PTR(causes[i]) == JS_VALUE_GET_PTR(at);
    if (seen) break;
    causes[count++] = at;
    at = field(ctx, at, "cause");
  }
  JS_FreeValue(ctx, at);
  JSValue members = JS_IsError(thrown) ? field(ctx, thrown, "errors") : JS_UNDEFINED;
  int64_t length = 0;
  if (JS_IsArray(members)) JS_GetLength(ctx, members, &length);
  for (int64_t i = 0; i < length && count < MOST_CAUSES; i++) {
    JSValue member = JS_GetPropertyInt64(ctx, members, i);
    if (JS_IsException(member)) {
      forget_exception(ctx);
      break;
    }
    causes[count++] = member;
  }
  JS_FreeValue(ctx, members);
  return count;
}

void raise_encode(JSContext *ctx, JSValueConst thrown, const bounds *limits, text *out) {
  if (JS_IsUninitialized(thrown) || (JS_IsNull(thrown) && engine_error_lost)) {
    // There was no room for the error itself.
    text_string(out, RAISE_OUT_OF_MEMORY);
    return;
  }
  JSValue causes[MOST_CAUSES];
  bounds fitting = *limits;
  size_t count = read_causes(ctx, thrown, causes);
  // The parts are bounded one by one; when their sum is too large, they are written again, smaller.
  for (;;) {
    out->length = 0;
    write_one(ctx, thrown, &fitting, true, out);
    text_string(out, ",\"previous\":[");
    for (size_t i = 0; i < count; i++) {
      if (i) text_add(out, ",", 1);
      write_one(ctx, causes[i], &fitting, false, out);
      text_add(out, "}", 1);
    }
    text_string(out, "]}");
    if (out->length <= limits->total_bytes || fitting.string_bytes < 64) break;
    fitting.string_bytes /= 4;
    fitting.frames /= 2;
  }
  for (size_t i = 0; i < count; i++) JS_FreeValue(ctx, causes[i]);
}
