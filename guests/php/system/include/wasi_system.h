// Included before every file of PHP: what it takes for granted and wasi-libc does not declare. The functions are in
// `absent.c`, `kept.c` and `users.c`.
#ifndef DORMOUSE_WASI_SYSTEM_H
#define DORMOUSE_WASI_SYSTEM_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// The compiler knows the two plain names only. There are no signals whose mask could be saved.
#define sigsetjmp(buffer, mask) setjmp(buffer)
#define siglongjmp(buffer, value) longjmp(buffer, value)

#define F_RDLCK 0
#define F_WRLCK 1
#define F_UNLCK 2
#define F_GETLK 12
#define F_SETLK 13
#define F_SETLKW 14

// Values that no call of the sandbox takes; PHP's stream functions name them.
#define MSG_DONTWAIT 0x40
#define MSG_OOB 0x80
#define PF_UNIX AF_UNIX
#define SOL_IP 0
#define SOL_TCP 6
#define SOMAXCONN 128
#define SO_BROADCAST 40
#define SO_ERROR 7
#define SO_KEEPALIVE 41
#define SO_REUSEADDR 42

// The environment, which is read when it is first asked for.
char **__wasilibc_get_environ(void);

int chown(const char *, uid_t, gid_t);
int fchown(int, uid_t, gid_t);
int lchown(const char *, uid_t, gid_t);
int dup(int);
int dup2(int, int);
char *ctermid(char *);
int flock(int, int);
int getdtablesize(void);
int getgroups(int, gid_t *);
char *getlogin(void);
pid_t getpgid(pid_t);
pid_t getpgrp(void);
pid_t getppid(void);
pid_t getsid(pid_t);
ssize_t getrandom(void *, size_t, unsigned);
gid_t getegid(void);
gid_t getgid(void);
uid_t geteuid(void);
uid_t getuid(void);
int kill(pid_t, int);
int mkfifo(const char *, mode_t);
int mknod(const char *, mode_t, dev_t);
int mkstemp(char *);
int pclose(FILE *);
int pipe(int *);
FILE *popen(const char *, const char *);
int setegid(gid_t);
int seteuid(uid_t);
int setgid(gid_t);
int setpgid(pid_t, pid_t);
pid_t setsid(void);
int setuid(uid_t);
char *ttyname(int);
mode_t umask(mode_t);

int bind(int, const struct sockaddr *, socklen_t);
int connect(int, const struct sockaddr *, socklen_t);
int getpeername(int, struct sockaddr *, socklen_t *);
int getsockname(int, struct sockaddr *, socklen_t *);
int listen(int, int);
ssize_t recvfrom(int, void *, size_t, int, struct sockaddr *, socklen_t *);
ssize_t recvmsg(int, struct msghdr *, int);
ssize_t sendmsg(int, const struct msghdr *, int);
ssize_t sendto(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
int setsockopt(int, int, int, const void *, socklen_t);
int socket(int, int, int);
int socketpair(int, int, int, int *);

#ifdef __cplusplus
}
#endif

#endif
