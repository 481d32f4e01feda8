// QuickJS-ng itself, with the few functions of `engine.h` that need to see its inside.
#include "engine.h"

#include <time.h>

#include "driver.h"

// Placed by the recipe's edits at the start of the parser's recursive functions.
#define STACK_PADDING_OF(size) \
  char stack_padding[size];    \
  __asm__ volatile("" : : "r"(stack_padding) : "memory")
#define STACK_PADDING STACK_PADDING_OF(256)

uint32_t engine_evaluation;
bool engine_error_lost;
bool engine_refuse_eval, engine_own_eval;

// For the recipe's edits: the code that is being compiled is a snippet's.
static bool compiling_snippet;
static bool may_compile(JSContext *ctx, int *flags);
static JSAtom importing_file(JSContext *ctx);
// The class of the object whose method a frame runs, and a dot.
struct JSStackFrame;
struct DynBuf;
static void print_receiver(JSContext *ctx, const struct JSStackFrame *frame, struct DynBuf *out);
// A statement of a module: its first import among those of the module, and the module that it imports; -1: an export.
struct JSParseState;
static int note_statement(struct JSParseState *parser, const uint8_t *begin, int first, int module);

// A variable of a context whose global object keeps its properties elsewhere.
static int define_in_global(JSContext *ctx, JSAtom name, int flags);

// The value that follows asynchronous work.
static JSValue async_context = JS_UNDEFINED;
static JSValue enter_async_context(JSValueConst context);
static void leave_async_context(JSContext *ctx, JSValue outer);

// For the hook of promises: a reaction is done, or has been.
static void tell_of_reaction(JSContext *ctx, JSPromiseHookType event, JSValueConst *reaction);

// The offset of local times (intl.c).
int intl_local_offset(int64_t time);

// One thread: locks are free, and nobody wakes who waits but the clock.
typedef int js_once_t, js_mutex_t, js_cond_t;
#define JS_ONCE_INIT 0
static void js_once(js_once_t *guard, void (*callback)(void)) { (void)guard, callback(); }
static void js_mutex_init(js_mutex_t *mutex) { *mutex = 0; }
static void js_mutex_lock(js_mutex_t *mutex) { (void)mutex; }
static void js_mutex_unlock(js_mutex_t *mutex) { (void)mutex; }
static void js_cond_init(js_cond_t *cond) { *cond = 0; }
static void js_cond_destroy(js_cond_t *cond) { (void)cond; }
static void js_cond_signal(js_cond_t *cond) { (void)cond; }
static void js_cond_wait(js_cond_t *cond, js_mutex_t *mutex) { (void)cond, (void)mutex; }
static int js_cond_timedwait(js_cond_t *cond, js_mutex_t *mutex, uint64_t nanoseconds) {
  (void)cond, (void)mutex;
  nanosleep(&(struct timespec){(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)}, NULL);
  return -1;
}

#include "quickjs.c"

static JSValue enter_async_context(JSValueConst context) {
  JSValue outer = async_context;
  async_context = js_dup(context);
  return outer;
}

static void leave_async_context(JSContext *ctx, JSValue outer) {
  JS_FreeValue(ctx, async_context);
  async_context = outer;
}

// The promise that a reaction settles: that of its functions, or of the async function that waits.
static JSValueConst promise_of_reaction(const JSValueConst *reaction) {
  JSValueConst function = JS_IsUndefined(reaction[0]) ? reaction[2] : reaction[0];
  if (!JS_IsObject(function)) return JS_UNDEFINED;
  const JSObject *object = JS_VALUE_GET_OBJ(function);
  if (object->class_id == JS_CLASS_ASYNC_FUNCTION_RESOLVE || object->class_id == JS_CLASS_ASYNC_FUNCTION_REJECT)
    function = object->u.async_function_data->resolving_funcs[0];
  const JSPromiseFunctionData *data = JS_GetOpaque(function, JS_CLASS_PROMISE_RESOLVE_FUNCTION);
  return data ? data->promise : JS_UNDEFINED;
}

static void tell_of_reaction(JSContext *ctx, JSPromiseHookType event, JSValueConst *reaction) {
  JSValueConst promise = promise_of_reaction(reaction);
  if (!JS_IsUndefined(promise)) ctx->rt->promise_hook(ctx, event, promise, JS_UNDEFINED, ctx->rt->promise_hook_opaque);
}

JSValueConst engine_async_context(void) { return async_context; }
JSValue engine_enter_async_context(JSValueConst context) { return enter_async_context(context); }
void engine_leave_async_context(JSContext *ctx, JSValue outer) { leave_async_context(ctx, outer); }

// The nearest function on the stack, from this frame on, that is written in JavaScript.
static JSFunctionBytecode *nearest(JSStackFrame **frame) {
  for (; *frame; *frame = (*frame)->prev_frame) {
    JSFunctionBytecode *code = JS_GetFunctionBytecode((*frame)->cur_func);
    if (code) return code;
  }
  return NULL;
}

static bool has_name(JSContext *ctx, const JSFunctionBytecode *code, const char *start) {
  char room[ATOM_GET_STR_BUF_SIZE];
  return strncmp(JS_AtomGetStrRT(ctx->rt, room, sizeof room, code->filename), start, strlen(start)) == 0;
}

// Whether a text is to be compiled for a snippet. The prelude compiles nothing on its own account, so its frames do not
// count; and libraries do not hand `eval` to promises and timers, below which there is nobody.
static bool is_for_snippet(JSContext *ctx) {
  for (JSStackFrame *frame = ctx->rt->current_stack_frame; frame; frame = frame->prev_frame) {
    const JSFunctionBytecode *code = nearest(&frame);
    if (!code) break;
    if (code->of_snippet) return true;
    if (!has_name(ctx, code, "dormouse:")) return false;
  }
  return true;
}

// Marks what a snippet makes. False, with an exception: it may not.
static bool may_compile(JSContext *ctx, int *flags) {
  if (!is_for_snippet(ctx)) return true;
  *flags |= ENGINE_EVAL_SNIPPET;
  if (engine_refuse_eval && !engine_own_eval) {
    JS_ThrowEvalError(ctx, "eval is not allowed here");
    return false;
  }
  engine_own_eval = false;
  return true;
}

bool engine_may_compile(JSContext *ctx) {
  int flags = 0;
  return may_compile(ctx, &flags);
}

bool engine_may_run(JSContext *ctx, const char *path) {
  if (!engine_refuse_eval || !driver_can_be_written(path)) return true;
  JS_ThrowEvalError(ctx, "code of %s is not allowed here: it can be written from here", path);
  return false;
}

static JSAtom importing_file(JSContext *ctx) {
  for (JSStackFrame *frame = ctx->rt->current_stack_frame; frame; frame = frame->prev_frame) {
    const JSFunctionBytecode *code = nearest(&frame);
    if (!code) break;
    if (!has_name(ctx, code, "<input>")) return JS_DupAtom(ctx, code->filename);
  }
  return JS_GetScriptOrModuleName(ctx, 0);
}

static struct {
  bool are_noted;
  // The first module of which one was seen: a module is parsed before those that it imports.
  const JSModuleDef *of;
  engine_statement *all;
  int count, room;
} statements;

void engine_note_statements(void) { statements.are_noted = true; }

const engine_statement *engine_noted_statements(size_t *count) {
  statements.are_noted = false;
  *count = (size_t)statements.count;
  return statements.all;
}

void engine_forget_statements(JSContext *ctx) {
  for (int i = 0; i < statements.count; i++) {
    JS_FreeValue(ctx, statements.all[i].module);
    JS_FreeValue(ctx, statements.all[i].names);
  }
  js_free(ctx, statements.all);
  memset(&statements, 0, sizeof statements);
}

static int note_statement(JSParseState *parser, const uint8_t *begin, int first, int module) {
  JSContext *ctx = parser->ctx;
  const JSFunctionDef *function = parser->cur_func;
  const JSModuleDef *of = function->module;
  if (!statements.are_noted || (statements.of && statements.of != of)) return 0;
  statements.of = of;
  if (js_resize_array(ctx, (void **)&statements.all, sizeof *statements.all, &statements.room, statements.count + 1))
    return -1;
  engine_statement *statement = &statements.all[statements.count++];
  *statement = (engine_statement){(size_t)(begin - parser->buf_start), (size_t)(parser->last_ptr - parser->buf_start),
                                  JS_UNDEFINED, JS_UNDEFINED};
  if (module < 0) return 0;
  statement->module = JS_AtomToString(ctx, of->req_module_entries[module].module_name);
  statement->names = JS_NewArray(ctx);
  for (int i = first; i < of->import_entries_count; i++) {
    const JSImportEntry *entry = &of->import_entries[i];
    JSValue pair[] = {JS_AtomToString(ctx, entry->import_name),
                      JS_AtomToString(ctx, function->closure_var[entry->var_idx].var_name)};
    JSValue both = JS_NewArrayFrom(ctx, 2, pair);
    if (JS_SetPropertyUint32(ctx, statement->names, (uint32_t)(i - first), both) < 0) return -1;
  }
  return 0;
}

static bool bind_import(JSContext *ctx, JSValueConst module, JSAtom there, JSAtom here) {
  JSObject *variables = JS_VALUE_GET_OBJ(ctx->global_var_obj);
  JSProperty *export = NULL;
  JSShapeProperty *shape =
      there == JS_ATOM__star_ ? NULL : find_own_property(&export, JS_VALUE_GET_OBJ(module), there);
  // All else stays what it is: a module as a whole.
  JSVarRef *of_module = shape && (shape->flags & JS_PROP_TMASK) == JS_PROP_VARREF ? export->u.var_ref : NULL;
  JSValue value = of_module                    ? JS_UNDEFINED
                  : there == JS_ATOM__star_ ? js_dup(module)
                                            : JS_GetProperty(ctx, module, there);
  if (JS_IsException(value)) return false;
  JSProperty *variable = NULL;
  if (JS_CheckDefineGlobalVar(ctx, here, DEFINE_GLOBAL_LEX_VAR) == 0)
    variable = add_property(ctx, variables, here,
                            JS_PROP_ENUMERABLE | JS_PROP_CONFIGURABLE | (of_module ? JS_PROP_VARREF : 0));
  if (!variable) {
    JS_FreeValue(ctx, value);
    return false;
  }
  if (of_module) {
    JS_REF_COUNT(of_module)++;
    variable->u.var_ref = of_module;
  } else {
    variable->u.value = value;
  }
  return true;
}

bool engine_bind_imports(JSContext *ctx, JSValueConst module, JSValueConst names) {
  int64_t count = 0;
  bool done = JS_GetLength(ctx, names, &count) == 0 && JS_IsObject(module);
  for (uint32_t i = 0; done && i < count; i++) {
    JSValue pair = JS_GetPropertyUint32(ctx, names, i);
    JSValue words[] = {JS_GetPropertyUint32(ctx, pair, 0), JS_GetPropertyUint32(ctx, pair, 1)};
    JSAtom atoms[] = {JS_ValueToAtom(ctx, words[0]), JS_ValueToAtom(ctx, words[1])};
    done = atoms[0] != JS_ATOM_NULL && atoms[1] != JS_ATOM_NULL && bind_import(ctx, module, atoms[0], atoms[1]);
    for (int k = 0; k < 2; k++) {
      JS_FreeAtom(ctx, atoms[k]);
      JS_FreeValue(ctx, words[k]);
    }
    JS_FreeValue(ctx, pair);
  }
  return done;
}

// Only plain properties are looked at: no code of a snippet's runs.
static void print_receiver(JSContext *ctx, const JSStackFrame *frame, DynBuf *out) {
  JSValueConst receiver = frame->this_obj;
  if (JS_VALUE_GET_TAG(receiver) != JS_TAG_OBJECT || frame->is_constructor) return;
  JSObject *object = JS_VALUE_GET_OBJ(receiver);
  if (object == JS_VALUE_GET_OBJ(ctx->global_obj)) return;
  const char *class = NULL;
  if (JS_IsFunction(ctx, receiver)) {
    class = get_func_name(ctx, receiver);
  } else {
    JSProperty *property;
    JSShapeProperty *shape = NULL;
    while (object && object->class_id != JS_CLASS_PROXY && !shape) {
      shape = find_own_property(&property, object, JS_ATOM_constructor);
      object = object->shape->proto;
    }
    if (shape && (shape->flags & JS_PROP_TMASK) == JS_PROP_NORMAL) class = get_func_name(ctx, property->u.value);
  }
  if (class && *class) dbuf_printf(out, "%s.", class);
  JS_FreeCString(ctx, class);
}

engine_kind engine_kind_of(JSValueConst value) {
  switch (JS_GetClassID(value)) {
    case JS_CLASS_ARRAY:
    case JS_CLASS_ARGUMENTS:
    case JS_CLASS_MAPPED_ARGUMENTS:
      return KIND_ARRAY;
    case JS_CLASS_MAP:
      return KIND_MAP;
    case JS_CLASS_SET:
      return KIND_SET;
    case JS_CLASS_GENERATOR:
    case JS_CLASS_ITERATOR_CONCAT:
    case JS_CLASS_ITERATOR_HELPER:
    case JS_CLASS_ITERATOR_WRAP:
    case JS_CLASS_MAP_ITERATOR:
    case JS_CLASS_SET_ITERATOR:
    case JS_CLASS_ARRAY_ITERATOR:
    case JS_CLASS_STRING_ITERATOR:
    case JS_CLASS_REGEXP_STRING_ITERATOR:
      return KIND_ITERATOR;
    case JS_CLASS_ARRAY_BUFFER:
    case JS_CLASS_SHARED_ARRAY_BUFFER:
    case JS_CLASS_DATAVIEW:
      return KIND_BYTES;
    case JS_CLASS_BYTECODE_FUNCTION: {
      // A class constructor's prototype property cannot be written; an ordinary function's can.
      JSProperty *property;
      JSShapeProperty *shape = find_own_property(&property, JS_VALUE_GET_OBJ(value), JS_ATOM_prototype);
      return shape && !(shape->flags & JS_PROP_WRITABLE) ? KIND_CLASS : KIND_FUNCTION;
    }
    case JS_CLASS_ERROR:
    case JS_CLASS_DOM_EXCEPTION:
      return KIND_ERROR;
    case JS_CLASS_DATE:
      return KIND_DATE;
    case JS_CLASS_REGEXP:
      return KIND_REGEXP;
    case JS_CLASS_NUMBER:
    case JS_CLASS_STRING:
    case JS_CLASS_BOOLEAN:
    case JS_CLASS_SYMBOL:
    case JS_CLASS_BIG_INT:
      return KIND_BOXED;
    case JS_CLASS_PROMISE:
      return KIND_PROMISE;
    case JS_CLASS_PROXY:
      return KIND_PROXY;
    case JS_CLASS_MODULE_NS:
      return KIND_NAMESPACE;
    default: {
      JSClassID class = JS_GetClassID(value);
      if (class >= JS_CLASS_UINT8C_ARRAY && class <= JS_CLASS_FLOAT64_ARRAY) return KIND_BYTES;
      JSObject *object = JS_VALUE_GET_OBJ(value);
      return object->shape && class < JS_CLASS_INIT_COUNT && class != JS_CLASS_OBJECT &&
                     class >= JS_CLASS_C_FUNCTION && class <= JS_CLASS_GENERATOR_FUNCTION
                 ? KIND_FUNCTION
             : class == JS_CLASS_ASYNC_FUNCTION || class == JS_CLASS_ASYNC_GENERATOR_FUNCTION ||
                     class == JS_CLASS_PROMISE_RESOLVE_FUNCTION || class == JS_CLASS_PROMISE_REJECT_FUNCTION
                 ? KIND_FUNCTION
                 : KIND_PLAIN;
    }
  }
}

JSValue engine_lexicals(JSContext *ctx) { return js_dup(ctx->global_var_obj); }

bool engine_entry(JSValueConst collection, void **cursor, JSValueConst *key, JSValueConst *value) {
  JSMapState *state = JS_VALUE_GET_OBJ(collection)->u.map_state;
  struct list_head *next = *cursor ? ((struct list_head *)*cursor)->next : state->records.next;
  for (; next != &state->records; next = next->next) {
    JSMapRecord *record = list_entry(next, JSMapRecord, link);
    if (record->empty) continue;
    *cursor = next;
    *key = record->key;
    *value = record->value;
    return true;
  }
  return false;
}

uint32_t engine_entry_count(JSValueConst collection) {
  return JS_VALUE_GET_OBJ(collection)->u.map_state->record_count;
}

JSValue engine_rest_of_iterator(JSContext *ctx, JSValueConst iterator, bool *pairs) {
  JSClassID class = JS_GetClassID(iterator);
  if (class != JS_CLASS_MAP_ITERATOR && class != JS_CLASS_SET_ITERATOR) return JS_UNDEFINED;
  const JSMapIteratorData *data = JS_VALUE_GET_OBJ(iterator)->u.map_iterator_data;
  JSValue rest = JS_NewArray(ctx);
  *pairs = data->kind == JS_ITERATOR_KIND_KEY_AND_VALUE;
  if (JS_IsException(rest) || JS_IsUndefined(data->obj)) return rest;
  void *cursor = data->cur_record ? &data->cur_record->link : NULL;
  JSValueConst key, value;
  for (uint32_t count = 0; engine_entry(data->obj, &cursor, &key, &value);) {
    if (class == JS_CLASS_SET_ITERATOR) value = key;
    if (*pairs || data->kind == JS_ITERATOR_KIND_KEY) JS_SetPropertyUint32(ctx, rest, count++, js_dup(key));
    if (*pairs || data->kind != JS_ITERATOR_KIND_KEY) JS_SetPropertyUint32(ctx, rest, count++, js_dup(value));
  }
  return rest;
}

const uint8_t *engine_bytes(JSContext *ctx, JSValueConst value, size_t *length) {
  *length = 0;
  if (JS_IsArrayBuffer(value)) {
    const uint8_t *bytes = JS_GetArrayBuffer(ctx, length, value);
    if (!bytes) JS_FreeValue(ctx, JS_GetException(ctx));
    return bytes;
  }
  JSObject *object = JS_VALUE_GET_OBJ(value);
  JSTypedArray *view = object->u.typed_array;
  JSArrayBuffer *buffer = view->buffer->u.array_buffer;
  if (buffer->detached || view->offset > (uint32_t)buffer->byte_length) return NULL;
  size_t size = view->length;
  if (view->track_rab || view->offset + size > (size_t)buffer->byte_length)
    size = (size_t)buffer->byte_length - view->offset;
  *length = size;
  return buffer->data + view->offset;
}

const uint8_t *engine_need_bytes(JSContext *ctx, JSValueConst value, size_t *length) {
  bool are_bytes = JS_IsObject(value) && engine_kind_of(value) == KIND_BYTES;
  const uint8_t *bytes = are_bytes ? engine_bytes(ctx, value, length) : NULL;
  if (!bytes) JS_ThrowTypeError(ctx, "bytes are needed");
  return bytes;
}

void engine_class(JSContext *ctx, JSClassID *id, const JSClassDef *definition) {
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JS_NewClassID(runtime, id);
  if (!JS_IsRegisteredClass(runtime, *id)) JS_NewClass(runtime, *id, definition);
}

void engine_drop_jobs(JSRuntime *runtime) {
  struct list_head *item, *after;
  list_for_each_safe(item, after, &runtime->job_list) {
    JSJobEntry *job = list_entry(item, JSJobEntry, link);
    list_del(item);
    for (int i = 0; i < job->argc; i++) JS_FreeValueRT(runtime, job->argv[i]);
    JS_FreeValueRT(runtime, job->async_context);
    js_free_rt(runtime, job);
  }
}

uint32_t engine_evaluation_of(JSValueConst error) {
  return JS_GetClassID(error) == JS_CLASS_ERROR ? JS_VALUE_GET_OBJ(error)->u.evaluation : 0;
}

void engine_forget_seed(JSContext *ctx) { ctx->random_state = 0; }

void engine_fill_arenas(JSRuntime *runtime, const void *top) {
  for (int i = 0; i < JS_ARENA_BLOCK_SIZE_COUNT; i++) {
    size_t size = arena_block_sizes[i] - sizeof(JSMallocBlockHeader);
    // The block that ends the loop stays, too: an arena without blocks would be given back.
    while (js_arena_malloc(runtime, size) < top) {
    }
  }
}

// Whether the modules that this one needs are all there: not while one that needs it back is still being loaded, nor while one runs.
static bool can_run(const JSModuleDef *module, const JSModuleDef **seen, size_t *count, size_t room) {
  for (size_t i = 0; i < *count; i++)
    if (seen[i] == module) return true;
  if (*count == room || module->status == JS_MODULE_STATUS_LINKING || module->status == JS_MODULE_STATUS_EVALUATING) return false;
  seen[(*count)++] = module;
  for (int i = 0; i < module->req_module_entries_count; i++) {
    const JSModuleDef *needed = module->req_module_entries[i].module;
    if (!needed || !can_run(needed, seen, count, room)) return false;
  }
  return true;
}

JSValue engine_require_module(JSContext *ctx, const char *path) {
  static const JSModuleDef *seen[4096];
  size_t count = 0;
  JSModuleDef *module = js_host_resolve_imported_module(ctx, "/", path, JS_UNDEFINED);
  if (!module) return JS_EXCEPTION;
  if (!can_run(module, seen, &count, sizeof seen / sizeof *seen)) {
    JS_ThrowPlainError(ctx, "require() of the ES module %s is not possible while it is being loaded", path);
    return JS_EXCEPTION;
  }
  if (js_create_module_function(ctx, module) < 0 || js_link_module(ctx, module) < 0) return JS_EXCEPTION;
  JSValue done = js_evaluate_module(ctx, module);
  if (JS_IsException(done)) return done;
  JS_PromiseMarkAsHandled(ctx, done);
  JSPromiseStateEnum state = JS_PromiseState(ctx, done);
  JSValue result = state == JS_PROMISE_REJECTED ? JS_Throw(ctx, JS_PromiseResult(ctx, done)) : JS_UNDEFINED;
  if (state == JS_PROMISE_FULFILLED) result = JS_GetModuleNamespace(ctx, module);
  JS_FreeValue(ctx, done);
  return result;
}

static int define_in_global(JSContext *ctx, JSAtom name, int flags) {
  int known = JS_GetOwnProperty(ctx, NULL, ctx->global_obj, name);
  if (known) return known < 0 ? -1 : 0;
  flags |= JS_PROP_HAS_VALUE | JS_PROP_HAS_CONFIGURABLE | JS_PROP_HAS_WRITABLE | JS_PROP_HAS_ENUMERABLE;
  return JS_DefineProperty(ctx, ctx->global_obj, name, JS_UNDEFINED, JS_UNDEFINED, JS_UNDEFINED, flags) < 0 ? -1 : 0;
}

void engine_set_global(JSContext *ctx, JSValue global) {
  JS_FreeValue(ctx, ctx->global_obj);
  ctx->global_obj = global;
}

void engine_mark_context(JSRuntime *runtime, JSContext *ctx, JS_MarkFunc *mark) { mark(runtime, &ctx->header); }
