// How PHP reaches the network: connections of the host (wit/net.wit) under numbers of descriptors, names under addresses of their
// own. PHP's streams and libcurl are built on sockets, and find them here.
#ifndef DORMOUSE_PHP_NET_H
#define DORMOUSE_PHP_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest.h"

typedef dormouse_sandbox_net_connection_t net_connection;
typedef dormouse_sandbox_net_problem_t net_problem;
typedef dormouse_sandbox_net_interest_t net_interest;

// Bytes that the host gives or takes in one call.
#define NET_PIECE 65536

// problems.c: why the last call failed.

// Sets `errno`, and keeps a sentence that PHP and libcurl show with it. -1, as a call that fails.
int net_refuse(int error, const char *why);
// The same for what the host said, which it releases.
int net_failed(net_problem *why);
// The sentence that belongs to a number of libc's; else what libc calls it.
int driver_socket_error(long error, char *text, size_t room);

// names.c: each name has an address in 198.18.0.0/15, which means something here alone: the host hears the name.

// The name that an address stands for, or NULL.
const char *net_name(struct in_addr address);

// sockets.c

// Whether there is a socket of this number.
bool net_is_socket(int number);
// What it is connected to, as the host was told. NULL: it is not.
const char *net_host(int number);
// Ends it. False: there is none.
bool net_close(int number);
// Its flags, as of `fcntl`.
int net_flags(int number);
void net_set_flags(int number, int flags);
// Its connection. False: it has none.
bool net_connected(int number, net_connection *connection);
// Whether bytes, or their end, can be read without the host.
bool net_has_bytes(int number);

// waits.c

// Waits until a connection is ready, or that many nanoseconds, below 0 for ever. Leaves what each is ready for. How many are.
size_t net_wait(net_interest *interests, size_t count, int64_t nanoseconds);

// secure.c: PHP's transports for TLS, and its wrapper for https. Part of its start.
void secure_start(void);

#endif
