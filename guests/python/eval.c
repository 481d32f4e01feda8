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

void eval_end(void) {
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

static PyCodeObject *compile(const char *text, PyObject *name) {
  PyCompilerFlags flags = _PyCompilerFlags_INIT;
  flags.cf_flags = PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE | PyCF_ALLOW_TOP_LEVEL_AWAIT | PyCF_RETURN_LAST_VALUE;
  PyArena *arena = _PyArena_New();
  if (!arena) return NULL;
  mod_ty module = _PyParser_ASTFromString(text, name, Py_file_input, &flags, arena);
  PyCodeObject *code = module ? _PyAST_Compile(module, name, &flags, -1, arena) : NULL;
  _PyArena_Free(arena);
  return code;
}

static PyObject *run(PyCodeObject *code) {
  PyObject *value = PyEval_EvalCode((PyObject *)code, python.globals, python.globals);
  if (value && code->co_flags & CO_COROUTINE) {
    PyObject *coroutine = value;
    value = PyObject_CallOneArg(python.run_loop, coroutine);
    Py_DECREF(coroutine);
  }
  if (value && value != Py_None && PyDict_SetItem(python.globals, python.underscore, value) < 0) Py_CLEAR(value);
  return value;
}

PyObject *eval_snippet(char *text, size_t length, PyObject *name) {
  current = (source_t){Py_NewRef(name), text, length};
  PyObject *value = NULL;
  static const char mark[] = "\xef\xbb\xbf";
  if (memchr(text, 0, length)) {
    PyErr_SetString(PyExc_SyntaxError, "source code string cannot contain null bytes");
  } else {
    PyCodeObject *code = compile(strncmp(text, mark, 3) ? text : text + 3, name);
    value = code ? run(code) : NULL;
    Py_XDECREF(code);
  }
  return value;
}
