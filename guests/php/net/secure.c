// PHP's transports for TLS, and its wrapper for https: sockets on which the host is told to speak TLS. The options of a context that
// loosen what is checked are taken, and change nothing: the host checks certificates.
#include <errno.h>
#include <time.h>

#include "php.h"

#include "ext/standard/file.h"
#include "ext/standard/php_fopen_wrappers.h"
#include "php_network.h"
#include "php_streams.h"

#include "greeting.h"
#include "net.h"

// A handshake under way: of the line to the host, and how much of it has gone; or of the host's, as far as it has come.
typedef struct {
  char line[GREETING_ROOM];
  size_t length, sent;
  bool is_answer;
} shake;

typedef struct {
  // First, because PHP's functions for sockets are used on it.
  php_netstream_data_t plain;
  // TLS begins when it is connected.
  bool at_once;
  bool is_secure;
  struct timeval to_connect;
  shake *shaking;
  char protocol[32];
} secure_stream;

// The bit of a method that PHP has for clients.
#define IS_CLIENT 1

// PHP's own for sockets, with what differs.
static php_stream_ops secure_ops;

static zval *option_of(php_stream *stream, const char *name) {
  return PHP_STREAM_CONTEXT(stream) ? php_stream_context_get_option(PHP_STREAM_CONTEXT(stream), "ssl", name) : NULL;
}

static const char *text_of(php_stream *stream, const char *name, const char *otherwise) {
  zval *value = option_of(stream, name);
  return value && Z_TYPE_P(value) == IS_STRING && Z_STRLEN_P(value) ? Z_STRVAL_P(value) : otherwise;
}

static void drop_shake(php_stream *stream, secure_stream *link) {
  if (link->shaking) pefree(link->shaking, php_stream_is_persistent(stream));
  link->shaking = NULL;
}

static bool begin(php_stream *stream, secure_stream *link) {
  const char *host = net_host(link->plain.socket);
  if (!host) return false;
  shake *made = pecalloc(1, sizeof *made, php_stream_is_persistent(stream));
  link->shaking = made;
  const char *name = text_of(stream, "peer_name", host);
  made->length = greeting_write(made->line, sizeof made->line, name, text_of(stream, "alpn_protocols", "http/1.1"));
  if (!made->length) php_error_docref(NULL, E_WARNING, "SSL: the name of the peer cannot be one");
  return made->length;
}

// A step of the handshake without waiting: what is waited for next, 0 when the host has answered, -1 if it did not.
static int step(secure_stream *link) {
  shake *now = link->shaking;
  while (!now->is_answer) {
    ssize_t gone = send(link->plain.socket, now->line + now->sent, now->length - now->sent, MSG_DONTWAIT);
    if (gone < 0) return errno == EAGAIN ? POLLOUT : -1;
    now->sent += (size_t)gone;
    if (now->sent < now->length) continue;
    now->is_answer = true;
    now->length = 0;
  }
  // One byte after another, so that nothing is taken of what follows. The socket has them already.
  while (!now->length || now->line[now->length - 1] != '\n') {
    if (now->length == sizeof now->line) return net_refuse(EPROTO, "the host's answer to the handshake has no end");
    ssize_t came = recv(link->plain.socket, now->line + now->length, 1, MSG_DONTWAIT);
    if (came < 0) return errno == EAGAIN ? POLLIN : -1;
    if (!came) return net_refuse(ECONNRESET, "the connection ended within the handshake");
    now->length++;
  }
  return 0;
}

static int64_t milliseconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// Goes on with the handshake as long as it can, or may wait. As `step` says.
static int advance(secure_stream *link, bool may_wait) {
  int64_t most = (int64_t)link->to_connect.tv_sec * 1000 + link->to_connect.tv_usec / 1000, end = milliseconds_now() + most;
  for (;;) {
    int events = step(link);
    if (events <= 0 || !may_wait) return events;
    int64_t left = most > 0 ? end - milliseconds_now() : INT_MAX;
    if (left <= 0) return net_refuse(ETIMEDOUT, "SSL: Handshake timed out");
    php_pollfd_for_ms(link->plain.socket, events, (int)MIN(left, INT_MAX));
  }
}

// Reads what the host answered. False: it refused.
static bool end(secure_stream *link) {
  greeting_answer answer;
  if (!greeting_read(link->shaking->line, link->shaking->length - 1, &answer)) {
    net_refuse(EPROTO, "the host's answer to the handshake cannot be read");
    return false;
  }
  if (!answer.done) {
    net_refuse(answer.error, answer.message);
    return false;
  }
  strlcpy(link->protocol, answer.protocol, sizeof link->protocol);
  return true;
}

static void tell_failure(int error) {
  char why[512];
  driver_socket_error(error, why, sizeof why);
  // The words by which programs know this of OpenSSL.
  const char *known = error == EPROTO ? "certificate verify failed: " : "";
  php_error_docref(NULL, E_WARNING, "SSL operation failed: %s%s", known, why);
}

// 1: TLS is spoken from here on; 0: not yet, and the stream does not wait; -1: the host refused.
static int enable(php_stream *stream, secure_stream *link) {
  if (!link->shaking && !begin(stream, link)) return -1;
  int next = advance(link, link->plain.is_blocked);
  if (next > 0) return 0;
  link->is_secure = next == 0 && end(link);
  int error = errno;
  drop_shake(stream, link);
  if (link->is_secure) return 1;
  tell_failure(error);
  errno = error;
  return -1;
}

static void crypto(php_stream *stream, secure_stream *link, php_stream_xport_crypto_param *wanted) {
  wanted->outputs.returncode = -1;
  if (wanted->op == STREAM_XPORT_CRYPTO_OP_SETUP) {
    if (!(wanted->inputs.method & IS_CLIENT)) {
      php_error_docref(NULL, E_WARNING, "programs in this sandbox are no servers");
    } else if (link->is_secure && link->plain.is_blocked) {
      php_error_docref(NULL, E_WARNING, "SSL/TLS already set-up for this stream");
    } else {
      wanted->outputs.returncode = 0;
    }
  } else if (wanted->inputs.activate && !link->is_secure) {
    wanted->outputs.returncode = enable(stream, link);
  }
}

static void connected(php_stream *stream, secure_stream *link, php_stream_xport_param *wanted) {
  if (wanted->outputs.returncode < 0 || !link->at_once) return;
  if (enable(stream, link) >= 0) return;
  int error = errno;
  php_error_docref(NULL, E_WARNING, "Failed to enable crypto");
  wanted->outputs.returncode = -1;
  wanted->outputs.error_code = error;
  if (!wanted->want_errortext) return;
  if (wanted->outputs.error_text) zend_string_release(wanted->outputs.error_text);
  char why[512];
  driver_socket_error(error, why, sizeof why);
  wanted->outputs.error_text = zend_string_init(why, strlen(why), 0);
}

static void add_crypto(zval *all, const secure_stream *link) {
  zval told;
  array_init(&told);
  // Which it is of TLS's versions is between the host and the server.
  add_assoc_string(&told, "protocol", "UNKNOWN");
  if (*link->protocol) add_assoc_string(&told, "alpn_protocol", link->protocol);
  add_assoc_zval(all, "crypto", &told);
}

static int set_option(php_stream *stream, int option, int value, void *with) {
  secure_stream *link = stream->abstract;
  if (option == PHP_STREAM_OPTION_CRYPTO_API) {
    crypto(stream, link, with);
    return PHP_STREAM_OPTION_RETURN_OK;
  }
  if (option == PHP_STREAM_OPTION_META_DATA_API && link->is_secure) add_crypto(with, link);
  int result = php_stream_socket_ops.set_option(stream, option, value, with);
  if (option == PHP_STREAM_OPTION_XPORT_API) {
    php_stream_xport_param *wanted = with;
    if (wanted->op == STREAM_XPORT_OP_CONNECT || wanted->op == STREAM_XPORT_OP_CONNECT_ASYNC) connected(stream, link, wanted);
  }
  return result;
}

static int close_stream(php_stream *stream, int close_handle) {
  drop_shake(stream, stream->abstract);
  return php_stream_socket_ops.close(stream, close_handle);
}

static php_stream *open_stream(const char *protocol, size_t protocol_length, const char *name, size_t name_length,
                               const char *persistent, int options, int flags, struct timeval *timeout,
                               php_stream_context *context STREAMS_DC) {
  (void)name, (void)name_length, (void)options, (void)flags, (void)context;
  secure_stream *link = pecalloc(1, sizeof *link, persistent != NULL);
  link->plain.socket = -1;
  link->plain.is_blocked = true;
  link->plain.timeout.tv_sec = FG(default_socket_timeout);
  link->to_connect = *timeout;
  link->at_once = protocol_length < 3 || strncmp(protocol, "tcp", protocol_length) != 0;
  return php_stream_alloc_rel(&secure_ops, link, persistent, "r+");
}

void secure_start(void) {
  static const char *const names[] = {"ssl", "tls", "tlsv1.0", "tlsv1.1", "tlsv1.2", "tlsv1.3", "tcp"};
  secure_ops = php_stream_socket_ops;
  secure_ops.label = "tcp_socket/ssl";
  secure_ops.close = close_stream;
  secure_ops.set_option = set_option;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) php_stream_xport_register(names[i], open_stream);
  php_register_url_stream_wrapper("https", &php_stream_http_wrapper);
}
