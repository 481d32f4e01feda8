// A growing byte buffer with the few ways of writing JSON that the driver needs. It lies outside PHP's own heap, so it
// outlives a request and a fatal error.
#ifndef DORMOUSE_TEXT_H
#define DORMOUSE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  char *bytes;
  size_t length, room;
  // Memory ran out; what was written since is lost.
  bool failed;
} text;

void text_add(text *t, const char *bytes, size_t length);
void text_string(text *t, const char *string);
void text_format(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A JSON string of at most `limit` bytes of the input, cut at a character. What is not UTF-8 becomes U+FFFD. True when
// all of it was written.
bool text_quoted(text *t, const char *bytes, size_t length, size_t limit);

// The Base64 of the bytes, without quotes.
void text_base64(text *t, const uint8_t *bytes, size_t length);

// The length of the longest prefix of at most `limit` bytes that ends with a whole character.
size_t text_prefix(const char *bytes, size_t length, size_t limit);

bool text_is_utf8(const char *bytes, size_t length);

void text_free(text *t);

#endif
