// Starts the interpreter once, while the guest is built; the memory it leaves behind is what instances begin with.
#define Py_BUILD_CORE 1
#include "python.h"

#include <internal/pycore_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

// Where the build's folders are seen. The library's is also what its modules say they were loaded from.
#define LIBRARY "/usr/lib/python3.14"
#define WIDE_(text) L##text
#define WIDE(text) WIDE_(text)
#define BOOT "/<dormouse>"
#define ZONES "/zoneinfo"
#define PACKAGES "/packages"

// Of wasm-ld: the end at which the C stack begins.
extern unsigned char __stack_high;

// How much of the C stack Python may use before it raises RecursionError. Half of it: what recurses in C can take
// time that grows with the square of the depth, `repr` of nested lists for one.
#define PYTHON_STACK (4 << 20)

python_t python;

[[noreturn]] static void die(const char *what) {
  fprintf(stderr, "cannot start Python: %s\n", what);
  if (PyErr_Occurred()) PyErr_Print();
  abort();
}

static void check(PyStatus status) {
  if (PyStatus_Exception(status)) die(status.err_msg ? status.err_msg : "unknown status");
}

static void set(PyConfig *config, wchar_t **field, const wchar_t *value) {
  check(PyConfig_SetString(config, field, value));
}

PyObject *PyInit__ctypes(void);
PyObject *PyInit__zstd(void);
PyObject *PyInit__pydantic_core(void);
PyObject *PyInit_jiter(void);
PyObject *PyInit_rpds(void);
PyObject *PyInit__regex(void);

// Who can write to any address can make code, whatever is allowed.
static PyObject *ctypes_module(void) {
  if (!origin_is_strict()) return PyInit__ctypes();
  PyErr_SetString(PyExc_ModuleNotFoundError, "`ctypes` is not available in this run: eval is not allowed here");
  return NULL;
}

static void start_interpreter(void) {
  PyPreConfig before;
  PyPreConfig_InitIsolatedConfig(&before);
  before.utf8_mode = 1;
  check(Py_PreInitialize(&before));
  PyImport_AppendInittab("_dormouse_host", host_module);
  PyImport_AppendInittab("_dormouse_net", net_module);
  PyImport_AppendInittab("_dormouse_digests", digests_module);
  PyImport_AppendInittab("_ctypes", ctypes_module);
  PyImport_AppendInittab("_zstd", PyInit__zstd);
  PyImport_AppendInittab("pydantic_core._pydantic_core", PyInit__pydantic_core);
  PyImport_AppendInittab("jiter.jiter", PyInit_jiter);
  PyImport_AppendInittab("rpds.rpds", PyInit_rpds);
  PyImport_AppendInittab("regex._regex", PyInit__regex);
  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);
  config.install_signal_handlers = 0;
  config.write_bytecode = 0;
  config.pathconfig_warnings = 0;
  // Strings keep the hashes they have in the image, so a secret could not differ between instances anyway. A known
  // one makes builds and runs repeatable.
  config.use_hash_seed = 1;
  config.hash_seed = 0;
  config.module_search_paths_set = 1;
  check(PyWideStringList_Append(&config.module_search_paths, WIDE(LIBRARY)));
  check(PyWideStringList_Append(&config.module_search_paths, WIDE(BOOT)));
  set(&config, &config.program_name, L"python3");
  set(&config, &config.executable, L"/usr/bin/python3");
  set(&config, &config.home, L"/usr");
  set(&config, &config.stdlib_dir, WIDE(LIBRARY));
  set(&config, &config.prefix, L"/usr");
  set(&config, &config.exec_prefix, L"/usr");
  check(Py_InitializeFromConfig(&config));
  PyConfig_Clear(&config);
  unsigned char *end = &__stack_high - PYTHON_STACK;
  if (PyUnstable_ThreadState_SetStackProtection(PyThreadState_Get(), end, PYTHON_STACK) < 0) {
    die("stack protection");
  }
}

static PyObject *function(const char *module, const char *name) {
  PyObject *imported = PyImport_ImportModule(module);
  PyObject *found = imported ? PyObject_GetAttrString(imported, name) : NULL;
  if (!found) die(module);
  Py_DECREF(imported);
  return found;
}

static void find_functions(void) {
  PyObject *main = PyImport_AddModuleRef("__main__");
  if (!main) die("__main__");
  python = (python_t){
      .globals = Py_NewRef(PyModule_GetDict(main)),
      .underscore = PyUnicode_InternFromString("_"),
      .flush = PyUnicode_InternFromString("flush"),
      .encode_value = function("_dormouse.values", "encode"),
      .encode_error = function("_dormouse.errors", "encode"),
      .run_loop = function("_dormouse.loop", "run"),
      .split = function("_dormouse.parts", "split"),
      .new_calls = function("_dormouse.waiting", "_new"),
      .known_calls = function("_dormouse.waiting", "_known"),
      .forget_calls = function("_dormouse.waiting", "forget"),
      .refresh = function("_dormouse.world", "refresh"),
      .open_streams = function("_dormouse.world", "open_streams"),
      .get = function("_dormouse.session", "get"),
      .set = function("_dormouse.session", "set"),
      .vars = function("_dormouse.session", "vars"),
      .reset = function("_dormouse.session", "reset"),
  };
}

static void call(const char *module, const char *name, const char *form, const char *a, const char *b, const char *c) {
  PyObject *found = function(module, name);
  PyObject *done = PyObject_CallFunction(found, form, a, b, c);
  if (!done) die(name);
  Py_DECREF(done);
  Py_DECREF(found);
}

// One call as the host makes it.
static void try(const char *source) {
  guest_string_t text;
  guest_string_dup(&text, source);
  options_t options = {.allow_eval = true, .bounds = {3, 50, 10000, 262144, 30, 0}};
  guest_string_dup(&options.name, "<snippet>");
  outcome_t outcome;
  exports_dormouse_sandbox_interpreter_eval(&text, &options, &outcome);
  exports_dormouse_sandbox_interpreter_outcome_free(&outcome);
}

// Ordinary snippets, so that the interpreter's adaptive parts settle before the image is taken and instances do not
// write there any more.
static void warm_up(void) {
  static const char *const snippets[] = {
      "1+1", "x = 1\nx", "print(end='')", "import math\nmath.sqrt(2)", "'a' + 'b'", "[1, 2, 3]", "{'a': 1, 'b': [1, 2]}",
      "def f(a, b=2):\n  return a + b\nf(1)", "[i * i for i in range(10)]", "sum(i for i in range(10))",
      "d = {'a': 1}\nfor k, v in d.items():\n  d[k] = v + 1\nd", "import json\njson.dumps({'a': [1, 2.5, None]})",
      "class A:\n  def __init__(self): self.x = 1\n  def m(self): return self.x\nA().m()", "A()", "{1, 2}", "(1, 'x')",
      "f'{3.14159:.2f} {1!r}'", "try:\n  1/0\nexcept ZeroDivisionError as e:\n  str(e)", "def g():\n  return 1/0\ng()",
      "a b", "undefined_name", "import re\nre.findall('[a-z]+', 'ab cd')", "' '.join(sorted(['b', 'a'])).upper()",
      "x, *y = [1, 2, 3]\nwhile x < 5:\n  x += 1\nelse:\n  x = 0\ny", "lambda x: x", "b'abc'", "1.5", "2**100", "None",
      "with open('/nowhere') as f:\n  f.read()", "import datetime\ndatetime.date(2024, 1, 1)", "range(5)",
      "import asyncio\nawait asyncio.sleep(0)", "raise ValueError('x') from KeyError('y')",
  };
  for (int round = 0; round < 40; round++) {
    for (size_t i = 0; i < sizeof snippets / sizeof *snippets; i++) try(snippets[i]);
  }
}

__attribute__((export_name("wizer-initialize"))) void wizer_initialize(void) {
  start_interpreter();
  call("_dormouse.build_facts", "install", NULL, NULL, NULL, NULL);
  call("_dormouse.prepare", "prepare", "sss", LIBRARY, ZONES, PACKAGES);
  find_functions();
  driver_start_sqlite();
  warm_up();
  call("_dormouse.prepare", "finish", NULL, NULL, NULL, NULL);
  image_immortalise();
  image_fill();
  origin_start();
  // From here on, allocations lie where an instance's own will: what every call writes to should be among them.
  streams_renew();
  for (int i = 0; i < 3; i++) try("1+1");
  exports_dormouse_sandbox_interpreter_reset();
  image_refill();
  fprintf(stderr, "python: an image of %zu KiB\n", __builtin_wasm_memory_size(0) * 64);
  driver_end_initialisation();
}
