// Code of our own in JavaScript: compiled once, while the guest is built, and evaluated from its bytecode.
#ifndef DORMOUSE_CODE_H
#define DORMOUSE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickjs.h"

// How a source is put into functions.
typedef enum {
  // As it is.
  CODE_BARE,
  // A module of the older kind. The objects of the language and those of the prelude are its variables, so that what a snippet calls
  // `Map` is none of its business.
  CODE_MODULE,
  // A function expression of `(native, shared)`, likewise with the language's own.
  CODE_PRELUDE,
} code_kind;

// A source; after its compilation it is only bytecode, and the room of the source is zero. Stack traces leave out what has the
// prefix `dormouse:` in its name.
typedef struct {
  const char *name;
  char *source;
  size_t length;
  code_kind kind;
  uint8_t *code;
  size_t code_length;
} code_part;

// Compiles it, unless that was done. A part that does not compile ends the build.
void code_compile(JSContext *ctx, code_part *part);
// The objects that parts have as variables, as an array. Taken before any snippet runs: first the language's, and, when the prelude
// has run, those that it makes.
JSValue code_globals(JSContext *ctx);
// What the part evaluates to.
JSValue code_evaluate(JSContext *ctx, code_part *part, JSValueConst globals);
// Ends the build, with the pending exception.
_Noreturn void code_fail(JSContext *ctx, const char *what);

#endif
