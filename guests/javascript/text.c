// The byte buffer that results are written into.
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(text *t, size_t more) {
  if (t->failed) return false;
  if (t->room - t->length >= more) return true;
  size_t room = t->room ? t->room * 2 : 128;
  while (room - t->length < more) room *= 2;
  char *bytes = realloc(t->bytes, room);
  if (!bytes) {
    t->failed = true;
    return false;
  }
  t->bytes = bytes;
  t->room = room;
  return true;
}

void text_add(text *t, const char *bytes, size_t length) {
  if (!reserve(t, length)) return;
  memcpy(t->bytes + t->length, bytes, length);
  t->length += length;
}

void text_string(text *t, const char *string) { text_add(t, string, strlen(string)); }

void text_format(text *t, const char *format, ...) {
  char small[128];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(small, sizeof small, format, arguments);
  va_end(arguments);
  if (length > 0) text_add(t, small, (size_t)length < sizeof small ? (size_t)length : sizeof small - 1);
}

size_t text_prefix(const char *bytes, size_t length, size_t limit) {
  if (length <= limit) return length;
  while (limit && ((unsigned char)bytes[limit] & 0xC0) == 0x80) limit--;
  return limit;
}

bool text_quoted(text *t, const char *bytes, size_t length, size_t limit) {
  size_t shown = text_prefix(bytes, length, limit);
  text_add(t, "\"", 1);
  size_t start = 0;
  for (size_t i = 0; i < shown; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    bool surrogate = byte == 0xED && i + 2 < shown && (unsigned char)bytes[i + 1] >= 0xA0;
    if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F && !surrogate) continue;
    text_add(t, bytes + start, i - start);
    start = i + 1;
    if (surrogate) {
      text_add(t, "\xEF\xBF\xBD", 3);
      i += 2;
      start = i + 1;
    } else if (byte == '"' || byte == '\\') {
      char escape[2] = {'\\', (char)byte};
      text_add(t, escape, 2);
    } else if (byte == '\n') {
      text_add(t, "\\n", 2);
    } else if (byte == '\t') {
      text_add(t, "\\t", 2);
    } else {
      text_format(t, "\\u%04x", byte);
    }
  }
  text_add(t, bytes + start, shown - start);
  text_add(t, "\"", 1);
  return shown == length;
}

void text_base64(text *t, const uint8_t *bytes, size_t length) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < length; i += 3) {
    size_t left = length - i;
    uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
    char four[4] = {digits[group >> 18], digits[group >> 12 & 63], left > 1 ? digits[group >> 6 & 63] : '=',
                    left > 2 ? digits[group & 63] : '='};
    text_add(t, four, 4);
  }
}

void text_free(text *t) {
  free(t->bytes);
  *t = (text){0};
}
