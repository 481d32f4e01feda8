// The greeting and its answer, as text.
#include "greeting.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

// The byte that a handshake begins with, too.
#define MARK 0x16

// Whether a text can stand in JSON as it is.
static bool is_plain(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte <= ' ' || byte >= 0x7f || byte == '"' || byte == '\\') return false;
  }
  return length > 0;
}

typedef struct {
  char *bytes;
  size_t length, room;
  bool is_full;
} line_t;

static void add(line_t *line, const char *text, size_t length) {
  if (line->room - line->length < length) {
    line->is_full = true;
    return;
  }
  memcpy(line->bytes + line->length, text, length);
  line->length += length;
}

#define ADD(line, text) add(line, text, sizeof text - 1)

size_t greeting_write(char *bytes, size_t room, const char *name, const char *protocols) {
  line_t line = {.bytes = bytes, .room = room};
  // The host would not take another name either.
  if (!is_plain(name, strlen(name))) return 0;
  ADD(&line, "\x16{\"name\":\"");
  add(&line, name, strlen(name));
  ADD(&line, "\",\"alpn\":[");
  for (bool is_first = true; *protocols;) {
    size_t length = strcspn(protocols, ",");
    if (is_plain(protocols, length)) {
      if (!is_first) ADD(&line, ",");
      ADD(&line, "\"");
      add(&line, protocols, length);
      ADD(&line, "\"");
      is_first = false;
    }
    protocols += length + (protocols[length] == ',');
  }
  ADD(&line, "]}\n");
  return line.is_full ? 0 : line.length;
}

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if ((c | 32) >= 'a' && (c | 32) <= 'f') return (c | 32) - 'a' + 10;
  return -1;
}

// Reads a text of JSON from behind its first quote, as much of it as there is room for. The place behind its last one.
static const char *read_text(const char *next, const char *end, char *into, size_t room) {
  size_t length = 0;
  for (; next < end && *next != '"'; next++) {
    char byte = *next;
    if (byte == '\\') {
      if (++next == end) return NULL;
      static const char escapes[] = "nrtbf", meant[] = "\n\r\t\b\f";
      const char *known = memchr(escapes, *next, sizeof escapes - 1);
      byte = known ? meant[known - escapes] : *next;
      if (*next == 'u') {
        // Only control characters are written so.
        int code = 0;
        for (int i = 1; i <= 4; i++) code = next + i < end && digit(next[i]) >= 0 ? code << 4 | digit(next[i]) : 0x100;
        if (end - next < 5) return NULL;
        next += 4;
        byte = code < 0x80 ? (char)code : '?';
      }
    }
    if (length + 1 < room) into[length++] = byte;
  }
  into[length] = 0;
  return next < end ? next + 1 : NULL;
}

// Reads a member of an object that holds only texts and `null`.
static const char *read_member(const char *next, const char *end, greeting_answer *answer) {
  char name[16], ignored[2];
  if (next == end || *next != '"' || !(next = read_text(next + 1, end, name, sizeof name))) return NULL;
  if (next == end || *next++ != ':') return NULL;
  if (end - next >= 4 && memcmp(next, "null", 4) == 0) return next + 4;
  if (next == end || *next++ != '"') return NULL;
  if (strcmp(name, "alpn") == 0) return read_text(next, end, answer->protocol, sizeof answer->protocol);
  if (strcmp(name, "error") == 0) return read_text(next, end, answer->reason, sizeof answer->reason);
  if (strcmp(name, "message") == 0) return read_text(next, end, answer->message, sizeof answer->message);
  return read_text(next, end, ignored, sizeof ignored);
}

bool greeting_read(const char *line, size_t length, greeting_answer *answer) {
  *answer = (greeting_answer){0};
  const char *next = line, *end = line + length;
  if (length < 3 || *next++ != MARK || *next++ != '{') return false;
  while (next < end && *next != '}') {
    next = read_member(next, end, answer);
    if (!next) return false;
    if (next < end && *next == ',') next++;
  }
  if (next == end) return false;
  answer->done = !*answer->reason;
  if (answer->done) return true;
  answer->error = greeting_error(answer->reason);
  if (!*answer->message) snprintf(answer->message, sizeof answer->message, "the host refused it: %s", answer->reason);
  return true;
}

// Reasons of the host's that are about a connection, and not about one request.
static const struct {
  const char *reason;
  int error;
  const char *sentence;
} known[] = {
    {"host", EACCES, "no rule of the network allows this host"},
    {"port", EACCES, "no rule of the network allows this port"},
    {"address", EACCES, "no rule of the network allows the address of this host"},
    {"unknown_name", EHOSTUNREACH, "the name of this host has no address"},
    {"refused", ECONNREFUSED, "nobody takes connections there"},
    {"reset", ECONNRESET, "the connection broke, or what came was no HTTP"},
    {"timed_out", ETIMEDOUT, "it took too long"},
    {"untrusted", EPROTO, "the certificate of this host is not trusted"},
    {"requests", EMFILE, "the budget of requests is spent"},
    {"connections", EMFILE, "as many connections are open as may be"},
    {"unrecorded", EIO, "the host cannot write down what is sent"},
};
#define KNOWN (sizeof known / sizeof *known)

int greeting_error(const char *reason) {
  for (size_t i = 0; i < KNOWN; i++) {
    if (strcmp(known[i].reason, reason) == 0) return known[i].error;
  }
  // What is left are rules.
  return EACCES;
}

const char *driver_unreachable(const char *header, size_t length) {
  static const char name[] = "x-dormouse-denied:";
  if (length < sizeof name || strncasecmp(header, name, sizeof name - 1) != 0) return NULL;
  const char *word = header + sizeof name - 1, *end = header + length;
  while (word < end && (*word == ' ' || *word == '\t')) word++;
  while (end > word && (unsigned char)end[-1] <= ' ') end--;
  for (size_t i = 0; i < KNOWN; i++) {
    size_t size = strlen(known[i].reason);
    if (size != (size_t)(end - word) || memcmp(known[i].reason, word, size) != 0) continue;
    errno = known[i].error;
    return known[i].sentence;
  }
  return NULL;
}
