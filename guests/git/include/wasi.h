// What libgit2 takes for granted and WASI has not: processes and users. There is one of each.
#ifndef DORMOUSE_GIT_WASI_H
#define DORMOUSE_GIT_WASI_H
#define _GNU_SOURCE 1
#include <sys/types.h>
#include <unistd.h>

#define getpid() 1
#define getppid() 1
#define getpgid(process) 1
#define getsid(process) 1
#define getuid() 0
#define geteuid() 0
#define getgid() 0
#endif
