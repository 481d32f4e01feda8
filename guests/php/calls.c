// Several calls of the host's functions at once: `call_tools([[name, arguments], ...])`.
#include "tools.h"

// Calls that the host makes at one time; others wait for their turn.
#define AT_ONCE 256

// Bytes of names and arguments that the host is told of in one step, if they are more than one call's. It takes twice that.
#define MOST_TOLD (16 << 20)

typedef dormouse_sandbox_host_wanted_t wanted;
typedef dormouse_sandbox_host_list_answer_t answers;

typedef struct {
  // Until the host is told. The second is JSON text.
  zend_string *name, *arguments;
  // Undefined until there is an answer.
  zval result;
} one_call;

typedef struct {
  one_call *calls;
  // How many there are, how many of them the host was told of, in their order, and how many it has answered.
  uint32_t count, begun, ended;
  // The first one's number; those of the others follow.
  uint32_t first_id;
  // A failure is a result like any other.
  bool settle;
} batch;

// Here, so that they are not lost when a fatal error comes while they are read.
static answers arrived;

// Reads one call. NULL: done; else why not, unless an exception is pending.
static const char *read_call(one_call *call, const zval *given) {
  if (Z_TYPE_P(given) != IS_ARRAY) return "that is no array";
  zval *name = zend_hash_index_find_deref(Z_ARR_P(given), 0), *arguments = zend_hash_index_find_deref(Z_ARR_P(given), 1);
  if (!name || Z_TYPE_P(name) != IS_STRING || !text_is_utf8(Z_STRVAL_P(name), Z_STRLEN_P(name))) return "its first item is no name";
  if (arguments && Z_TYPE_P(arguments) != IS_ARRAY) return "its second item is no array";
  if (zend_hash_num_elements(Z_ARR_P(given)) > (arguments ? 2 : 1)) return "it has more than a name and an array";
  call->name = zend_string_copy(Z_STR_P(name));
  call->arguments = tool_write(arguments ? Z_ARR_P(arguments) : NULL);
  return call->arguments ? NULL : "its arguments hold what JSON cannot say";
}

static void refuse(zend_string *key, zend_ulong index, const char *why) {
  zend_string *shown = key ? zend_string_copy(key) : zend_long_to_str((zend_long)index);
  static const char wanted[] = "must hold calls such as ['server.tool', ['argument' => value]]";
  zend_argument_value_error(1, "%s: see %.100s, %s", wanted, ZSTR_VAL(shown), why);
  zend_string_release(shown);
}

// Reads all of them before the first is made. The user's code may run in here, and nowhere after that.
static bool read_calls(batch *all, const zend_array *given) {
  zend_ulong index;
  zend_string *key;
  zval *value;
  ZEND_HASH_FOREACH_KEY_VAL(given, index, key, value) {
    one_call *call = &all->calls[all->count++];
    *call = (one_call){0};
    zval held;
    ZVAL_COPY_DEREF(&held, value);
    const char *why = read_call(call, &held);
    zval_ptr_dtor(&held);
    if (!why) continue;
    if (!EG(exception)) refuse(key, index, why);
    return false;
  }
  ZEND_HASH_FOREACH_END();
  return true;
}

// Forgets what only the host needed.
static void release_told(one_call *call) {
  if (call->name) zend_string_release(call->name);
  if (call->arguments) zend_string_release(call->arguments);
  call->name = call->arguments = NULL;
}

// Begins as many of the calls that are left as may be under way, and gets the answers that are there, at least one.
static void begin_and_wait(batch *all) {
  dormouse_sandbox_host_call_t calls[AT_ONCE];
  wanted told = {.calls = {calls, 0}};
  uint32_t first = all->begun;
  uint64_t bytes = 0;
  for (; all->begun < all->count && all->begun - all->ended < AT_ONCE; all->begun++) {
    const zend_string *name = all->calls[all->begun].name, *arguments = all->calls[all->begun].arguments;
    bytes += (uint64_t)ZSTR_LEN(name) + ZSTR_LEN(arguments);
    if (told.calls.len && bytes > MOST_TOLD) break;
    calls[told.calls.len++] = (dormouse_sandbox_host_call_t){
        .id = all->first_id + all->begun,
        .name = {(uint8_t *)ZSTR_VAL(name), ZSTR_LEN(name)},
        .arguments = {(uint8_t *)ZSTR_VAL(arguments), ZSTR_LEN(arguments)},
    };
  }
  dormouse_sandbox_host_wait(&told, &arrived);
  for (uint32_t i = first; i < all->begun; i++) release_told(&all->calls[i]);
}

static void forget_answers(void) {
  dormouse_sandbox_host_list_answer_free(&arrived);
  arrived = (answers){0};
}

static void settled(zval *result, const char *how, zval *value) {
  array_init_size(result, 1);
  add_assoc_zval(result, how, value);
}

static void fail(const batch *all, zval *result, const guest_string_t *why) {
  if (all->settle) {
    zval message;
    ZVAL_STRINGL(&message, (const char *)why->ptr, why->len);
    settled(result, "error", &message);
  } else if (!EG(exception)) {
    tool_fail(why);
  }
}

static void take(batch *all, const dormouse_sandbox_host_answer_t *answer) {
  // A batch that a fatal error has ended has left its calls under way.
  uint32_t at = answer->id - all->first_id;
  if (at >= all->begun || !Z_ISUNDEF(all->calls[at].result)) return;
  zval *result = &all->calls[at].result, value;
  ZVAL_NULL(result);
  all->ended++;
  if (answer->outcome.is_err) fail(all, result, &answer->outcome.val.err);
  else if (!tool_read(&answer->outcome.val.ok, &value)) fail(all, result, &tool_too_deep);
  else if (all->settle) settled(result, "ok", &value);
  else ZVAL_COPY_VALUE(result, &value);
}

// Ends the calls that are under way; what they would have answered is nobody's.
static void cancel(const batch *all) {
  uint32_t ids[AT_ONCE];
  wanted told = {.cancelled = {ids, 0}, .nanoseconds = {.is_some = true, .val = 0}};
  for (uint32_t i = 0; i < all->begun; i++) {
    if (Z_ISUNDEF(all->calls[i].result)) ids[told.cancelled.len++] = all->first_id + i;
  }
  dormouse_sandbox_host_wait(&told, &arrived);
  forget_answers();
}

static void make(batch *all) {
  static uint32_t last_id;
  all->first_id = last_id + 1;
  last_id += all->count;
  while (all->ended < all->count && !EG(exception)) {
    forget_answers();
    begin_and_wait(all);
    for (size_t i = 0; i < arrived.len; i++) take(all, &arrived.ptr[i]);
  }
  forget_answers();
  if (all->ended < all->begun) cancel(all);
}

// The results under the keys of the calls.
static void give(batch *all, zend_array *calls, zval *results) {
  zend_ulong index;
  zend_string *key;
  one_call *next = all->calls;
  array_init_size(results, all->count);
  ZEND_HASH_FOREACH_KEY(calls, index, key) {
    if (key) zend_hash_add_new(Z_ARR_P(results), key, &next->result);
    else zend_hash_index_add_new(Z_ARR_P(results), index, &next->result);
    ZVAL_UNDEF(&next->result);
    next++;
  }
  ZEND_HASH_FOREACH_END();
}

ZEND_FUNCTION(call_tools) {
  zend_array *calls;
  bool settle = false;
  ZEND_PARSE_PARAMETERS_START(1, 2)
    Z_PARAM_ARRAY_HT(calls)
    Z_PARAM_OPTIONAL
    Z_PARAM_BOOL(settle)
  ZEND_PARSE_PARAMETERS_END();
  batch all = {.calls = safe_emalloc(zend_hash_num_elements(calls), sizeof *all.calls, 0), .settle = settle};
  if (read_calls(&all, calls)) make(&all);
  if (!EG(exception)) give(&all, calls, return_value);
  for (uint32_t i = 0; i < all.count; i++) {
    release_told(&all.calls[i]);
    zval_ptr_dtor(&all.calls[i].result);
  }
  efree(all.calls);
}
