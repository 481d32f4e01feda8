// Waiting for several connections at once: `poll` and `select`. A descriptor that is no connection is a file, which is always ready.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/select.h>
#include <time.h>

#include "net.h"

#define SECOND 1000000000

// What the host waits for at one time.
#define MOST 1024

// One descriptor that is waited for, and, afterwards, what it is ready for.
typedef struct {
  int number;
  bool reads, writes;
} asked;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

static size_t mark(net_interest *interests, size_t count, const dormouse_sandbox_net_list_ready_t *ready) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    bool reads = false, writes = false;
    for (size_t j = 0; j < ready->len; j++) {
      if (ready->ptr[j].connection != interests[i].connection) continue;
      reads |= ready->ptr[j].reads;
      writes |= ready->ptr[j].writes;
    }
    interests[i].reads &= reads;
    interests[i].writes &= writes;
    found += interests[i].reads || interests[i].writes;
  }
  return found;
}

size_t net_wait(net_interest *interests, size_t count, int64_t nanoseconds) {
  int64_t end = nanoseconds < 0 ? -1 : now() + nanoseconds;
  for (;;) {
    dormouse_sandbox_net_list_interest_t list = {interests, count};
    dormouse_sandbox_net_wanted_t wanted = {.nanoseconds = {nanoseconds >= 0, (uint64_t)nanoseconds}};
    dormouse_sandbox_net_happened_t happened;
    dormouse_sandbox_net_wait(&list, &wanted, &happened);
    // Answers can only be those of calls that a fatal error has ended.
    bool is_over = happened.ready.len || !happened.answers.len;
    if (nanoseconds >= 0) nanoseconds = end - now();
    is_over |= end >= 0 && nanoseconds <= 0;
    size_t found = is_over ? mark(interests, count, &happened.ready) : 0;
    dormouse_sandbox_net_happened_free(&happened);
    if (is_over) return found;
  }
}

// What is known of a descriptor without the host: all of it, unless it has a connection, whose interest is then set.
static bool is_known(asked *one, net_interest *interest) {
  if (!one->reads && !one->writes) return true;
  if (!net_is_socket(one->number) || !net_connected(one->number, &interest->connection)) return true;
  interest->reads = one->reads;
  interest->writes = one->writes;
  return false;
}

// Waits for all of them. How many are ready, or -1.
static int wait_for(asked *all, size_t count, int64_t nanoseconds) {
  net_interest *interests = calloc(count, sizeof *interests);
  if (!interests) return net_refuse(ENOMEM, "there is no memory to wait for so many connections");
  size_t waiting = 0;
  for (size_t i = 0; i < count && waiting < MOST; i++) {
    bool asks = all[i].reads || all[i].writes;
    bool is_ready = is_known(&all[i], &interests[waiting]) ? asks : (waiting++, all[i].reads && net_has_bytes(all[i].number));
    if (is_ready) nanoseconds = 0;
  }
  if (waiting == MOST) {
    free(interests);
    return net_refuse(EINVAL, "at most 1023 connections can be waited for");
  }
  if (waiting || nanoseconds) net_wait(interests, waiting, nanoseconds);
  int ready = 0;
  for (size_t i = 0, at = 0; i < count; i++) {
    net_interest unused;
    if (!is_known(&all[i], &unused)) {
      const net_interest *found = &interests[at++];
      all[i].reads = found->reads || (all[i].reads && net_has_bytes(all[i].number));
      all[i].writes = found->writes;
    }
    ready += all[i].reads || all[i].writes;
  }
  free(interests);
  return ready;
}

int __real_poll(struct pollfd *files, nfds_t count, int milliseconds);

int __wrap_poll(struct pollfd *files, nfds_t count, int milliseconds) {
  bool has_socket = false;
  for (nfds_t i = 0; i < count; i++) has_socket |= net_is_socket(files[i].fd);
  if (!has_socket) return __real_poll(files, count, milliseconds);
  asked *all = calloc(count, sizeof *all);
  if (!all) return net_refuse(ENOMEM, "there is no memory to wait for so many connections");
  for (nfds_t i = 0; i < count; i++) {
    bool is_meant = files[i].fd >= 0;
    all[i] = (asked){files[i].fd, is_meant && files[i].events & POLLIN, is_meant && files[i].events & POLLOUT};
  }
  int ready = wait_for(all, count, milliseconds < 0 ? -1 : (int64_t)milliseconds * (SECOND / 1000));
  for (nfds_t i = 0; i < count; i++) {
    files[i].revents = (short)((ready > 0 && all[i].reads ? POLLIN : 0) | (ready > 0 && all[i].writes ? POLLOUT : 0));
  }
  free(all);
  return ready;
}

// Keeps of a set what is ready. How many there are.
static int keep(fd_set *set, const asked *all, size_t count, bool reads) {
  if (!set) return 0;
  int kept = 0;
  FD_ZERO(set);
  for (size_t i = 0; i < count; i++) {
    if (!(reads ? all[i].reads : all[i].writes)) continue;
    FD_SET(all[i].number, set);
    kept++;
  }
  return kept;
}

int __real_select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *time);

int __wrap_select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *time) {
  size_t most = (reads ? reads->__nfds : 0) + (writes ? writes->__nfds : 0), total = 0;
  asked *all = calloc(most + 1, sizeof *all);
  if (!all) return net_refuse(ENOMEM, "there is no memory to wait for so many connections");
  bool has_socket = false;
  for (size_t i = 0; reads && i < reads->__nfds; i++) all[total++] = (asked){.number = reads->__fds[i], .reads = true};
  for (size_t i = 0; writes && i < writes->__nfds; i++) all[total++] = (asked){.number = writes->__fds[i], .writes = true};
  for (size_t i = 0; i < total; i++) has_socket |= net_is_socket(all[i].number);
  for (size_t i = 0; others && i < others->__nfds; i++) has_socket |= net_is_socket(others->__fds[i]);
  int ready;
  if (has_socket) {
    // More than two years are for ever.
    bool is_long = !time || time->tv_sec > INT32_MAX / 32;
    ready = wait_for(all, total, is_long ? -1 : (int64_t)time->tv_sec * SECOND + time->tv_usec * 1000);
    if (ready >= 0) ready = keep(reads, all, total, true) + keep(writes, all, total, false);
    // Nothing comes out of band.
    if (others) FD_ZERO(others);
  } else {
    ready = __real_select(count, reads, writes, others, time);
  }
  free(all);
  return ready;
}
