// Compiling and running snippets, and keeping the sources of those whose code lives on.
#define Py_BUILD_CORE 1
#include "python.h"

#include <internal/pycore_ast.h>
#include <internal/pycore_compile.h>
#include <internal/pycore_parser.h>
#include <internal/pycore_pyarena.h>
#include <string.h>

// A snippet's source. The name is one `str` object for each snippet, and every code object made from the snippet
// refers to it: so it identifies the snippet, and its reference count tells whether any code is left.
typedef struct {
  PyObject *name;
  char *text;
  size_t length;
} source_t;

static source_t *sources;
static size_t source_count, source_room;
// The snippet that is running; snippets do not nest.
static source_t current;

// The parts of the snippet that runs, which part is next, and the run of the last one, if it waits.
static struct {
  PyObject *parts;
  Py_ssize_t next;
  PyObject *waiting;
} program;

static void forget_unused(void) {
  size_t kept = 0;
  for (size_t i = 0; i < source_count; i++) {
    if (Py_REFCNT(sources[i].name) > 1) {
      sources[kept++] = sources[i];
    } else {
      Py_DECREF(sources[i].name);
      free(sources[i].text);
    }
  }
  source_count = kept;
}

static void forget_program(void) {
  Py_CLEAR(program.waiting);
  Py_CLEAR(program.parts);
  // Most have made none: to look is cheaper than to call.
  if (!PyObject_Size(python.new_calls) && !PyObject_Size(python.known_calls)) return;
  PyObject *done = PyObject_CallNoArgs(python.forget_calls);
  if (!done) PyErr_Clear();
  Py_XDECREF(done);
}

void eval_end(void) {
  if (!current.name) return;
  forget_program();
  source_t source = current;
  current = (source_t){0};
  // The caller and `source` hold one reference each. The count of an immortal name (those of one character) says
  // nothing, so such snippets are not remembered.
  if (Py_REFCNT(source.name) > 2 && !_Py_IsImmortal(source.name)) {
    if (source_count == source_room) {
      forget_unused();
      if (source_count * 2 > source_room || !source_room) {
        size_t room = source_count ? source_count * 2 : 16;
        source_t *list = realloc(sources, room * sizeof *list);
        if (list) {
          sources = list;
          source_room = room;
        }
      }
    }
    if (source_count < source_room) {
      sources[source_count++] = source;
      return;
    }
  }
  Py_DECREF(source.name);
  free(source.text);
}

PyObject *eval_source_of(PyObject *name) {
  const source_t *found = current.name == name ? &current : NULL;
  for (size_t i = source_count; !found && i; i--) {
    if (sources[i - 1].name == name) found = &sources[i - 1];
  }
  return found ? PyUnicode_DecodeUTF8(found->text, (Py_ssize_t)found->length, "replace") : NULL;
}

static PyCompilerFlags flags_of_snippet(void) {
  PyCompilerFlags flags = _PyCompilerFlags_INIT;
  flags.cf_flags = PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE | PyCF_ALLOW_TOP_LEVEL_AWAIT | PyCF_RETURN_LAST_VALUE;
  return flags;
}

// The code of a snippet that is one part, in a list.
static PyObject *compile_whole(const char *text, PyObject *name) {
  PyCompilerFlags flags = flags_of_snippet();
  PyArena *arena = _PyArena_New();
  if (!arena) return NULL;
  mod_ty module = _PyParser_ASTFromString(text, name, Py_file_input, &flags, arena);
  PyObject *code = module ? (PyObject *)_PyAST_Compile(module, name, &flags, -1, arena) : NULL;
  _PyArena_Free(arena);
  return code ? Py_BuildValue("[N]", code) : NULL;
}

// Puts code in the place of the modules of a list.
static bool compile_parts(PyObject *modules, PyObject *name) {
  PyCompilerFlags flags = flags_of_snippet();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(modules); i++) {
    PyArena *arena = _PyArena_New();
    mod_ty module = arena ? PyAST_obj2mod(PyList_GET_ITEM(modules, i), arena, 0) : NULL;
    PyObject *code = module ? (PyObject *)_PyAST_Compile(module, name, &flags, -1, arena) : NULL;
    if (arena) _PyArena_Free(arena);
    if (!code) return false;
    // What the first says of the future holds for all.
    flags.cf_flags |= ((PyCodeObject *)code)->co_flags & PyCF_MASK;
    PyList_SetItem(modules, i, code);
  }
  return true;
}

// The code of a snippet's parts.
static PyObject *compile(const char *text, PyObject *name) {
  // Only what calls `asyncio.run` can have several.
  if (strstr(text, "asyncio") && strstr(text, "run")) {
    PyObject *modules = PyObject_CallFunction(python.split, "sO", text, name);
    if (modules && modules != Py_None && compile_parts(modules, name)) return modules;
    Py_XDECREF(modules);
    PyErr_Clear();
  }
  return compile_whole(text, name);
}

// Runs the next part, to its value or to the point where it waits.
static progress_t run_part(PyObject *value, PyObject *answers) {
  for (;;) {
    if (!program.waiting) {
      if (!value || program.next == PyList_GET_SIZE(program.parts)) return (progress_t){value, false};
      Py_DECREF(value);
      PyObject *code = PyList_GET_ITEM(program.parts, program.next++);
      value = PyEval_EvalCode(code, python.globals, python.globals);
      if (!value || !(((PyCodeObject *)code)->co_flags & CO_COROUTINE)) continue;
      program.waiting = PyObject_CallOneArg(python.run_loop, value);
      Py_CLEAR(value);
      if (!program.waiting) return (progress_t){NULL, false};
    }
    PySendResult sent = PyIter_Send(program.waiting, answers ? answers : Py_None, &value);
    Py_CLEAR(answers);
    if (sent == PYGEN_NEXT) return (progress_t){value, true};
    Py_CLEAR(program.waiting);
    if (sent == PYGEN_ERROR) value = NULL;
  }
}

static progress_t run(PyObject *value, PyObject *answers) {
  progress_t progress = run_part(value, answers);
  PyObject *last = progress.object;
  if (!progress.waits && last && last != Py_None && PyDict_SetItem(python.globals, python.underscore, last) < 0) {
    Py_CLEAR(progress.object);
  }
  return progress;
}

progress_t eval_snippet(char *text, size_t length, PyObject *name) {
  current = (source_t){Py_NewRef(name), text, length};
  static const char mark[] = "\xef\xbb\xbf";
  if (memchr(text, 0, length)) {
    PyErr_SetString(PyExc_SyntaxError, "source code string cannot contain null bytes");
    return (progress_t){NULL, false};
  }
  program.next = 0;
  program.parts = compile(strncmp(text, mark, 3) ? text : text + 3, name);
  return program.parts ? run(Py_NewRef(Py_None), NULL) : (progress_t){NULL, false};
}

progress_t eval_resume(PyObject *answers) {
  return answers ? run(NULL, answers) : (progress_t){NULL, false};
}
