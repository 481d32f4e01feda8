// The exported `interpreter` interface, and the part of `state` that only this interpreter knows.
#include "python.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wasi/libc-environ.h>

#include "driver.h"

// Makes `import` look at the working directory, as it does elsewhere. Not before one was given: without files every
// import of something unknown would ask the host.
static void search_directory(void) {
  static bool done;
  PyObject *path = done ? NULL : PySys_GetObject("path");
  if (!path || !PyList_Check(path)) return;
  PyObject *here = PyUnicode_FromString("");
  done = here && PyList_Insert(path, 0, here) == 0;
  Py_XDECREF(here);
}

// Of CPython (see the edit of _randommodule.c).
void _PyRandom_Reseed(void);

// Where other instances may go on from the same saved state, this one draws other random numbers.
static void wake(void) {
  if (!driver_restored()) return;
  _PyRandom_Reseed();
  driver_reseed_sqlite();
}

// What every call that runs a snippet's code begins with. False: an exception is set.
static bool begin(options_t *options) {
  wake();
  streams_begin();
  origin_begin(options->allow_eval);
  if (options->refresh_environment) {
    driver_forget_world();
    PyObject *done = PyObject_CallNoArgs(python.refresh);
    if (!done) return false;
    Py_DECREF(done);
  }
  if (options->directory.is_some) {
    guest_string_t *directory = &options->directory.val;
    char *path = strndup((const char *)directory->ptr, directory->len);
    bool done = path && chdir(path) == 0;
    if (!done) PyErr_SetFromErrnoWithFilename(PyExc_OSError, path ? path : "");
    free(path);
    if (!done) return false;
    search_directory();
  }
  return true;
}

static void end(options_t *options) {
  streams_flush();
  exports_dormouse_sandbox_interpreter_options_free(options);
}

static PyObject *str_of(const guest_string_t *text) {
  return PyUnicode_DecodeUTF8((const char *)text->ptr, (Py_ssize_t)text->len, "replace");
}

// The text with a zero at its end. Takes the string.
static char *terminated(guest_string_t *text) {
  char *bytes = text->len ? realloc(text->ptr, text->len + 1) : malloc(1);
  if (bytes) bytes[text->len] = 0;
  return bytes;
}

// What the program that waits was begun with.
static struct {
  bool waits, allow_eval;
  bounds_t bounds;
} program;

// Forgets a program that waits.
static void abandon(void) {
  if (program.waits) eval_end();
  program.waits = false;
}

static progress_t begin_program(guest_string_t *source, options_t *options) {
  abandon();
  program.allow_eval = options->allow_eval;
  program.bounds = options->bounds;
  PyObject *name = str_of(&options->name);
  size_t length = source->len;
  char *text = terminated(source);
  if (!text) PyErr_NoMemory();
  progress_t progress = {0};
  if (name && text && begin(options)) progress = eval_snippet(text, length, name);
  else free(text);
  Py_XDECREF(name);
  return progress;
}

static void end_program(progress_t progress, outcome_t *outcome) {
  outcome_of(progress.object, &program.bounds, outcome);
  eval_end();
}

void exports_dormouse_sandbox_interpreter_eval(guest_string_t *source, options_t *options, outcome_t *outcome) {
  progress_t progress = begin_program(source, options);
  while (progress.waits) progress = eval_resume(wanted_wait(progress.object));
  end_program(progress, outcome);
  end(options);
}

static void tell(progress_t progress, exports_dormouse_sandbox_waiting_step_t *step) {
  program.waits = progress.waits && wanted_of(progress.object, &step->val.waits);
  step->tag = program.waits ? EXPORTS_DORMOUSE_SANDBOX_WAITING_STEP_WAITS : EXPORTS_DORMOUSE_SANDBOX_WAITING_STEP_ENDED;
  if (program.waits) return;
  if (progress.waits) progress.object = PyErr_NoMemory();
  end_program(progress, &step->val.ended);
}

void exports_dormouse_sandbox_waiting_start(guest_string_t *source, options_t *options,
                                            exports_dormouse_sandbox_waiting_step_t *step) {
  tell(begin_program(source, options), step);
  end(options);
}

void exports_dormouse_sandbox_waiting_resume(exports_dormouse_sandbox_waiting_list_answer_t *answers,
                                             exports_dormouse_sandbox_waiting_step_t *step) {
  wake();
  streams_begin();
  origin_begin(program.allow_eval);
  PyObject *list = wanted_answers(&(answers_t){answers->ptr, answers->len});
  if (!program.waits) {
    Py_XDECREF(list);
    list = PyErr_Format(PyExc_RuntimeError, "no program waits");
  }
  program.waits = false;
  tell(eval_resume(list), step);
  streams_flush();
}

void exports_dormouse_sandbox_interpreter_get(guest_string_t *name, guest_string_t *query, options_t *options,
                                              outcome_t *outcome) {
  PyObject *value = NULL, *key = str_of(name), *expression = query ? str_of(query) : Py_NewRef(Py_None);
  if (key && expression && begin(options)) value = PyObject_CallFunctionObjArgs(python.get, key, expression, NULL);
  Py_XDECREF(key);
  Py_XDECREF(expression);
  outcome_of(value, &options->bounds, outcome);
  guest_string_free(name);
  if (query) guest_string_free(query);
  end(options);
}

bool exports_dormouse_sandbox_interpreter_set(guest_string_t *name, guest_string_t *json, guest_string_t *error) {
  PyObject *key = str_of(name), *text = str_of(json);
  guest_string_free(name);
  guest_string_free(json);
  wake();
  PyObject *problem = key && text ? PyObject_CallFunctionObjArgs(python.set, key, text, NULL) : NULL;
  Py_XDECREF(key);
  Py_XDECREF(text);
  PyErr_Clear();
  bool done = problem == Py_None;
  if (!done && !(problem && outcome_text(problem, error))) guest_string_dup(error, "out of memory");
  Py_XDECREF(problem);
  return done;
}

void exports_dormouse_sandbox_interpreter_vars(bounds_t *bounds, guest_string_t *list) {
  wake();
  streams_begin();
  PyObject *text = PyObject_CallFunction(python.vars, "I", bounds->total_bytes);
  PyErr_Clear();
  if (!(text && outcome_text(text, list))) guest_string_dup(list, "[]");
  Py_XDECREF(text);
  streams_flush();
}

void exports_dormouse_sandbox_interpreter_reset(void) {
  wake();
  abandon();
  PyObject *done = PyObject_CallNoArgs(python.reset);
  PyErr_Clear();
  Py_XDECREF(done);
  PyGC_Collect();
}

void driver_rest(void) { streams_flush(); }
