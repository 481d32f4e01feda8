// Why the last call failed: a number of libc's, and the sentence that goes with it.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

static struct {
  int error;
  char why[512];
} last;

static int refuse(int error, const char *why, size_t length) {
  if (length >= sizeof last.why) {
    length = sizeof last.why - 1;
    // Not within a character.
    while (length && ((unsigned char)why[length] & 0xc0) == 0x80) length--;
  }
  memcpy(last.why, why, length);
  last.why[length] = 0;
  last.error = errno = error;
  return -1;
}

int net_refuse(int error, const char *why) { return refuse(error, why, strlen(why)); }

int net_failed(net_problem *why) {
#define TROUBLE(name) [DORMOUSE_SANDBOX_NET_TROUBLE_##name]
  static const int errors[] = {
      TROUBLE(DENIED) = EACCES,
      TROUBLE(UNKNOWN_NAME) = EHOSTUNREACH,
      TROUBLE(REFUSED) = ECONNREFUSED,
      TROUBLE(RESET) = ECONNRESET,
      // Of an earlier run, perhaps of another instance: to its program it has been dropped.
      TROUBLE(CLOSED) = ECONNRESET,
      TROUBLE(TIMED_OUT) = ETIMEDOUT,
      TROUBLE(UNTRUSTED) = EPROTO,
      TROUBLE(PROTOCOL) = EPROTO,
      TROUBLE(EXHAUSTED) = EMFILE,
  };
  refuse(errors[why->trouble], (const char *)why->text.ptr, why->text.len);
  // It frees, which may set `errno`.
  dormouse_sandbox_net_problem_free(why);
  errno = last.error;
  return -1;
}

int driver_socket_error(long error, char *text, size_t room) {
  if (error != last.error || !*last.why) return strerror_r((int)error, text, room);
  if (room) strlcpy(text, last.why, room);
  return 0;
}

const char *driver_refusal(int error, const char *otherwise) {
  return error && error == last.error && *last.why ? last.why : otherwise;
}
