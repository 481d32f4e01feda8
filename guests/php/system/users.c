// The one user and its one process, as a program of a quiet Linux machine sees them: the same names and numbers as in Python
// (`guests/python/boot/_dormouse/system.py`) and in the shell.
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

// The one user. Not 0: PHP's functions treat that user as one who may do everything.
#define USER 1000

// The leader of the process's group and of its session, and what started it.
#define FIRST_PROCESS 1

static struct passwd users[] = {
    {"root", "x", 0, 0, "root", "/root", "/bin/sh"},
    {"sandbox", "x", USER, USER, "", "/workspace", "/bin/sh"},
};

static char *nobody[] = {NULL};

static struct group groups[] = {
    {"root", "x", 0, nobody},
    {"sandbox", "x", USER, nobody},
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

struct passwd *getpwnam(const char *name) {
  for (size_t i = 0; i < COUNT(users); i++) {
    if (strcmp(users[i].pw_name, name) == 0) return &users[i];
  }
  return NULL;
}

struct passwd *getpwuid(uid_t user) {
  for (size_t i = 0; i < COUNT(users); i++) {
    if (users[i].pw_uid == user) return &users[i];
  }
  return NULL;
}

struct group *getgrnam(const char *name) {
  for (size_t i = 0; i < COUNT(groups); i++) {
    if (strcmp(groups[i].gr_name, name) == 0) return &groups[i];
  }
  return NULL;
}

struct group *getgrgid(gid_t group) {
  for (size_t i = 0; i < COUNT(groups); i++) {
    if (groups[i].gr_gid == group) return &groups[i];
  }
  return NULL;
}

char *getlogin(void) { return users[1].pw_name; }

uid_t getuid(void) { return USER; }
uid_t geteuid(void) { return USER; }
gid_t getgid(void) { return USER; }
gid_t getegid(void) { return USER; }

int getgroups(int room, gid_t *list) {
  if (room > 0) list[0] = USER;
  return 1;
}

static int fails(int error) {
  errno = error;
  return -1;
}

// Who is not root becomes nobody else.
static int become(unsigned who) { return who == USER ? 0 : fails(EPERM); }

int setuid(uid_t user) { return become(user); }
int seteuid(uid_t user) { return become(user); }
int setgid(gid_t group) { return become(group); }
int setegid(gid_t group) { return become(group); }

int initgroups(const char *user, gid_t group) {
  (void)user, (void)group;
  return fails(EPERM);
}

pid_t getppid(void) { return FIRST_PROCESS; }
pid_t getpgrp(void) { return FIRST_PROCESS; }

static pid_t first_process_of(pid_t process) { return process == 0 || process == getpid() ? FIRST_PROCESS : fails(ESRCH); }

pid_t getpgid(pid_t process) { return first_process_of(process); }
pid_t getsid(pid_t process) { return first_process_of(process); }
pid_t setsid(void) { return fails(EPERM); }

int setpgid(pid_t process, pid_t group) {
  (void)process, (void)group;
  return fails(EPERM);
}

char *ctermid(char *room) {
  static char name[] = "/dev/tty";
  return room ? strcpy(room, name) : name;
}

char *ttyname(int file) {
  (void)file;
  errno = ENOTTY;
  return NULL;
}

int mkfifo(const char *path, mode_t mode) {
  (void)path, (void)mode;
  return fails(ENOSYS);
}

int mknod(const char *path, mode_t mode, dev_t device) {
  (void)path, (void)mode, (void)device;
  return fails(ENOSYS);
}

int uname(struct utsname *name) {
  *name = (struct utsname){
      .sysname = "Linux",
      .nodename = "dormouse",
      .release = "5.15.0-sandbox",
      .version = "#1 SMP PREEMPT sandbox",
      .machine = "wasm32",
  };
  return 0;
}
