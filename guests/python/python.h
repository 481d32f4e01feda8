// What the files of the Python driver share.
#ifndef DORMOUSE_PYTHON_H
#define DORMOUSE_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include "guest.h"

typedef exports_dormouse_sandbox_interpreter_bounds_t bounds_t;
typedef exports_dormouse_sandbox_interpreter_options_t options_t;
typedef exports_dormouse_sandbox_interpreter_outcome_t outcome_t;
typedef dormouse_sandbox_host_wanted_t wanted_t;
typedef dormouse_sandbox_host_list_answer_t answers_t;

// The interpreter's objects that every call needs. They live as long as the image.
typedef struct {
  PyObject *globals;       // the dictionary of `__main__`
  PyObject *underscore;    // the name `_`
  PyObject *flush;         // the name `flush`
  PyObject *encode_value;  // boot/_dormouse/values.py
  PyObject *encode_error;  // boot/_dormouse/errors.py
  PyObject *run_loop;      // boot/_dormouse/loop.py
  PyObject *split;         // boot/_dormouse/parts.py
  PyObject *new_calls, *known_calls, *forget_calls;  // boot/_dormouse/waiting.py
  PyObject *refresh, *open_streams;  // boot/_dormouse/world.py
  PyObject *get, *set, *vars, *reset;              // boot/_dormouse/session.py
} python_t;
extern python_t python;

// eval.c

// How far a snippet came. The object is its value, or what it waits for (boot/_dormouse/waiting.py); NULL: an exception is set.
typedef struct {
  PyObject *object;
  bool waits;
} progress_t;
// Compiles a snippet and runs it, until it ends or waits. Takes the text, which must be from `malloc`.
progress_t eval_snippet(char *text, size_t length, PyObject *name);
// Goes on with the snippet that waits. Takes the answers, which are NULL with an exception set if they could not be made.
progress_t eval_resume(PyObject *answers);
// After the outcome of a snippet was made, or instead of it: lets go of its source unless code made from it lives on.
void eval_end(void);
// The source of the snippet whose code has this name object, as a new reference; NULL without an exception: none.
PyObject *eval_source_of(PyObject *name);

// origin.c

// Marks code of the image as a library's, where it is.
void origin_of_image(PyCodeObject *code);
// Marks code of the library that was loaded later, with all that is in it.
void origin_of_library(PyCodeObject *code);
// From here on, code is marked when it is made.
void origin_start(void);
// A call begins, in which snippets may make code from text or not.
void origin_begin(bool allow_eval);
// Whether the run that is under way may not make code from text.
bool origin_is_strict(void);
// The value of an expression that belongs to a snippet.
PyObject *origin_eval(const char *expression, PyObject *globals);

// encode.c

// The JSON text of a value of a simple type; false: it is of another, or too large.
bool encode_scalar(PyObject *value, const bounds_t *bounds, guest_string_t *text);

// wanted.c

// What a program waits for, in the contract's form. Takes the object. False: there is no memory.
bool wanted_of(PyObject *told, wanted_t *wanted);
// Answers as a list. Takes what they are made of. NULL: an exception is set.
PyObject *wanted_answers(answers_t *answers);
// Waits in the middle of a run. Takes the object. NULL: an exception is set.
PyObject *wanted_wait(PyObject *told);

// outcome.c

// The outcome of a call that came to a value (whose reference is taken) or, when it is NULL, to an exception.
void outcome_of(PyObject *value, const bounds_t *bounds, outcome_t *outcome);
// A copy of a str's UTF-8 form, in memory from `malloc`. False: there is no memory for it.
bool outcome_text(PyObject *text, guest_string_t *copy);

// streams.c

// Gives `sys` its standard streams back if the last call replaced or closed them.
void streams_begin(void);
void streams_flush(void);
// The streams are not to be trusted any more; the next call gets new ones.
void streams_renew(void);

// host.c

PyObject *host_module(void);

// net.c

PyObject *net_module(void);

// digests.c

PyObject *digests_module(void);

// image.c

// Makes every object there is immortal, so that using one does not write to its page.
void image_immortalise(void);
// Fills the holes of Python's allocator and of libc's below it.
void image_fill(void);
// The same for holes that came since, as the last step.
void image_refill(void);

#endif
