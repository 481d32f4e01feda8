// In the place of libgit2's streams over sockets: there are none. Remote repositories are reached through the host.
#include "common.h"
#include "stream.h"

// Settings that the library keeps here.
int git_socket_stream__connect_timeout = 0;
int git_socket_stream__timeout = 0;

int git_socket_stream_global_init(void) { return 0; }

int git_socket_stream_new(git_stream **out, const char *host, const char *port) {
  (void)out, (void)host, (void)port;
  git_error_set(GIT_ERROR_NET, "only http:// and https:// reach other machines");
  return -1;
}
