// Whose code it is, and who may make code from text: a snippet can be refused it, a library cannot.
#define Py_BUILD_CORE 1
#include "python.h"

#include <internal/pycore_code.h>
#include <internal/pycore_interpframe.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_stackref.h>
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
  // Further functions of the standard library, marks that go together. None excuses what it calls, only what it does itself.
  // It makes code of text that it wrote itself, or that lies in a file.
  MAKES = 4,
  // It makes code of text that it is given: it may where the function that called it GRANTS it, or LOADS.
  HELPS = 8,
  GRANTS = 16,
  // The same of a method of a loader, where none of the loader's methods is a snippet's.
  LOADS = 32,
  // What it makes is a module's that lies in a file.
  READS = 64,
};

static bool compiling;

static Py_ssize_t origin(void) {
  _PyInterpreterFrame *frame = compiling ? NULL : _PyThreadState_GetFrame(_PyThreadState_GET());
  Py_ssize_t owner = frame ? _PyFrame_GetCode(frame)->_co_unique_id : OF_SNIPPETS;
  if (owner <= BETWEEN) return owner;
  return owner & READS ? OF_FILES : BETWEEN;
}

// Whether what a type has under a name is anything but a method that is no snippet's.
static bool is_strange(PyObject *method) {
  PyObject *inner = PyFunction_Check(method) ? Py_NewRef(method) : PyObject_GetAttrString(method, "__func__");
  bool strange = !inner || !PyFunction_Check(inner) ||
                 ((PyCodeObject *)PyFunction_GET_CODE(inner))->_co_unique_id == OF_SNIPPETS;
  if (!inner) PyErr_Clear();
  Py_XDECREF(inner);
  return strange;
}

// Whether the method of a loader that runs in this frame reads what the loader's own methods give it, and these are no snippet's.
static bool loads(_PyInterpreterFrame *frame) {
  if (_PyFrame_GetCode(frame)->co_argcount < 1 || PyStackRef_IsNull(frame->localsplus[0])) return false;
  PyObject *loader = PyStackRef_AsPyObjectBorrow(frame->localsplus[0]);
  if (Py_TYPE(loader)->tp_getattro != PyObject_GenericGetAttr) return false;
  PyObject *own = PyObject_GenericGetDict(loader, NULL);
  if (!own) PyErr_Clear();
  static const char *const names[] = {"get_code", "get_data", "get_source", "get_filename", "source_to_code"};
  bool plain = true;
  for (size_t i = 0; plain && i < sizeof names / sizeof *names; i++) {
    PyObject *name = PyUnicode_InternFromString(names[i]);
    PyObject *method = name ? _PyType_Lookup(Py_TYPE(loader), name) : NULL;
    plain = name && !(method && is_strange(method)) && !(own && PyDict_Contains(own, name) != 0);
    Py_XDECREF(name);
  }
  PyErr_Clear();
  Py_XDECREF(own);
  return plain;
}

static int refused(const char *how) {
  PyErr_Format(PyExc_PermissionError, "%s is not allowed here", how);
  return -1;
}

static int may_make(const char *how) {
  _PyInterpreterFrame *frame = _PyThreadState_GetFrame(_PyThreadState_GET());
  // Whether this frame is the one that makes the code; whether all that it called are those that help.
  bool first = true, helped = false;
  for (; frame; frame = _PyFrame_GetFirstComplete(frame->previous)) {
    Py_ssize_t owner = _PyFrame_GetCode(frame)->_co_unique_id;
    if (owner == OF_FILES) return 0;
    if (owner == OF_SNIPPETS) break;
    if (owner > BETWEEN) {
      if (first && owner & MAKES) return 0;
      if (helped && owner & GRANTS) return 0;
      if (helped && owner & LOADS && loads(frame)) return 0;
    }
    helped = owner > BETWEEN && owner & HELPS && (first || helped);
    first = false;
  }
  // Nobody asks where an event loop calls `eval` itself.
  return refused(how);
}

// What in the standard library and in the driver makes code, and on what grounds. Whatever else does so does it with text of its
// caller's. A function that is listed here must not run what it is given: `exec` as a callback would be its own act then.
static const struct {
  const char *module, *function;
  Py_ssize_t kind;
} makers[] = {
    {"ast", "parse", MAKES},
    {"collections", "namedtuple", MAKES},
    {"gettext", "c2py", MAKES},
    {"inspect", "_signature_fromstr.<locals>.wrap_value", MAKES},
    {"unittest.mock", "_set_signature", MAKES},
    {"unittest.mock", "_set_async_signature", MAKES},
    {"dataclasses", "_FuncBuilder.add_fns_to_class", HELPS},
    {"dataclasses", "_process_class", GRANTS},
    {"multiprocessing.managers", "MakeProxyType", HELPS},
    {"multiprocessing.managers", "<module>", GRANTS},
    {"_dormouse.annotations", "_compile", HELPS},
    {"_dormouse.annotations", "_eval", HELPS},
    {"_dormouse.annotations", "compile_type", GRANTS},
    {"_dormouse.annotations", "eval_type", GRANTS},
    {"importlib._bootstrap", "_call_with_frames_removed", HELPS | READS},
    {"importlib._bootstrap", "FrozenImporter.exec_module", MAKES | GRANTS},
    {"importlib._bootstrap", "FrozenImporter.get_code", MAKES},
    {"importlib._bootstrap_external", "_LoaderBasics.exec_module", LOADS},
    {"importlib._bootstrap_external", "SourceLoader.source_to_code", HELPS},
    {"importlib._bootstrap_external", "SourceLoader.get_code", LOADS},
    {"importlib._bootstrap_external", "SourcelessFileLoader.get_code", LOADS},
    {"importlib._bootstrap_external", "_compile_bytecode", HELPS | READS},
    {"importlib._bootstrap_external", "NamespaceLoader.get_code", MAKES},
    {"pkgutil", "read_code", HELPS | READS},
    {"py_compile", "compile", GRANTS},
    {"runpy", "_get_code_from_file", MAKES | GRANTS | READS},
    {"runpy", "_run_code", HELPS},
    {"runpy", "_run_module_code", HELPS},
    {"runpy", "run_path", GRANTS},
    {"runpy", "run_module", GRANTS},
    {"runpy", "_run_module_as_main", GRANTS},
    {"zipimport", "_compile_source", HELPS | READS},
    {"zipimport", "_unmarshal_code", HELPS | READS},
    {"zipimport", "_get_module_code", GRANTS},
    {"zipimport", "zipimporter.load_module", MAKES},
};

// Whether a file, named from the folder of all modules or as one that is frozen, is a module's.
static bool is_module(const char *file, const char *module) {
  for (; *module; file++, module++) {
    if (*file != *module && !(*file == '/' && *module == '.')) return false;
  }
  return strcmp(file, ">") == 0 || strcmp(file, ".py") == 0 || strcmp(file, "/__init__.py") == 0;
}

static Py_ssize_t kind(const char *file, PyCodeObject *code) {
  const char *function = PyUnicode_AsUTF8(code->co_qualname);
  if (!function) PyErr_Clear();
  for (size_t i = 0; function && i < sizeof makers / sizeof *makers; i++) {
    if (strcmp(function, makers[i].function) == 0 && is_module(file, makers[i].module)) return makers[i].kind;
  }
  return BETWEEN;
}

void origin_of_image(PyCodeObject *code) {
  static const char library[] = "/usr/lib/python3.14/", own[] = "/<dormouse>/", frozen[] = "<frozen ";
  const char *file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) {
    PyErr_Clear();
  } else if (strncmp(file, library, sizeof library - 1) == 0) {
    code->_co_unique_id = kind(file + sizeof library - 1, code);
  } else if (strncmp(file, frozen, sizeof frozen - 1) == 0) {
    code->_co_unique_id = kind(file + sizeof frozen - 1, code);
  } else if (strncmp(file, own, sizeof own - 1) == 0) {
    // But for the finder of modules.
    code->_co_unique_id = strstr(file, "importlib") ? OF_FILES : kind(file + sizeof own - 1, code);
  }
}

void origin_of_library(PyCodeObject *code) {
  // It only ever takes: whoever calls this with code of another loses by it.
  if (code->_co_unique_id == OF_FILES) origin_of_image(code);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
    PyObject *item = PyTuple_GET_ITEM(code->co_consts, i);
    if (PyCode_Check(item)) origin_of_library((PyCodeObject *)item);
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

bool origin_is_strict(void) {
  return _PyCode_MayMake != NULL;
}

void origin_begin(bool allow_eval) {
  int (*hook)(const char *) = allow_eval ? NULL : may_make;
  if (_PyCode_MayMake != hook) _PyCode_MayMake = hook;
}

PyObject *origin_eval(const char *expression, PyObject *globals) {
  // It is the host's to ask, while nothing runs.
  _PyInterpreterFrame *frame = _PyCode_MayMake ? _PyThreadState_GetFrame(_PyThreadState_GET()) : NULL;
  for (; frame; frame = _PyFrame_GetFirstComplete(frame->previous)) {
    if (_PyFrame_GetCode(frame)->_co_unique_id != OF_SNIPPETS) continue;
    refused("eval_query");
    return NULL;
  }
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
