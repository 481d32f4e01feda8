// Connections to the outside (wit/net.wit), by numbers of this guest's own. library/internal/network.js makes exchanges and sockets of them.
#include <stdlib.h>
#include <string.h>

#include "javascript.h"

typedef dormouse_sandbox_net_problem_t problem;
typedef dormouse_sandbox_net_ready_t ready;

// What the host takes and gives at one time, and the connections that it waits for at one time.
#define PIECE (64 << 10)
#define INTERESTS 1024

enum { READS, WRITES, WAYS };

typedef struct {
  uint32_t id;
  dormouse_sandbox_net_connection_t connection;
  // A run waits for it.
  bool waited_for;
  // What is called, once, when it can be read or written.
  bool watched[WAYS];
  deferred watch[WAYS];
} one_connection;

static one_connection *connections;
static size_t count, room, watches;
static uint32_t last_id;
// How many runs had connections and ended.
static uint32_t runs;

bool net_pending(void) { return watches > 0; }

bool net_waited_for(void) {
  for (size_t i = 0; watches && i < count; i++)
    if (connections[i].waited_for && (connections[i].watched[READS] || connections[i].watched[WRITES])) return true;
  return false;
}

// An error whose message is the host's sentence, and whose `trouble` is the word for it.
static JSValue throw_trouble(JSContext *ctx, uint8_t trouble, const char *sentence, size_t length) {
  static const char *const words[] = {"denied", "unknown-name", "refused",  "reset",    "closed",
                                      "timed-out", "untrusted", "protocol", "exhausted"};
  const char *word = trouble < sizeof words / sizeof *words ? words[trouble] : "protocol";
  JSValue thrown = JS_NewError(ctx);
  int flags = JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE;
  JS_DefinePropertyValueStr(ctx, thrown, "message", JS_NewStringLen(ctx, sentence, length), flags);
  JS_DefinePropertyValueStr(ctx, thrown, "trouble", JS_NewString(ctx, word), flags);
  return JS_Throw(ctx, thrown);
}

static JSValue throw_problem(JSContext *ctx, problem *told) {
  JSValue thrown = throw_trouble(ctx, told->trouble, (const char *)told->text.ptr, told->text.len);
  dormouse_sandbox_net_problem_free(told);
  return thrown;
}

// The connection of a number; NULL: there is none, and an exception is thrown.
static one_connection *find(JSContext *ctx, JSValueConst number) {
  uint32_t id;
  if (JS_ToUint32(ctx, &id, number) < 0) return NULL;
  for (size_t i = 0; i < count; i++)
    if (connections[i].id == id) return &connections[i];
  static const char gone[] = "the connection is closed: it ends with its run at the latest";
  throw_trouble(ctx, DORMOUSE_SANDBOX_NET_TROUBLE_CLOSED, gone, sizeof gone - 1);
  return NULL;
}

// Room for one more is there before the host is asked for it.
static bool make_room(JSContext *ctx) {
  if (count < room) return true;
  size_t more = room ? room * 2 : 8;
  one_connection *list = realloc(connections, more * sizeof *list);
  if (!list) return JS_ThrowOutOfMemory(ctx), false;
  connections = list;
  room = more;
  return true;
}

static JSValue add(JSContext *ctx, dormouse_sandbox_net_connection_t connection) {
  connections[count++] = (one_connection){.id = ++last_id, .connection = connection, .waited_for = true};
  return JS_NewUint32(ctx, last_id);
}

// Ends one; the last of the list takes its place.
static void end(JSContext *ctx, one_connection *ended) {
  one_connection old = *ended;
  *ended = connections[--count];
  dormouse_sandbox_net_close(old.connection);
  for (int way = READS; way < WAYS; way++) {
    if (!old.watched[way]) continue;
    watches--;
    deferred_release(ctx, &old.watch[way]);
  }
}

// A text of which each character is a byte, to be freed; false: an exception is thrown.
static bool bytes_of(JSContext *ctx, JSValue text, guest_list_u8_t *bytes) {
  size_t length, done = 0;
  const char *utf8 = JS_ToCStringLen(ctx, &length, text);
  JS_FreeValue(ctx, text);
  if (!utf8) return false;
  bytes->ptr = malloc(length ? length : 1);
  for (size_t i = 0; bytes->ptr && i < length; i++) {
    uint8_t byte = (uint8_t)utf8[i];
    // 0x80 to 0xFF are two bytes in UTF-8. Others were refused before.
    bool is_long = (byte == 0xC2 || byte == 0xC3) && i + 1 < length;
    bytes->ptr[done++] = is_long ? (uint8_t)(byte << 6 | ((uint8_t)utf8[++i] & 0x3F)) : byte;
  }
  bytes->len = done;
  JS_FreeCString(ctx, utf8);
  if (!bytes->ptr) JS_ThrowOutOfMemory(ctx);
  return bytes->ptr;
}

static JSValue text_of(JSContext *ctx, const uint8_t *bytes, size_t length) {
  text utf8 = {0};
  for (size_t i = 0; i < length; i++) {
    char pair[] = {(char)(0xC0 | bytes[i] >> 6), (char)(0x80 | (bytes[i] & 0x3F))};
    if (bytes[i] < 0x80) text_add(&utf8, (const char *)&bytes[i], 1);
    else text_add(&utf8, pair, 2);
  }
  JSValue string = utf8.failed ? JS_ThrowOutOfMemory(ctx) : JS_NewStringLen(ctx, utf8.bytes ? utf8.bytes : "", utf8.length);
  text_free(&utf8);
  return string;
}

// The headers of a request, from a list of names and values in turn; false: an exception is thrown. Freed in either case by who asks.
static bool take_headers(JSContext *ctx, JSValueConst list, dormouse_sandbox_net_request_t *request) {
  int64_t length;
  if (JS_GetLength(ctx, list, &length) < 0) return false;
  size_t pairs = (size_t)length / 2;
  request->headers.ptr = pairs ? calloc(pairs, sizeof *request->headers.ptr) : NULL;
  if (pairs && !request->headers.ptr) return JS_ThrowOutOfMemory(ctx), false;
  request->headers.len = pairs;
  for (uint32_t i = 0; i < pairs; i++) {
    guest_list_u8_t name = {0};
    bool taken = bytes_of(ctx, JS_GetPropertyUint32(ctx, list, 2 * i), &name);
    request->headers.ptr[i].f0 = (guest_string_t){name.ptr, name.len};
    if (!taken || !bytes_of(ctx, JS_GetPropertyUint32(ctx, list, 2 * i + 1), &request->headers.ptr[i].f1)) return false;
  }
  return true;
}

// netExchange(method, URL, [name, value, …], whether it has a body): the number of a connection
static JSValue exchange(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count;
  dormouse_sandbox_net_request_t request = {.body = JS_ToBool(ctx, arguments[3])};
  const char *method = JS_ToCStringLen(ctx, &request.method.len, arguments[0]);
  const char *url = JS_ToCStringLen(ctx, &request.url.len, arguments[1]);
  bool is_whole = method && url && take_headers(ctx, arguments[2], &request) && make_room(ctx);
  JSValue result = JS_EXCEPTION;
  if (is_whole) {
    dormouse_sandbox_net_connection_t made;
    problem why;
    request.method.ptr = (uint8_t *)method;
    request.url.ptr = (uint8_t *)url;
    result = dormouse_sandbox_net_exchange(&request, &made, &why) ? add(ctx, made) : throw_problem(ctx, &why);
  }
  for (size_t i = 0; i < request.headers.len; i++) {
    free(request.headers.ptr[i].f0.ptr);
    free(request.headers.ptr[i].f1.ptr);
  }
  free(request.headers.ptr);
  JS_FreeCString(ctx, method);
  JS_FreeCString(ctx, url);
  return result;
}

// netOpen(host, port): the number of a connection
static JSValue open(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count;
  int32_t port;
  guest_string_t host;
  const char *name = JS_ToCStringLen(ctx, &host.len, arguments[0]);
  JSValue result = JS_EXCEPTION;
  if (name && JS_ToInt32(ctx, &port, arguments[1]) == 0 && make_room(ctx)) {
    dormouse_sandbox_net_connection_t made;
    problem why;
    host.ptr = (uint8_t *)name;
    result = dormouse_sandbox_net_open(&host, (uint16_t)port, &made, &why) ? add(ctx, made) : throw_problem(ctx, &why);
  }
  JS_FreeCString(ctx, name);
  return result;
}

// netResponse(number): [status, [name, value, …]]; undefined: it is not there yet
static JSValue response(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count;
  one_connection *asked = find(ctx, arguments[0]);
  if (!asked) return JS_EXCEPTION;
  dormouse_sandbox_net_option_head_t head;
  problem why;
  if (!dormouse_sandbox_net_response(asked->connection, &head, &why)) return throw_problem(ctx, &why);
  if (!head.is_some) return JS_UNDEFINED;
  JSValue list = JS_NewArray(ctx), result = JS_NewArray(ctx);
  for (size_t i = 0; i < head.val.headers.len; i++) {
    guest_tuple2_string_list_u8_t *header = &head.val.headers.ptr[i];
    JS_SetPropertyUint32(ctx, list, (uint32_t)(2 * i), JS_NewStringLen(ctx, (char *)header->f0.ptr, header->f0.len));
    JS_SetPropertyUint32(ctx, list, (uint32_t)(2 * i + 1), text_of(ctx, header->f1.ptr, header->f1.len));
  }
  JS_SetPropertyUint32(ctx, result, 0, JS_NewInt32(ctx, head.val.status));
  JS_SetPropertyUint32(ctx, result, 1, list);
  dormouse_sandbox_net_option_head_free(&head);
  return result;
}

// The bytes that the host gave are the buffer's own.
static void *resize_piece(JSRuntime *runtime, void *opaque, void *bytes, size_t size) {
  (void)runtime, (void)opaque;
  if (size) return realloc(bytes, size);
  free(bytes);
  return NULL;
}

// netReceive(number): an ArrayBuffer, which is empty at the end; undefined: nothing is there now
static JSValue receive(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count;
  one_connection *asked = find(ctx, arguments[0]);
  if (!asked) return JS_EXCEPTION;
  guest_option_list_u8_t piece;
  problem why;
  if (!dormouse_sandbox_net_receive(asked->connection, PIECE, &piece, &why)) return throw_problem(ctx, &why);
  if (!piece.is_some) return JS_UNDEFINED;
  if (!piece.val.len) return JS_NewArrayBufferCopy(ctx, NULL, 0);
  JSValue buffer = JS_NewArrayBuffer(ctx, piece.val.ptr, piece.val.len, 0, resize_piece, NULL, false);
  if (JS_IsException(buffer)) free(piece.val.ptr);
  return buffer;
}

// netSend(number, bytes, from): how many were taken; undefined: none can be now
static JSValue send(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count;
  uint32_t from, taken;
  size_t length;
  if (JS_ToUint32(ctx, &from, arguments[2]) < 0) return JS_EXCEPTION;
  one_connection *asked = find(ctx, arguments[0]);
  const uint8_t *bytes = asked ? engine_need_bytes(ctx, arguments[1], &length) : NULL;
  if (!bytes) return JS_EXCEPTION;
  if (from > length) return JS_ThrowRangeError(ctx, "the bytes end before");
  size_t left = length - from;
  guest_list_u8_t piece = {(uint8_t *)bytes + from, left < PIECE ? left : PIECE};
  problem why;
  if (!dormouse_sandbox_net_send(asked->connection, &piece, &taken, &why)) return throw_problem(ctx, &why);
  return taken || !left ? JS_NewUint32(ctx, taken) : JS_UNDEFINED;
}

// netMask(bytes, from): what comes from there on is masked with the four bytes before it (RFC 6455, section 5.3)
static JSValue mask(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count;
  uint32_t from;
  size_t length;
  if (JS_ToUint32(ctx, &from, arguments[1]) < 0) return JS_EXCEPTION;
  uint8_t *bytes = (uint8_t *)engine_need_bytes(ctx, arguments[0], &length);
  if (!bytes) return JS_EXCEPTION;
  if (from < 4 || from > length) return JS_ThrowRangeError(ctx, "the bytes end before");
  const uint8_t *key = bytes + from - 4;
  for (size_t at = from; at < length; at++) bytes[at] ^= key[(at - from) & 3];
  return JS_UNDEFINED;
}

// netFinish(number): nothing more is sent
static JSValue finish(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count;
  one_connection *asked = find(ctx, arguments[0]);
  if (!asked) return JS_EXCEPTION;
  dormouse_sandbox_net_finish(asked->connection);
  return JS_UNDEFINED;
}

// netClose(number): ends it. What watches it is not called.
static JSValue close(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count;
  one_connection *asked = find(ctx, arguments[0]);
  if (!asked) JS_FreeValue(ctx, JS_GetException(ctx));
  else end(ctx, asked);
  return JS_UNDEFINED;
}

// netWatch(callback, number, whether it is to be written): is called once, when it can be
static JSValue watch(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count;
  int way = JS_ToBool(ctx, arguments[2]) ? WRITES : READS;
  deferred call;
  if (!deferred_take(ctx, &call, 1, arguments, 1)) return JS_EXCEPTION;
  one_connection *asked = find(ctx, arguments[1]);
  if (!asked) {
    deferred_release(ctx, &call);
    return JS_EXCEPTION;
  }
  if (asked->watched[way]) deferred_release(ctx, &asked->watch[way]);
  else watches++;
  asked->watched[way] = true;
  asked->watch[way] = call;
  return JS_UNDEFINED;
}

// netWaitedFor(number, whether a run waits for it)
static JSValue set_waited_for(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count;
  one_connection *asked = find(ctx, arguments[0]);
  if (!asked) return JS_EXCEPTION;
  asked->waited_for = JS_ToBool(ctx, arguments[1]);
  return JS_UNDEFINED;
}

// netRuns(): another number when the connections of a run have ended with it
static JSValue run_count(JSContext *ctx, JSValueConst self, int argument_count, JSValueConst *arguments) {
  (void)self, (void)argument_count, (void)arguments;
  return JS_NewUint32(ctx, runs);
}

// Calls what watches a connection that is ready; false when it threw.
static bool tell(JSContext *ctx, const ready *told) {
  const bool is_ready[] = {[READS] = told->reads, [WRITES] = told->writes};
  for (int way = READS; way < WAYS; way++) {
    // The list may change with each call.
    size_t at = 0;
    while (at < count && connections[at].connection != told->connection) at++;
    if (at == count) return true;
    one_connection *found = &connections[at];
    if (!is_ready[way] || !found->watched[way]) continue;
    found->watched[way] = false;
    watches--;
    deferred call = found->watch[way];
    if (!deferred_call(ctx, &call)) return false;
  }
  return true;
}

bool net_wait(JSContext *ctx, bool only_looks) {
  dormouse_sandbox_net_list_interest_t interests = {calloc(count ? count : 1, sizeof *interests.ptr), 0};
  if (!interests.ptr) return JS_ThrowOutOfMemory(ctx), false;
  for (size_t i = 0; i < count && interests.len < INTERESTS; i++) {
    bool reads = connections[i].watched[READS], writes = connections[i].watched[WRITES];
    if (!reads && !writes) continue;
    interests.ptr[interests.len++] = (dormouse_sandbox_net_interest_t){connections[i].connection, reads, writes};
  }
  wanted told;
  dormouse_sandbox_net_happened_t happened;
  calls_want(&told);
  if (only_looks) told.nanoseconds = (guest_option_u64_t){.is_some = true, .val = 0};
  dormouse_sandbox_net_wait(&interests, &told, &happened);
  dormouse_sandbox_net_wanted_free(&told);
  free(interests.ptr);
  if (!happened.ready.len && !happened.answers.len && !only_looks) timers_let_pass();
  answers given = {happened.answers.ptr, happened.answers.len};
  bool done = calls_answer(ctx, &given);
  // Those that come after one that threw are still watched, and told of again.
  for (size_t i = 0; done && i < happened.ready.len; i++) done = tell(ctx, &happened.ready.ptr[i]);
  free(happened.ready.len ? happened.ready.ptr : NULL);
  return done;
}

void net_clear(JSContext *ctx) {
  if (!count) return;
  runs++;
  while (count) end(ctx, &connections[count - 1]);
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("netExchange", 4, exchange), JS_CFUNC_DEF("netOpen", 2, open),
    JS_CFUNC_DEF("netResponse", 1, response), JS_CFUNC_DEF("netReceive", 1, receive),
    JS_CFUNC_DEF("netSend", 3, send),         JS_CFUNC_DEF("netFinish", 1, finish),
    JS_CFUNC_DEF("netClose", 1, close),       JS_CFUNC_DEF("netWatch", 3, watch),
    JS_CFUNC_DEF("netRuns", 0, run_count),    JS_CFUNC_DEF("netWaitedFor", 2, set_waited_for),
    JS_CFUNC_DEF("netMask", 2, mask),
};

void net_install(JSContext *ctx, JSValueConst native) {
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
