// Numbers of descriptors: sockets have some of their own, standard streams stay open, and nobody contends for a lock.
#include <fcntl.h>
#include <stdarg.h>

#include "net.h"

int __real_close(int number);

int __wrap_close(int number) {
  if (number >= 0 && number <= 2) return 0;
  return net_close(number) ? 0 : __real_close(number);
}

int __real_fcntl(int number, int command, ...);

static int of_socket(int number, int command, int flags) {
  if (command == F_GETFL) return net_flags(number);
  if (command == F_SETFL) net_set_flags(number, flags);
  return 0;
}

int __wrap_fcntl(int number, int command, ...) {
  if (command == F_SETLK || command == F_SETLKW) return 0;
  if (command == F_GETFD || command == F_GETFL) {
    return net_is_socket(number) ? of_socket(number, command, 0) : __real_fcntl(number, command);
  }
  va_list arguments;
  va_start(arguments, command);
  if (net_is_socket(number)) {
    int flags = va_arg(arguments, int);
    va_end(arguments);
    return of_socket(number, command, flags);
  }
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  if (command == F_GETLK) {
    ((struct flock *)argument)->l_type = F_UNLCK;
    return 0;
  }
  return __real_fcntl(number, command, argument);
}
