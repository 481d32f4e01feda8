// What stands in the place of a handshake of TLS: a line to the host, which speaks TLS with the server, and the host's line in
// answer (docs/decisions/network.md). Knows nothing of PHP, so that libcurl can use it as well.
#ifndef DORMOUSE_PHP_GREETING_H
#define DORMOUSE_PHP_GREETING_H

#include <stdbool.h>
#include <stddef.h>

// Bytes of either line, its end included.
#define GREETING_ROOM 4096

// Writes the line for a connection to `name`, with the protocols that may be spoken, which commas separate. Its length; 0: it
// does not fit, or `name` is none.
size_t greeting_write(char *line, size_t room, const char *name, const char *protocols);

// What the host answered.
typedef struct {
  // TLS is spoken from here on, or `error` says why not.
  bool done;
  char protocol[32];
  // A word of the host's, its sentence, and the number of libc's that comes nearest.
  char reason[32], message[512];
  int error;
} greeting_answer;

// Reads the host's line, without its end. False: it is none.
bool greeting_read(const char *line, size_t length, greeting_answer *answer);

// The number of libc's that comes nearest to a reason of the host's.
int greeting_error(const char *reason);

// Why there is no connection, if a header of an answer says that: the host sends it for a server in the clear, which it reaches
// only when it knows the request. Sets `errno`. NULL: it is a header as any other.
const char *driver_unreachable(const char *header, size_t length);

#endif
