// What the sandbox does not have: processes, owners, records of names, a system log, further stacks. Each
// function fails as it would on a machine without the thing, and PHP turns that into its own warning.
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <syslog.h>
#include <ucontext.h>

#define NO_DNS ": no records of names in this sandbox, whose host looks names up"
#define NO_EXTENSION ": its extension is not in this sandbox"
#define NO_PROCESSES ": no processes in this sandbox"
#define NO_SOCKETS ": its extension is not in this sandbox, where streams connect, as of stream_socket_client()"

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
      {"checkdnsrr", NO_DNS},        {"dns_", NO_DNS},           {"ftp_", NO_EXTENSION},
      {"getmxrr", NO_DNS},           {"imap_", NO_EXTENSION},    {"ldap_", NO_EXTENSION},
      {"mysqli_", NO_EXTENSION},     {"pcntl_", NO_PROCESSES},   {"pg_", NO_EXTENSION},
      {"proc_close", NO_PROCESSES},  {"proc_get_", NO_PROCESSES}, {"proc_nice", NO_PROCESSES},
      {"proc_open", NO_PROCESSES},   {"proc_term", NO_PROCESSES}, {"snmp", NO_EXTENSION},
      {"socket_", NO_SOCKETS},
  };
  const char *space = strrchr(name, '\\');
  if (space) name = space + 1;
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
    if (strncasecmp(name, absent[i].start, strlen(absent[i].start)) == 0) return absent[i].told;
  }
  return "";
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

// Sockets, as far as there are none that do this (../net/sockets.c).
FAILS(int, socketpair, (int family, int type, int protocol, int *ends), -1, EAFNOSUPPORT)
FAILS(ssize_t, sendmsg, (int socket, const struct msghdr *message, int flags), -1, ENOTSOCK)
FAILS(ssize_t, recvmsg, (int socket, struct msghdr *message, int flags), -1, ENOTSOCK)

// Names of hosts and services.
#undef h_errno
int h_errno = HOST_NOT_FOUND;

const char *hstrerror(int error) {
  (void)error;
  return "the name has no address";
}

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
