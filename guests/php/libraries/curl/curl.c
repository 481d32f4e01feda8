// libcurl's interface where there is no network: PHP's extension and the programs that use it find all of it, options are taken, and
// each transfer fails with the words that every language here has for it. What needs no network (lists, parts of forms,
// escapes) works.
#include <curl/curl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_NETWORK "no network in this sandbox"

// The names of these are functions and macros that look at the types of their arguments.
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt
#undef curl_share_setopt

typedef struct easy {
  char *url, *error;
  void *private;
  // In a list of a multi handle.
  struct easy *next;
  struct multi *in;
  bool done, told;
  CURLcode result;
  CURLMsg message;
} easy;

typedef struct multi {
  easy *first;
} multi;

CURLcode curl_global_init(long flags) {
  (void)flags;
  return CURLE_OK;
}

void curl_global_cleanup(void) {}
void curl_free(void *memory) { free(memory); }

curl_version_info_data *curl_version_info(CURLversion age) {
  static const char *const protocols[] = {"http", "https", NULL};
  static const char *const features[] = {NULL};
  static curl_version_info_data known = {
      .age = CURLVERSION_NOW,
      .version = LIBCURL_VERSION,
      .version_num = LIBCURL_VERSION_NUM,
      .host = "wasm32-wasi",
      .protocols = protocols,
      .feature_names = features,
  };
  (void)age;
  return &known;
}

// One transfer.

CURL *curl_easy_init(void) { return calloc(1, sizeof(easy)); }

static void set_text(char **to, const char *text) {
  free(*to);
  *to = text ? strdup(text) : NULL;
}

CURLcode curl_easy_setopt(CURL *curl, CURLoption option, ...) {
  easy *handle = curl;
  if (!handle) return CURLE_BAD_FUNCTION_ARGUMENT;
  va_list arguments;
  va_start(arguments, option);
  CURLcode result = CURLE_OK;
  switch (option) {
    case CURLOPT_URL:
      set_text(&handle->url, va_arg(arguments, const char *));
      break;
    case CURLOPT_ERRORBUFFER:
      handle->error = va_arg(arguments, char *);
      break;
    case CURLOPT_PRIVATE:
      handle->private = va_arg(arguments, void *);
      break;
    default:
      if (option <= 0 || option >= CURLOPTTYPE_BLOB + 10000) result = CURLE_UNKNOWN_OPTION;
  }
  va_end(arguments);
  return result;
}

static CURLcode failed(easy *handle, CURLcode code, const char *why) {
  if (handle->error) {
    strncpy(handle->error, why, CURL_ERROR_SIZE - 1);
    handle->error[CURL_ERROR_SIZE - 1] = 0;
  }
  return code;
}

CURLcode curl_easy_perform(CURL *curl) {
  easy *handle = curl;
  if (!handle) return CURLE_BAD_FUNCTION_ARGUMENT;
  const char *url = handle->url, *scheme = url ? strstr(url, "://") : NULL;
  if (!url || !*url) return failed(handle, CURLE_URL_MALFORMAT, "No URL set");
  // Without a scheme it is a host's name.
  size_t length = scheme ? (size_t)(scheme - url) : 0;
  bool web = (length == 4 && curl_strnequal(url, "http", 4)) || (length == 5 && curl_strnequal(url, "https", 5));
  if (length && !web) {
    char why[CURL_ERROR_SIZE];
    snprintf(why, sizeof why, "Protocol \"%.*s\" not supported", (int)(length < 64 ? length : 64), url);
    return failed(handle, CURLE_UNSUPPORTED_PROTOCOL, why);
  }
  const char *host = scheme ? scheme + 3 : url;
  if (!*host || *host == '/' || strpbrk(host, " \r\n")) {
    return failed(handle, CURLE_URL_MALFORMAT, "URL rejected: Malformed input to a URL function");
  }
  return failed(handle, CURLE_COULDNT_CONNECT, NO_NETWORK);
}

CURLcode curl_easy_getinfo(CURL *curl, CURLINFO info, ...) {
  easy *handle = curl;
  if (!handle) return CURLE_BAD_FUNCTION_ARGUMENT;
  va_list arguments;
  va_start(arguments, info);
  void *to = va_arg(arguments, void *);
  va_end(arguments);
  switch (info & CURLINFO_TYPEMASK) {
    case CURLINFO_STRING:
      *(char **)to = info == CURLINFO_PRIVATE         ? handle->private
                     : info == CURLINFO_EFFECTIVE_URL ? (handle->url ? handle->url : "")
                                                      : NULL;
      return CURLE_OK;
    case CURLINFO_LONG:
      *(long *)to = info == CURLINFO_FILETIME ? -1 : 0;
      return CURLE_OK;
    case CURLINFO_DOUBLE:
      *(double *)to = 0;
      return CURLE_OK;
    case CURLINFO_SLIST:
      *(void **)to = NULL;
      return CURLE_OK;
    case CURLINFO_OFF_T:
      *(curl_off_t *)to = info == CURLINFO_FILETIME_T ? -1 : 0;
      return CURLE_OK;
    default:
      return CURLE_UNKNOWN_OPTION;
  }
}

void curl_easy_cleanup(CURL *curl) {
  easy *handle = curl;
  if (!handle) return;
  if (handle->in) curl_multi_remove_handle(handle->in, handle);
  free(handle->url);
  free(handle);
}

CURL *curl_easy_duphandle(CURL *curl) {
  easy *from = curl, *to = curl_easy_init();
  if (!to) return NULL;
  set_text(&to->url, from->url);
  to->error = from->error;
  to->private = from->private;
  return to;
}

void curl_easy_reset(CURL *curl) {
  easy *handle = curl;
  set_text(&handle->url, NULL);
  handle->error = NULL;
  handle->private = NULL;
}

CURLcode curl_easy_pause(CURL *curl, int what) {
  (void)curl, (void)what;
  return CURLE_OK;
}

CURLcode curl_easy_upkeep(CURL *curl) {
  (void)curl;
  return CURLE_OK;
}

const char *curl_easy_strerror(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return "No error";
    case CURLE_UNSUPPORTED_PROTOCOL:
      return "Unsupported protocol";
    case CURLE_URL_MALFORMAT:
      return "URL using bad/illegal format or missing URL";
    case CURLE_COULDNT_RESOLVE_HOST:
      return "Could not resolve hostname";
    case CURLE_COULDNT_CONNECT:
      return "Could not connect to server";
    case CURLE_OPERATION_TIMEDOUT:
      return "Timeout was reached";
    case CURLE_SSL_CONNECT_ERROR:
      return "SSL connect error";
    case CURLE_BAD_FUNCTION_ARGUMENT:
      return "A libcurl function was given a bad argument";
    case CURLE_UNKNOWN_OPTION:
      return "An unknown option was passed in to libcurl";
    default:
      return "Unknown error";
  }
}

// Escapes of addresses.

char *curl_easy_escape(CURL *curl, const char *text, int length) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", digits[] = "0123456789ABCDEF";
  (void)curl;
  if (!text || length < 0) return NULL;
  size_t count = length ? (size_t)length : strlen(text);
  char *made = malloc(count * 3 + 1), *next = made;
  if (!made) return NULL;
  for (size_t i = 0; i < count; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte && strchr(plain, byte)) {
      *next++ = (char)byte;
    } else {
      *next++ = '%';
      *next++ = digits[byte >> 4];
      *next++ = digits[byte & 15];
    }
  }
  *next = 0;
  return made;
}

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if ((c | 32) >= 'a' && (c | 32) <= 'f') return (c | 32) - 'a' + 10;
  return -1;
}

char *curl_easy_unescape(CURL *curl, const char *text, int length, int *made_length) {
  (void)curl;
  if (!text || length < 0) return NULL;
  size_t count = length ? (size_t)length : strlen(text);
  char *made = malloc(count + 1), *next = made;
  if (!made) return NULL;
  for (size_t i = 0; i < count; i++) {
    if (text[i] == '%' && i + 2 < count && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      *next++ = (char)(digit(text[i + 1]) << 4 | digit(text[i + 2]));
      i += 2;
    } else {
      *next++ = text[i];
    }
  }
  *next = 0;
  if (made_length) *made_length = (int)(next - made);
  return made;
}

int curl_strnequal(const char *a, const char *b, size_t most) { return strncasecmp(a, b, most) == 0; }

// Lists of texts.

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text) {
  struct curl_slist *last = list, *added = calloc(1, sizeof *added);
  if (!added || !(added->data = strdup(text))) {
    free(added);
    return NULL;
  }
  if (!list) return added;
  while (last->next) last = last->next;
  last->next = added;
  return list;
}

void curl_slist_free_all(struct curl_slist *list) {
  while (list) {
    struct curl_slist *next = list->next;
    free(list->data);
    free(list);
    list = next;
  }
}

// Forms: nobody reads them, but what a part holds is released with it.

struct curl_mimepart {
  struct curl_mimepart *next;
  curl_free_callback release;
  void *released;
};

struct curl_mime {
  struct curl_mimepart *first;
};

curl_mime *curl_mime_init(CURL *curl) {
  (void)curl;
  return calloc(1, sizeof(curl_mime));
}

curl_mimepart *curl_mime_addpart(curl_mime *form) {
  curl_mimepart *part = calloc(1, sizeof *part);
  if (!part) return NULL;
  part->next = form->first;
  form->first = part;
  return part;
}

void curl_mime_free(curl_mime *form) {
  if (!form) return;
  for (curl_mimepart *part = form->first, *next; part; part = next) {
    next = part->next;
    if (part->release) part->release(part->released);
    free(part);
  }
  free(form);
}

CURLcode curl_mime_data_cb(curl_mimepart *part, curl_off_t size, curl_read_callback read, curl_seek_callback seek,
                           curl_free_callback release, void *argument) {
  (void)size, (void)read, (void)seek;
  part->release = release;
  part->released = argument;
  return CURLE_OK;
}

#define TAKEN(name, ...)                        \
  CURLcode name(curl_mimepart *part, __VA_ARGS__) { \
    (void)part;                                 \
    return CURLE_OK;                            \
  }
TAKEN(curl_mime_name, const char *name)
TAKEN(curl_mime_filename, const char *name)
TAKEN(curl_mime_type, const char *type)
TAKEN(curl_mime_data, const char *bytes, size_t size)

// Several transfers at once.

CURLM *curl_multi_init(void) { return calloc(1, sizeof(multi)); }

CURLMcode curl_multi_add_handle(CURLM *many, CURL *curl) {
  multi *all = many;
  easy *handle = curl;
  if (handle->in) return CURLM_ADDED_ALREADY;
  handle->in = all;
  handle->done = handle->told = false;
  easy **last = &all->first;
  while (*last) last = &(*last)->next;
  *last = handle;
  handle->next = NULL;
  return CURLM_OK;
}

CURLMcode curl_multi_remove_handle(CURLM *many, CURL *curl) {
  easy *handle = curl;
  if (handle->in != many) return CURLM_BAD_EASY_HANDLE;
  easy **place = &((multi *)many)->first;
  while (*place != handle) place = &(*place)->next;
  *place = handle->next;
  handle->in = NULL;
  handle->next = NULL;
  return CURLM_OK;
}

CURLMcode curl_multi_perform(CURLM *many, int *running) {
  for (easy *handle = ((multi *)many)->first; handle; handle = handle->next) {
    if (handle->done) continue;
    handle->result = curl_easy_perform(handle);
    handle->done = true;
  }
  *running = 0;
  return CURLM_OK;
}

CURLMsg *curl_multi_info_read(CURLM *many, int *more) {
  easy *found = NULL;
  *more = 0;
  for (easy *handle = ((multi *)many)->first; handle; handle = handle->next) {
    if (!handle->done || handle->told) continue;
    if (found) {
      ++*more;
    } else {
      found = handle;
    }
  }
  if (!found) return NULL;
  found->told = true;
  found->message = (CURLMsg){.msg = CURLMSG_DONE, .easy_handle = found, .data.result = found->result};
  return &found->message;
}

CURLMcode curl_multi_wait(CURLM *many, struct curl_waitfd *files, unsigned count, int milliseconds, int *ready) {
  (void)many, (void)files, (void)count, (void)milliseconds;
  if (ready) *ready = 0;
  return CURLM_OK;
}

CURLMcode curl_multi_setopt(CURLM *many, CURLMoption option, ...) {
  (void)many, (void)option;
  return CURLM_OK;
}

// Of what a server sends unasked.
char *curl_pushheader_bynum(struct curl_pushheaders *headers, size_t number) {
  (void)headers, (void)number;
  return NULL;
}

CURLMcode curl_multi_cleanup(CURLM *many) {
  multi *all = many;
  while (all->first) curl_multi_remove_handle(all, all->first);
  free(all);
  return CURLM_OK;
}

const char *curl_multi_strerror(CURLMcode code) {
  switch (code) {
    case CURLM_CALL_MULTI_PERFORM:
      return "Please call curl_multi_perform() soon";
    case CURLM_OK:
      return "No error";
    case CURLM_BAD_HANDLE:
      return "Invalid multi handle";
    case CURLM_BAD_EASY_HANDLE:
      return "Invalid easy handle";
    case CURLM_ADDED_ALREADY:
      return "The easy handle is already added to a multi handle";
    case CURLM_UNKNOWN_OPTION:
      return "Unknown option";
    default:
      return "Unknown error";
  }
}

// What transfers would share.

CURLSH *curl_share_init(void) { return calloc(1, 1); }

CURLSHcode curl_share_setopt(CURLSH *share, CURLSHoption option, ...) {
  (void)share, (void)option;
  return CURLSHE_OK;
}

CURLSHcode curl_share_cleanup(CURLSH *share) {
  free(share);
  return CURLSHE_OK;
}

const char *curl_share_strerror(CURLSHcode code) {
  if (code == CURLSHE_OK) return "No error";
  return code == CURLSHE_BAD_OPTION ? "Unknown share option" : "Unknown error";
}
