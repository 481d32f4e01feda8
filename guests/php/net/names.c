// Names of hosts. Programs that look a name up before they connect get an address for it, and connect to that; the host hears the
// name, and looks it up itself if a rule allows it.
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net.h"

// Of 198.18.0.0/15, which is reserved for tests of networks, so that it is nobody's.
#define FIRST 0xc6120000u
// Names that have an address at one time. Where a name lies is its address.
#define PLACES 16384
// Bytes of the longest name.
#define LONGEST 253

static char **names;

static bool is_text(const char *name, size_t length) {
  for (size_t i = 0; i < length; i++) {
    // The host takes text only, and names are ASCII.
    if ((unsigned char)name[i] <= ' ' || (unsigned char)name[i] >= 0x7f) return false;
  }
  return true;
}

static uint32_t place_of(const char *name) {
  uint32_t hash = 2166136261u;
  for (; *name; name++) hash = (hash ^ (uint32_t)(*name | 32)) * 16777619u;
  return hash % PLACES;
}

static bool address_of(const char *name, struct in_addr *address) {
  size_t length = strlen(name);
  if (!length || length > LONGEST || !is_text(name, length)) return false;
  if (!names && !(names = calloc(PLACES, sizeof *names))) return false;
  for (uint32_t tried = 0, place = place_of(name); tried < PLACES; tried++, place = (place + 1) % PLACES) {
    if (!names[place] && !(names[place] = strdup(name))) return false;
    if (strcasecmp(names[place], name) != 0) continue;
    // Not one that ends with 0, which some take for a network.
    address->s_addr = htonl(FIRST + 1 + place / 255 * 256 + place % 255);
    return true;
  }
  return false;
}

const char *net_name(struct in_addr address) {
  uint32_t number = ntohl(address.s_addr) - FIRST;
  if (!names || number >= (PLACES / 255 + 1) * 256 || number % 256 == 0) return NULL;
  uint32_t place = number / 256 * 255 + number % 256 - 1;
  return place < PLACES ? names[place] : NULL;
}

static struct hostent *found(const char *name, struct in_addr address) {
  static char kept[LONGEST + 1], *none[] = {NULL}, *addresses[2];
  static struct in_addr kept_address;
  static struct hostent host = {kept, none, AF_INET, sizeof kept_address, addresses};
  strlcpy(kept, name, sizeof kept);
  kept_address = address;
  addresses[0] = (char *)&kept_address;
  return &host;
}

struct hostent *gethostbyname(const char *name) {
  struct in_addr address;
  if (inet_pton(AF_INET, name, &address) == 1 || address_of(name, &address)) return found(name, address);
  h_errno = HOST_NOT_FOUND;
  errno = ENOENT;
  return NULL;
}

struct hostent *gethostbyaddr(const void *address, socklen_t length, int type) {
  struct in_addr number;
  if (type == AF_INET && length == sizeof number) {
    memcpy(&number, address, sizeof number);
    const char *name = net_name(number);
    if (name) return found(name, number);
  }
  h_errno = HOST_NOT_FOUND;
  return NULL;
}
