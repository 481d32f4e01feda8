// The address of a local socket, with the path that wasi-libc's own form leaves out.
#ifndef DORMOUSE_SOCKADDR_UN_H
#define DORMOUSE_SOCKADDR_UN_H

#include <__typedef_sa_family_t.h>

struct sockaddr_un {
  _Alignas(16) sa_family_t sun_family;
  char sun_path[108];
};

#endif
