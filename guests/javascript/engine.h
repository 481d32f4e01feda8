// What the driver needs of QuickJS-ng beyond its public interface.
#ifndef DORMOUSE_ENGINE_H
#define DORMOUSE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "quickjs.h"

// What an object is, as far as its encoding is concerned. It is read from the object's internal class, which no
// prototype or proxy can fake.
typedef enum {
  KIND_PLAIN,
  KIND_ARRAY,
  KIND_MAP,
  KIND_SET,
  KIND_ITERATOR,
  KIND_BYTES,
  KIND_FUNCTION,
  KIND_CLASS,
  KIND_ERROR,
  KIND_DATE,
  KIND_REGEXP,
  KIND_BOXED,
  KIND_PROMISE,
  KIND_PROXY,
  KIND_NAMESPACE,
} engine_kind;

engine_kind engine_kind_of(JSValueConst value);

// The object that holds the global `let`, `const` and `class` bindings.
JSValue engine_lexicals(JSContext *ctx);

// The entries of a Map or Set: `*cursor` is NULL for the first, and is advanced. The borrowed key and value live as
// long as the collection is not changed. False at the end.
bool engine_entry(JSValueConst collection, void **cursor, JSValueConst *key, JSValueConst *value);
uint32_t engine_entry_count(JSValueConst collection);
// What an iterator over a map or a set has still to give, as a list in which pairs are flat; undefined: it is none of these.
JSValue engine_rest_of_iterator(JSContext *ctx, JSValueConst iterator, bool *pairs);

// The bytes of an ArrayBuffer, typed array or DataView; NULL when detached.
const uint8_t *engine_bytes(JSContext *ctx, JSValueConst value, size_t *length);
// The same of any value; NULL: it has none, and an exception is thrown.
const uint8_t *engine_need_bytes(JSContext *ctx, JSValueConst value, size_t *length);
// A class of objects of ours, which every start of a runtime's context asks for.
void engine_class(JSContext *ctx, JSClassID *id, const JSClassDef *definition);

// Throws away the jobs of promises that nobody will wait for.
void engine_drop_jobs(JSRuntime *runtime);

// The value that follows asynchronous work: a promise's reaction, a job and a timer have that of who asked for them. Borrowed.
JSValueConst engine_async_context(void);
// Sets it; the result is what was there, and goes to the second function.
JSValue engine_enter_async_context(JSValueConst context);
void engine_leave_async_context(JSContext *ctx, JSValue outer);

// Makes the next Math.random() draw a new seed.
void engine_forget_seed(JSContext *ctx);

// Fills the small-block arenas, so that the blocks of a run come from new ones that lie side by side.
void engine_fill_arenas(JSRuntime *runtime, const void *top);

// The number of the running snippet; functions that are compiled meanwhile carry it. Zero for our own code.
extern uint32_t engine_evaluation;

// The number of the snippet that raised this error; zero when it is not known.
uint32_t engine_evaluation_of(JSValueConst error);

// Of `JS_Eval`: the code is a snippet's own. What it makes from text is, too.
#define ENGINE_EVAL_SNIPPET (1 << 16)

// Snippets may not make code from text: `eval` and the constructors of functions throw an EvalError.
extern bool engine_refuse_eval;

// Whether who is running may make code from text. False, with an exception: it is a snippet that may not.
bool engine_may_compile(JSContext *ctx);

// Whether the code of a file may run. False, with an exception: a snippet may make no code from text, and could have written
// the file.
bool engine_may_run(JSContext *ctx, const char *path);

// The next `eval` is the driver's own, for code of a snippet.
extern bool engine_own_eval;

// There was no memory for an error, and null was thrown in its place.
extern bool engine_error_lost;

// A top-level `import` or `export` of a module: where it is in the source, and, of an import, what it names.
typedef struct {
  size_t begin, end;
  // The module's name; undefined: an export.
  JSValue module;
  // Pairs of a name in the module, `*` for all of it, and the name here.
  JSValue names;
} engine_statement;

// Those of the module that is compiled between the two, in their order. A module that it imports is none of it.
void engine_note_statements(void);
const engine_statement *engine_noted_statements(size_t *count);
void engine_forget_statements(JSContext *ctx);

// Makes variables of what an import names, the pairs of a statement: they are the module's own, and only it may change them.
// False: an exception is thrown.
bool engine_bind_imports(JSContext *ctx, JSValueConst module, JSValueConst names);

// The namespace of the ES module of a file, which runs now; undefined: it waits for something.
JSValue engine_require_module(JSContext *ctx, const char *path);

// Gives a context another global object, which it takes over.
void engine_set_global(JSContext *ctx, JSValue global);

// For `gc_mark` of what holds a context.
void engine_mark_context(JSRuntime *runtime, JSContext *ctx, JS_MarkFunc *mark);

// Asked for a seed by Math.random() on first use; implemented by the driver.
uint64_t driver_random_seed(void);

#endif
