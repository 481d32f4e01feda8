// Waiting for processes, of which there are none.
#ifndef DORMOUSE_SYS_WAIT_H
#define DORMOUSE_SYS_WAIT_H

#include <sys/types.h>

#define WNOHANG 1
#define WUNTRACED 2
#define WEXITSTATUS(status) ((status) >> 8 & 255)
#define WTERMSIG(status) ((status) & 127)
#define WSTOPSIG(status) WEXITSTATUS(status)
#define WIFEXITED(status) (WTERMSIG(status) == 0)
#define WIFSTOPPED(status) (((status) & 255) == 127)
#define WIFSIGNALED(status) (!WIFEXITED(status) && !WIFSTOPPED(status))

pid_t wait(int *);
pid_t waitpid(pid_t, int *, int);

#endif
