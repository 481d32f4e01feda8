// Sockets that connect: each is a connection of the host under a number of a descriptor. There is no listening, and no UDP.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net.h"

// Numbers that no file has. They end where sets of `select` end.
#define FIRST 768
#define MOST 256

typedef struct {
  int family, type, flags;
  // None until it is connected.
  char *host;
  struct sockaddr_in peer;
  net_connection connection;
  // No more is sent; no more comes.
  bool is_finished, has_ended;
  // What has come and has not been read, from `used` on.
  guest_list_u8_t ahead;
  size_t used;
} net_socket;

static net_socket *sockets[MOST];

static net_socket *find(int number) {
  return number >= FIRST && number < FIRST + MOST ? sockets[number - FIRST] : NULL;
}

// The same, as functions want it that say why not.
static net_socket *connected(int number) {
  net_socket *found = find(number);
  if (!found) errno = ENOTSOCK;
  else if (!found->host) net_refuse(ENOTCONN, "the socket is not connected");
  return found && found->host ? found : NULL;
}

bool net_is_socket(int number) { return find(number); }

const char *net_host(int number) {
  const net_socket *found = find(number);
  return found ? found->host : NULL;
}

int net_flags(int number) { return O_RDWR | find(number)->flags; }
void net_set_flags(int number, int flags) { find(number)->flags = flags & O_NONBLOCK; }

static size_t left(const net_socket *of) { return of->ahead.len - of->used; }

static void drop_ahead(net_socket *of) {
  guest_list_u8_free(&of->ahead);
  of->ahead = (guest_list_u8_t){0};
  of->used = 0;
}

int socket(int family, int type, int protocol) {
  (void)protocol;
  if (family != AF_INET && family != AF_UNIX) {
    errno = EAFNOSUPPORT;
    return -1;
  }
  for (int i = 0; i < MOST; i++) {
    if (sockets[i]) continue;
    net_socket *made = calloc(1, sizeof *made);
    if (!made) break;
    made->family = family;
    made->type = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    made->flags = type & SOCK_NONBLOCK ? O_NONBLOCK : 0;
    sockets[i] = made;
    return FIRST + i;
  }
  return net_refuse(EMFILE, "as many sockets are open as may be");
}

bool net_close(int number) {
  net_socket *found = find(number);
  if (!found) return false;
  if (found->host) dormouse_sandbox_net_close(found->connection);
  drop_ahead(found);
  free(found->host);
  free(found);
  sockets[number - FIRST] = NULL;
  return true;
}

// Connections that were closed just now may still count as open; this is time enough for the host to notice.
#define BREATH 2000000

static bool open_connection(net_socket *of, const char *host) {
  uint16_t port = ntohs(of->peer.sin_port);
  guest_string_t told = {(uint8_t *)host, strlen(host)};
  net_problem why;
  if (dormouse_sandbox_net_open(&told, port, &of->connection, &why)) return true;
  if (why.trouble == DORMOUSE_SANDBOX_NET_TROUBLE_EXHAUSTED) {
    dormouse_sandbox_net_problem_free(&why);
    net_wait(NULL, 0, BREATH);
    if (dormouse_sandbox_net_open(&told, port, &of->connection, &why)) return true;
  }
  net_failed(&why);
  return false;
}

int connect(int number, const struct sockaddr *address, socklen_t length) {
  net_socket *found = find(number);
  if (!found) return net_refuse(ENOTSOCK, "this is no socket");
  if (found->host) return net_refuse(EISCONN, "the socket is connected already");
  if (found->family != AF_INET) return net_refuse(EACCES, "no Unix sockets in this sandbox");
  if (found->type != SOCK_STREAM) return net_refuse(EACCES, "no UDP in this sandbox");
  if (address->sa_family != AF_INET || length < sizeof found->peer) return net_refuse(EAFNOSUPPORT, "this is no address");
  memcpy(&found->peer, address, sizeof found->peer);
  char number_text[INET_ADDRSTRLEN];
  const char *name = net_name(found->peer.sin_addr);
  if (!name) name = inet_ntop(AF_INET, &found->peer.sin_addr, number_text, sizeof number_text);
  char *host = strdup(name);
  if (!host) return net_refuse(ENOMEM, "there is no memory for the connection");
  if (open_connection(found, host)) {
    found->host = host;
    return 0;
  }
  int error = errno;
  free(host);
  errno = error;
  return -1;
}

// Waits until a connection takes bytes, or has some. There is nothing else that could wake it.
static void wait_for(const net_socket *of, bool reads) {
  net_interest interest = {.connection = of->connection, .reads = reads, .writes = !reads};
  net_wait(&interest, 1, -1);
}

static bool may_wait(const net_socket *of, int flags) {
  if (!(of->flags & O_NONBLOCK) && !(flags & MSG_DONTWAIT)) return true;
  errno = EAGAIN;
  return false;
}

ssize_t __real_send(int number, const void *bytes, size_t size, int flags);

ssize_t __wrap_send(int number, const void *bytes, size_t size, int flags) {
  if (!net_is_socket(number)) return __real_send(number, bytes, size, flags);
  net_socket *to = connected(number);
  if (!to) return -1;
  if (to->is_finished) return net_refuse(EPIPE, "the connection was shut down for writing");
  guest_list_u8_t piece = {(uint8_t *)bytes, size < NET_PIECE ? size : NET_PIECE};
  while (piece.len) {
    uint32_t taken;
    net_problem why;
    if (!dormouse_sandbox_net_send(to->connection, &piece, &taken, &why)) return net_failed(&why);
    if (taken) return taken < piece.len ? (ssize_t)taken : (ssize_t)piece.len;
    if (!may_wait(to, flags)) return -1;
    wait_for(to, false);
  }
  return 0;
}

// Gets what has come. -1, 0 at the end, or how much there is.
static ssize_t fill(net_socket *from, int flags) {
  drop_ahead(from);
  while (!from->has_ended) {
    guest_option_list_u8_t got;
    net_problem why;
    if (!dormouse_sandbox_net_receive(from->connection, NET_PIECE, &got, &why)) return net_failed(&why);
    if (got.is_some) {
      from->ahead = got.val;
      from->has_ended = !got.val.len;
      return (ssize_t)got.val.len;
    }
    if (!may_wait(from, flags)) return -1;
    wait_for(from, true);
  }
  return 0;
}

ssize_t __real_recv(int number, void *bytes, size_t size, int flags);

ssize_t __wrap_recv(int number, void *bytes, size_t size, int flags) {
  if (!net_is_socket(number)) return __real_recv(number, bytes, size, flags);
  net_socket *from = connected(number);
  if (!from) return -1;
  if (!size) return 0;
  if (!left(from)) {
    ssize_t came = fill(from, flags);
    if (came <= 0) return came;
  }
  size_t given = left(from) < size ? left(from) : size;
  memcpy(bytes, from->ahead.ptr + from->used, given);
  if (!(flags & MSG_PEEK)) from->used += given;
  return (ssize_t)given;
}

int bind(int number, const struct sockaddr *address, socklen_t length) {
  (void)number, (void)address, (void)length;
  return net_refuse(EACCES, "programs in this sandbox cannot listen, and have no address of their own");
}

int listen(int number, int backlog) {
  (void)backlog;
  return bind(number, NULL, 0);
}

// Where something goes is settled when a socket connects.
ssize_t sendto(int number, const void *bytes, size_t size, int flags, const struct sockaddr *address, socklen_t length) {
  (void)address, (void)length;
  return send(number, bytes, size, flags);
}

ssize_t recvfrom(int number, void *bytes, size_t size, int flags, struct sockaddr *address, socklen_t *length) {
  if (address && length) *length = 0;
  return recv(number, bytes, size, flags);
}

int __real_shutdown(int number, int how);

int __wrap_shutdown(int number, int how) {
  if (!net_is_socket(number)) return __real_shutdown(number, how);
  net_socket *found = connected(number);
  if (!found) return -1;
  if (how & SHUT_WR && !found->is_finished) {
    dormouse_sandbox_net_finish(found->connection);
    found->is_finished = true;
  }
  if (how & SHUT_RD) {
    drop_ahead(found);
    found->has_ended = true;
  }
  return 0;
}

int __real_getsockopt(int number, int level, int option, void *value, socklen_t *length);

int __wrap_getsockopt(int number, int level, int option, void *value, socklen_t *length) {
  const net_socket *found = find(number);
  if (!found) return __real_getsockopt(number, level, option, value, length);
  // A connection that failed is none, so there is no error that has not been told.
  int answer = level == SOL_SOCKET && option == SO_TYPE ? found->type : 0;
  if (*length > sizeof answer) *length = sizeof answer;
  memcpy(value, &answer, *length);
  return 0;
}

// Options are about how bytes travel, which is the host's affair.
int setsockopt(int number, int level, int option, const void *value, socklen_t length) {
  (void)level, (void)option, (void)value, (void)length;
  if (net_is_socket(number)) return 0;
  errno = ENOTSOCK;
  return -1;
}

static int give_address(const net_socket *of, bool is_peer, struct sockaddr *address, socklen_t *length) {
  struct sockaddr_in given = {.sin_family = AF_INET};
  if (is_peer) given = of->peer;
  if (*length > sizeof given) *length = sizeof given;
  memcpy(address, &given, *length);
  return 0;
}

int getpeername(int number, struct sockaddr *address, socklen_t *length) {
  const net_socket *found = connected(number);
  return found ? give_address(found, true, address, length) : -1;
}

// Its own address is the host's, which a program need not know.
int getsockname(int number, struct sockaddr *address, socklen_t *length) {
  const net_socket *found = find(number);
  if (found) return give_address(found, false, address, length);
  errno = ENOTSOCK;
  return -1;
}

bool net_connected(int number, net_connection *connection) {
  const net_socket *found = find(number);
  if (found->host) *connection = found->connection;
  return found->host;
}

bool net_has_bytes(int number) {
  const net_socket *found = find(number);
  return found->has_ended || left(found);
}
