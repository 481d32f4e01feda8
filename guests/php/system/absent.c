// What the sandbox does not have: processes, owners, sockets, names of hosts, a system log, further stacks. Each
// function fails as it would on a machine without the thing, and PHP turns that into its own warning.
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <syslog.h>
#include <ucontext.h>

#define NO_NETWORK "no network in this sandbox"
#define NO_PROCESSES "no processes in this sandbox"

#define FAILS(type, name, parameters, with, error) \
  type name parameters {                           \
    errno = error;                                 \
    return with;                                   \
  }

// What is added to the message about an unknown function, by its name: those of extensions that cannot be here say why. They
// are not defined, so that libraries that ask for them take another way.
const char *driver_absence(const char *name) {
  static const struct {
    const char *start, *told;
  } absent[] = {
      {"checkdnsrr", ": " NO_NETWORK},   {"dns_", ": " NO_NETWORK},         {"ftp_", ": " NO_NETWORK},
      {"getmxrr", ": " NO_NETWORK},      {"imap_", ": " NO_NETWORK},        {"ldap_", ": " NO_NETWORK},
      {"mysqli_", ": " NO_NETWORK},      {"pcntl_", ": " NO_PROCESSES},     {"pg_", ": " NO_NETWORK},
      {"proc_close", ": " NO_PROCESSES}, {"proc_get_", ": " NO_PROCESSES},  {"proc_nice", ": " NO_PROCESSES},
      {"proc_open", ": " NO_PROCESSES},  {"proc_term", ": " NO_PROCESSES},  {"snmp", ": " NO_NETWORK},
      {"socket_", ": " NO_NETWORK},
  };
  const char *space = strrchr(name, '\\');
  if (space) name = space + 1;
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
    if (strncasecmp(name, absent[i].start, strlen(absent[i].start)) == 0) return absent[i].told;
  }
  return "";
}

// What is added to the message about a stream wrapper or a transport that PHP was built without: those that need a network
// say that there is none. None: it is just unknown.
const char *driver_no_wrapper(const char *name) {
  static const char *const absent[] = {"https", "ftps",    "ssl",     "sslv2",   "sslv3",
                                       "tls",   "tlsv1.0", "tlsv1.1", "tlsv1.2", "tlsv1.3"};
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
    if (strcasecmp(name, absent[i]) == 0) return NO_NETWORK;
  }
  return NULL;
}

// Processes.
FAILS(FILE *, popen, (const char *command, const char *mode), NULL, ENOSYS)
FAILS(int, pclose, (FILE *file), -1, ENOSYS)
FAILS(int, pipe, (int *ends), -1, ENOSYS)
FAILS(int, kill, (pid_t process, int signal), -1, ENOSYS)
FAILS(pid_t, wait, (int *status), -1, ECHILD)
FAILS(pid_t, waitpid, (pid_t process, int *status, int options), -1, ECHILD)

// Owners of files.
FAILS(int, chown, (const char *path, uid_t user, gid_t group), -1, ENOSYS)
FAILS(int, lchown, (const char *path, uid_t user, gid_t group), -1, ENOSYS)
FAILS(int, fchown, (int file, uid_t user, gid_t group), -1, ENOSYS)

// Sockets.
FAILS(int, socket, (int family, int type, int protocol), -1, EAFNOSUPPORT)
FAILS(int, socketpair, (int family, int type, int protocol, int *ends), -1, EAFNOSUPPORT)
FAILS(int, bind, (int socket, const struct sockaddr *address, socklen_t length), -1, EAFNOSUPPORT)
FAILS(int, listen, (int socket, int backlog), -1, EAFNOSUPPORT)
FAILS(int, connect, (int socket, const struct sockaddr *address, socklen_t length), -1, EAFNOSUPPORT)
FAILS(int, getsockname, (int socket, struct sockaddr *address, socklen_t *length), -1, ENOTSOCK)
FAILS(int, getpeername, (int socket, struct sockaddr *address, socklen_t *length), -1, ENOTSOCK)
FAILS(int, setsockopt, (int socket, int level, int option, const void *value, socklen_t length), -1, ENOTSOCK)
FAILS(ssize_t, sendmsg, (int socket, const struct msghdr *message, int flags), -1, ENOTSOCK)
FAILS(ssize_t, recvmsg, (int socket, struct msghdr *message, int flags), -1, ENOTSOCK)
FAILS(ssize_t, sendto,
      (int socket, const void *bytes, size_t size, int flags, const struct sockaddr *address, socklen_t length), -1,
      ENOTSOCK)
FAILS(ssize_t, recvfrom,
      (int socket, void *bytes, size_t size, int flags, struct sockaddr *address, socklen_t *length), -1, ENOTSOCK)

// What `strerror_r` is for the errors of sockets.
int driver_socket_error(long error, char *text, size_t room) {
  if (error != EAFNOSUPPORT && error != ENOTSOCK) return strerror_r((int)error, text, room);
  strlcpy(text, NO_NETWORK, room);
  return 0;
}

// Names of hosts.
#undef h_errno
int h_errno = HOST_NOT_FOUND;

const char *hstrerror(int error) {
  (void)error;
  return NO_NETWORK;
}

FAILS(struct hostent *, gethostbyname, (const char *name), NULL, 0)
FAILS(struct hostent *, gethostbyaddr, (const void *address, socklen_t length, int type), NULL, 0)
FAILS(struct protoent *, getprotobyname, (const char *name), NULL, 0)
FAILS(struct protoent *, getprotobynumber, (int number), NULL, 0)
FAILS(struct servent *, getservbyname, (const char *name, const char *protocol), NULL, 0)
FAILS(struct servent *, getservbyport, (int port, const char *protocol), NULL, 0)
FAILS(int, getnameinfo,
      (const struct sockaddr *address, socklen_t length, char *host, socklen_t host_room, char *service,
       socklen_t service_room, int flags),
      EAI_FAIL, 0)

// The system's log.
void openlog(const char *name, int options, int facility) { (void)name, (void)options, (void)facility; }
void closelog(void) {}
void syslog(int priority, const char *format, ...) { (void)priority, (void)format; }
void vsyslog(int priority, const char *format, va_list arguments) { (void)priority, (void)format, (void)arguments; }

// Further stacks. The recipe makes `Fiber::start` throw before it would get here.
FAILS(int, getcontext, (ucontext_t *context), -1, ENOSYS)

void makecontext(ucontext_t *context, void (*entry)(void), int count, ...) {
  (void)context, (void)entry, (void)count;
  abort();
}

int setcontext(const ucontext_t *context) {
  (void)context;
  abort();
}

int swapcontext(ucontext_t *from, const ucontext_t *to) {
  (void)from, (void)to;
  abort();
}
