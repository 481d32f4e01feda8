// The byte buffer that results are written into.
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

static bool reserve(text *t, size_t more) {
  if (t->failed) return false;
  if (t->room - t->length >= more) return true;
  size_t room = t->room ? t->room * 2 : 256;
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
  if (!length || !reserve(t, length)) return;
  memcpy(t->bytes + t->length, bytes, length);
  t->length += length;
}

void text_string(text *t, const char *string) { text_add(t, string, strlen(string)); }

void text_format(text *t, const char *format, ...) {
  char small[160];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(small, sizeof small, format, arguments);
  va_end(arguments);
  if (length > 0) text_add(t, small, (size_t)length < sizeof small ? (size_t)length : sizeof small - 1);
}

size_t text_prefix(const char *bytes, size_t length, size_t limit) {
  if (length <= limit) return length;
  // At most three bytes belong to a character that was begun; more are no UTF-8 anyway.
  size_t end = limit;
  for (int i = 0; i < 3 && end && ((unsigned char)bytes[end] & 0xC0) == 0x80; i++) end--;
  return ((unsigned char)bytes[end] & 0xC0) == 0x80 ? limit : end;
}

bool text_is_utf8(const char *bytes, size_t length) {
  const uint8_t *at = (const uint8_t *)bytes, *end = at + length;
  while (at < end) {
    size_t bad, whole = *at < 0x80 ? 1 : driver_utf8(at, (size_t)(end - at), &bad);
    if (!whole) return false;
    at += whole;
  }
  return true;
}

static void escape(text *t, unsigned char byte) {
  static const char named[] = "\"\"\\\\\nn\tt\rr\bb\ff";
  for (const char *at = named; *at; at += 2) {
    if ((unsigned char)*at != byte) continue;
    text_add(t, (const char[]){'\\', at[1]}, 2);
    return;
  }
  text_format(t, "\\u%04x", byte);
}

bool text_quoted(text *t, const char *bytes, size_t length, size_t limit) {
  size_t shown = text_prefix(bytes, length, limit), from = 0;
  text_add(t, "\"", 1);
  for (size_t i = 0; i < shown;) {
    unsigned char byte = (unsigned char)bytes[i];
    size_t bad = 1, whole = byte < 0x80 ? 1 : driver_utf8((const uint8_t *)bytes + i, shown - i, &bad);
    if (whole && byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F) {
      i += whole;
      continue;
    }
    text_add(t, bytes + from, i - from);
    if (whole) escape(t, byte);
    else text_add(t, "\xEF\xBF\xBD", 3);
    from = i += whole ? whole : bad;
  }
  text_add(t, bytes + from, shown - from);
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
