// Names of hosts and services: none is known.
#ifndef DORMOUSE_NETDB_H
#define DORMOUSE_NETDB_H

#include <netinet/in.h>
#include <sys/socket.h>

#define HOST_NOT_FOUND 1
#define TRY_AGAIN 2
#define NO_RECOVERY 3
#define NO_DATA 4
#define EAI_FAIL (-4)
#define NI_MAXHOST 255
#define NI_MAXSERV 32
#define NI_NUMERICHOST 1
#define NI_NUMERICSERV 2

struct hostent {
  char *h_name, **h_aliases;
  int h_addrtype, h_length;
  char **h_addr_list;
};
#define h_addr h_addr_list[0]

struct protoent {
  char *p_name, **p_aliases;
  int p_proto;
};

struct servent {
  char *s_name, **s_aliases;
  int s_port;
  char *s_proto;
};

extern int h_errno;
#define h_errno h_errno

struct hostent *gethostbyaddr(const void *, socklen_t, int);
struct hostent *gethostbyname(const char *);
int getnameinfo(const struct sockaddr *, socklen_t, char *, socklen_t, char *, socklen_t, int);
struct protoent *getprotobyname(const char *);
struct protoent *getprotobynumber(int);
struct servent *getservbyname(const char *, const char *);
struct servent *getservbyport(int, const char *);
const char *hstrerror(int);

#endif
