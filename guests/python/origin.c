// Whose code it is, and who may make code from text: a snippet can be refused it, a library cannot.
#define Py_BUILD_CORE 1
#include "python.h"

#include <internal/pycore_code.h>
#include <internal/pycore_interpframe.h>
#include <internal/pycore_pystate.h>
#include <string.h>

#include "driver.h"

// What each code object carries; the same as the code that made it, unless the driver compiles.
enum {
  // Of modules, wherever they come from. They make code for reasons of their own.
  OF_FILES,
  // A snippet's text, and all that it makes.
  OF_SNIPPETS,
  // Of the standard library: it does what its caller asks, so that one counts.
  BETWEEN,
};

static bool compiling;

static Py_ssize_t origin(void) {
  _PyInterpreterFrame *frame = compiling ? NULL : _PyThreadState_GetFrame(_PyThreadState_GET());
  return frame ? _PyFrame_GetCode(frame)->_co_unique_id : OF_SNIPPETS;
}

static int may_make(const char *how) {
  _PyInterpreterFrame *frame = _PyThreadState_GetFrame(_PyThreadState_GET());
  for (; frame; frame = _PyFrame_GetFirstComplete(frame->previous)) {
    Py_ssize_t owner = _PyFrame_GetCode(frame)->_co_unique_id;
    if (owner == OF_FILES) return 0;
    if (owner == OF_SNIPPETS) break;
  }
  // Nobody asks where an event loop calls `eval` itself.
  PyErr_Format(PyExc_PermissionError, "%s is not allowed here", how);
  return -1;
}

// Modules of the standard library that compile what they wrote themselves, or what lies in files.
static bool compiles(const char *file) {
  static const char *const files[] = {
      "annotationlib.py",  "ast.py",            "collections/__init__.py", "dataclasses.py", "gettext.py",
      "importlib/",        "inspect.py",        "logging/config.py",       "pydoc.py",       "py_compile.py",
      "runpy.py",          "typing.py",         "unittest/mock.py",        "zipimport.py",
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    if (strncmp(file, files[i], strlen(files[i])) == 0) return true;
  }
  return false;
}

void origin_of_image(PyCodeObject *code) {
  static const char library[] = "/usr/lib/python3.14/", own[] = "/<dormouse>/";
  const char *file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) {
    PyErr_Clear();
  } else if (strncmp(file, library, sizeof library - 1) == 0) {
    code->_co_unique_id = compiles(file + sizeof library - 1) ? OF_FILES : BETWEEN;
  } else if (strncmp(file, own, sizeof own - 1) == 0) {
    // But for the finder of modules.
    code->_co_unique_id = strstr(file, "importlib") ? OF_FILES : BETWEEN;
  }
}

// Opens a file whose code is to run. Where no code is made from text, what a run could have written is as good as text, and
// what was compiled before is compiled anew.
static PyObject *open_code(PyObject *path, void *data) {
  (void)data;
  if (_PyCode_MayMake) {
    const char *name = PyUnicode_AsUTF8(path);
    if (!name) return NULL;
    if (driver_can_be_written(name)) {
      PyErr_Format(PyExc_PermissionError, "code of %U is not allowed here: it can be written from here", path);
      return NULL;
    }
  }
  PyObject *io = PyImport_ImportModule("_io");
  PyObject *file = io ? PyObject_CallMethod(io, "open", "Os", path, "rb") : NULL;
  Py_XDECREF(io);
  return file;
}

void origin_start(void) {
  _PyCode_Origin = origin;
  if (PyFile_SetOpenCodeHook(open_code, NULL) < 0) abort();
}

void origin_begin(bool allow_eval) {
  int (*hook)(const char *) = allow_eval ? NULL : may_make;
  if (_PyCode_MayMake != hook) _PyCode_MayMake = hook;
}

PyObject *origin_eval(const char *expression, PyObject *globals) {
  while (*expression == ' ' || *expression == '\t') expression++;
  PyCompilerFlags flags = _PyCompilerFlags_INIT;
  flags.cf_flags = PyCF_SOURCE_IS_UTF8;
  compiling = true;
  PyObject *code = Py_CompileStringExFlags(expression, "<string>", Py_eval_input, &flags, -1);
  compiling = false;
  PyObject *value = code ? PyEval_EvalCode(code, globals, globals) : NULL;
  Py_XDECREF(code);
  return value;
}
