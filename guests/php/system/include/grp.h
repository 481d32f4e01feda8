// Groups of users: `system/users.c` knows them.
#ifndef DORMOUSE_GRP_H
#define DORMOUSE_GRP_H

#include <sys/types.h>

struct group {
  char *gr_name, *gr_passwd;
  gid_t gr_gid;
  char **gr_mem;
};

struct group *getgrgid(gid_t);
struct group *getgrnam(const char *);
int initgroups(const char *, gid_t);

#endif
