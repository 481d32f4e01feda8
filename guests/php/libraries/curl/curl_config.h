// What libcurl's own build would find out: a system of sockets with numbers, names and no threads, and only HTTP. The host does
// TLS, with rustls.
#ifndef DORMOUSE_CURL_CONFIG_H
#define DORMOUSE_CURL_CONFIG_H

#define CURL_OS "wasm32-wasi"

// What the gate does not carry, or nobody speaks through it.
#define CURL_DISABLE_ALTSVC 1
#define CURL_DISABLE_DICT 1
#define CURL_DISABLE_DOH 1
#define CURL_DISABLE_FILE 1
#define CURL_DISABLE_FTP 1
#define CURL_DISABLE_GOPHER 1
#define CURL_DISABLE_HSTS 1
#define CURL_DISABLE_IMAP 1
#define CURL_DISABLE_LDAP 1
#define CURL_DISABLE_LDAPS 1
#define CURL_DISABLE_MQTT 1
#define CURL_DISABLE_NTLM 1
#define CURL_DISABLE_POP3 1
#define CURL_DISABLE_RTSP 1
#define CURL_DISABLE_SMB 1
#define CURL_DISABLE_SMTP 1
#define CURL_DISABLE_SOCKETPAIR 1
#define CURL_DISABLE_TELNET 1
#define CURL_DISABLE_TFTP 1
#define CURL_DISABLE_WEBSOCKETS 1

#define USE_RUSTLS 1

#define HAVE_ARC4RANDOM 1
#define HAVE_ARPA_INET_H 1
#define HAVE_BASENAME 1
#define HAVE_BOOL_T 1
#define HAVE_CLOCK_GETTIME_MONOTONIC 1
#define HAVE_DECL_FSEEKO 1
#define HAVE_DIRENT_H 1
#define HAVE_FCNTL 1
#define HAVE_FCNTL_H 1
#define HAVE_FCNTL_O_NONBLOCK 1
#define HAVE_FNMATCH 1
#define HAVE_FSEEKO 1
#define HAVE_FTRUNCATE 1
#define HAVE_GETPEERNAME 1
#define HAVE_GETSOCKNAME 1
#define HAVE_GETTIMEOFDAY 1
#define HAVE_GMTIME_R 1
#define HAVE_INET_NTOP 1
#define HAVE_INET_PTON 1
#define HAVE_INTTYPES_H 1
#define HAVE_LIBGEN_H 1
#define HAVE_LIBZ 1
#define HAVE_LOCALE_H 1
#define HAVE_LONGLONG 1
#define HAVE_MEMRCHR 1
#define HAVE_NETDB_H 1
#define HAVE_NETINET_IN_H 1
#define HAVE_OPENDIR 1
#define HAVE_POLL 1
#define HAVE_POLL_H 1
#define HAVE_POSIX_STRERROR_R 1
#define HAVE_PWD_H 1
#define HAVE_RECV 1
#define HAVE_SA_FAMILY_T 1
#define HAVE_SELECT 1
#define HAVE_SEND 1
#define HAVE_SNPRINTF 1
#define HAVE_SOCKET 1
#define HAVE_STDATOMIC_H 1
#define HAVE_STDBOOL_H 1
#define HAVE_STDINT_H 1
#define HAVE_STRCASECMP 1
#define HAVE_STRDUP 1
#define HAVE_STRERROR_R 1
#define HAVE_STRINGS_H 1
#define HAVE_STRUCT_SOCKADDR_STORAGE 1
#define HAVE_STRUCT_TIMEVAL 1
#define HAVE_SUSECONDS_T 1
#define HAVE_SYS_PARAM_H 1
#define HAVE_SYS_SELECT_H 1
#define HAVE_SYS_SOCKET_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_UNISTD_H 1
#define STDC_HEADERS 1

// Errors of sockets in the host's words (net/problems.c).
#include <string.h>

const char *driver_refusal(int error, const char *otherwise);
int driver_socket_error(long error, char *text, size_t room);
const char *driver_unreachable(const char *header, size_t length);
#define strerror_r driver_socket_error

// The number of libcurl's for one of libc's (rustls.c).
int driver_curl_code(int error);

#define SIZEOF_CURL_OFF_T 8
#define SIZEOF_CURL_SOCKET_T 4
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_OFF_T 8
#define SIZEOF_SIZE_T 4
#define SIZEOF_TIME_T 8

#endif
