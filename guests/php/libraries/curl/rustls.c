// In the place of libcurl's own file for rustls: it is the host that speaks TLS, with rustls. A handshake is a line to it, and its
// line in answer; what follows is in the clear between the two. The host trusts whom its operator trusts, whatever a program sets.
#include "curl_setup.h"

#include <errno.h>

// Before those that need its types.
#include "urldata.h"

#include "cfilters.h"
#include "connect.h"
#include "greeting.h"
#include "sendf.h"
#include "vtls.h"
#include "vtls_int.h"
// Last, as in every file of libcurl's.
#include "curl_printf.h"
#include "curl_memory.h"
#include "memdebug.h"

// A handshake under way.
struct shake {
  char line[GREETING_ROOM];
  // Of the line to the host, and how much of it has gone; or of the host's, as far as it has come.
  size_t length, sent;
  bool is_answer;
};

int driver_curl_code(int error) {
  switch (error) {
    case EHOSTUNREACH:
      return CURLE_COULDNT_RESOLVE_HOST;
    case ETIMEDOUT:
      return CURLE_OPERATION_TIMEDOUT;
    case EPROTO:
      return CURLE_PEER_FAILED_VERIFICATION;
    case ECONNRESET:
      return CURLE_RECV_ERROR;
    default:
      return CURLE_COULDNT_CONNECT;
  }
}

// The names of what may be spoken, with commas between them.
static void protocols_of(const struct ssl_connect_data *link, char *names, size_t room) {
  names[0] = 0;
  for (size_t i = 0; link->alpn && i < link->alpn->count; i++) {
    size_t length = strlen(names);
    msnprintf(names + length, room - length, "%s%s", i ? "," : "", link->alpn->entries[i]);
  }
}

static CURLcode begin(struct ssl_connect_data *link, struct shake *shake) {
  char protocols[ALPN_ENTRIES_MAX * (ALPN_NAME_MAX + 1) + 1];
  protocols_of(link, protocols, sizeof protocols);
  shake->length = greeting_write(shake->line, sizeof shake->line, link->peer.hostname, protocols);
  link->state = ssl_connection_negotiating;
  return shake->length ? CURLE_OK : CURLE_COULDNT_RESOLVE_HOST;
}

static CURLcode send_line(struct Curl_cfilter *filter, struct Curl_easy *data, struct shake *shake) {
  while (shake->sent < shake->length) {
    CURLcode result;
    ssize_t gone = Curl_conn_cf_send(filter->next, data, shake->line + shake->sent, shake->length - shake->sent, FALSE, &result);
    if (gone < 0) return result;
    shake->sent += (size_t)gone;
  }
  shake->length = 0;
  shake->is_answer = true;
  return CURLE_OK;
}

// One byte after another, so that nothing is taken of what follows. The socket has them already.
static CURLcode receive_line(struct Curl_cfilter *filter, struct Curl_easy *data, struct shake *shake) {
  while (!shake->length || shake->line[shake->length - 1] != '\n') {
    if (shake->length == sizeof shake->line) return CURLE_SSL_CONNECT_ERROR;
    CURLcode result;
    ssize_t came = Curl_conn_cf_recv(filter->next, data, shake->line + shake->length, 1, &result);
    if (came < 0) return result;
    if (!came) return CURLE_SSL_CONNECT_ERROR;
    shake->length++;
  }
  return CURLE_OK;
}

static CURLcode end(struct Curl_cfilter *filter, struct Curl_easy *data, struct shake *shake) {
  struct ssl_connect_data *link = filter->ctx;
  greeting_answer answer;
  if (!greeting_read(shake->line, shake->length - 1, &answer)) {
    failf(data, "the host's answer to the handshake cannot be read");
    return CURLE_SSL_CONNECT_ERROR;
  }
  if (!answer.done) {
    failf(data, "Failed to connect to %s port %d: %s", link->peer.dispname, link->peer.port, answer.message);
    return (CURLcode)driver_curl_code(answer.error);
  }
  link->state = ssl_connection_complete;
  size_t length = strlen(answer.protocol);
  return Curl_alpn_set_negotiated(filter, data, link, length ? (const unsigned char *)answer.protocol : NULL, length);
}

static CURLcode shake_hands(struct Curl_cfilter *filter, struct Curl_easy *data, bool *done) {
  struct ssl_connect_data *link = filter->ctx;
  struct shake *shake = link->backend;
  *done = FALSE;
  CURLcode result = CURLE_OK;
  if (link->state == ssl_connection_none) result = begin(link, shake);
  link->io_need = CURL_SSL_IO_NEED_SEND;
  if (!result && !shake->is_answer) result = send_line(filter, data, shake);
  if (!result) {
    link->io_need = CURL_SSL_IO_NEED_RECV;
    result = receive_line(filter, data, shake);
  }
  if (result == CURLE_AGAIN) return CURLE_OK;
  link->io_need = CURL_SSL_IO_NEED_NONE;
  if (!result) result = end(filter, data, shake);
  *done = !result;
  return result;
}

static ssize_t receive(struct Curl_cfilter *filter, struct Curl_easy *data, char *into, size_t room, CURLcode *result) {
  return Curl_conn_cf_recv(filter->next, data, into, room, result);
}

static ssize_t send_bytes(struct Curl_cfilter *filter, struct Curl_easy *data, const void *bytes, size_t size, CURLcode *result) {
  return Curl_conn_cf_send(filter->next, data, bytes, size, FALSE, result);
}

static CURLcode shut_down(struct Curl_cfilter *filter, struct Curl_easy *data, bool send_shutdown, bool *done) {
  (void)data, (void)send_shutdown;
  *done = filter->shutdown = TRUE;
  return CURLE_OK;
}

static void close_link(struct Curl_cfilter *filter, struct Curl_easy *data) { (void)filter, (void)data; }

static size_t version(char *text, size_t room) { return (size_t)msnprintf(text, room, "rustls"); }

static CURLcode random_bytes(struct Curl_easy *data, unsigned char *bytes, size_t size) {
  (void)data;
  arc4random_buf(bytes, size);
  return CURLE_OK;
}

static void *internals(struct ssl_connect_data *link, CURLINFO info) {
  (void)info;
  return link->backend;
}

const struct Curl_ssl Curl_ssl_rustls = {
    .info = {CURLSSLBACKEND_RUSTLS, "rustls"},
    // These are taken, and have no effect.
    .supports = SSLSUPP_CAINFO_BLOB | SSLSUPP_CA_PATH | SSLSUPP_CIPHER_LIST | SSLSUPP_TLS13_CIPHERSUITES,
    .sizeof_ssl_backend_data = sizeof(struct shake),
    .version = version,
    .shut_down = shut_down,
    .random = random_bytes,
    .do_connect = shake_hands,
    .adjust_pollset = Curl_ssl_adjust_pollset,
    .get_internals = internals,
    .close = close_link,
    .recv_plain = receive,
    .send_plain = send_bytes,
};
