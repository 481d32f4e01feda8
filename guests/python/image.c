// What is done to the finished interpreter so that an instance of its image touches few pages of memory.
#define Py_BUILD_CORE 1
#include "python.h"

#include <internal/pycore_backoff.h>
#include <internal/pycore_code.h>
#include <internal/pycore_gc.h>
#include <internal/pycore_opcode_metadata.h>
#include <internal/pycore_typeobject.h>
#include <opcode_ids.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

// Above the count at which the interpreter stops counting, below that of statically allocated objects.
#define FOREVER (_Py_IMMORTAL_INITIAL_REFCNT + 1)

// Free memory at the end of the image, in bytes.
#define RESERVE (512 * 1024)

static PyObject **pending;
static size_t pending_count, pending_room;

static int visit(PyObject *object, void *) {
  if (!object || _Py_IsImmortal(object)) return 0;
  object->ob_refcnt = FOREVER;
  if (pending_count == pending_room) {
    pending_room = pending_room ? pending_room * 2 : 65536;
    pending = realloc(pending, pending_room * sizeof *pending);
    if (!pending) abort();
  }
  pending[pending_count++] = object;
  return 0;
}

// Code objects are not tracked by the garbage collector, so nothing says what they refer to.
static void visit_code(PyCodeObject *code) {
  PyObject *parts[] = {code->co_consts, code->co_names, code->co_exceptiontable, code->co_localsplusnames,
                       code->co_localspluskinds, code->co_filename, code->co_name, code->co_qualname,
                       code->co_linetable};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) visit(parts[i], NULL);
}

static void visit_type(PyTypeObject *type) {
  // Borrowed for the visit; an immortal dictionary does not mind the lost count.
  visit(PyType_GetDict(type), NULL);
  visit(type->tp_mro, NULL);
  visit(type->tp_bases, NULL);
}

// Whether code of this file runs for most calls: the driver's own, and what renders exceptions.
static bool is_hot(PyObject *file) {
  static const char *const parts[] = {"/<dormouse>/", "/traceback.py", "/linecache.py", "/textwrap.py", "/codecs.py",
                                      "/contextlib.py", "/json/encoder.py", "/json/__init__.py", "/_colorize.py"};
  const char *name = PyUnicode_AsUTF8(file);
  for (size_t i = 0; name && i < sizeof parts / sizeof *parts; i++) {
    if (strstr(name, parts[i])) return true;
  }
  PyErr_Clear();
  return false;
}

// Code counts its way to the next attempt to specialise an instruction. After the warm-up the counts of hot code are
// of no more use; stopping them spares an instance the copy of the page. And loads of constants that were mortal when
// they were specialised count references unchecked: without end, now that nothing counts them down again.
static void settle_code(PyCodeObject *code) {
  bool hot = is_hot(code->co_filename);
  origin_of_image(code);
  _Py_CODEUNIT *instructions = _PyCode_CODE(code);
  for (Py_ssize_t i = 0; i < Py_SIZE(code); i++) {
    if (instructions[i].op.code == LOAD_CONST_MORTAL) instructions[i].op.code = LOAD_CONST_IMMORTAL;
    int caches = _PyOpcode_Caches[_PyOpcode_Deopt[instructions[i].op.code]];
    if (hot && caches && i + caches < Py_SIZE(code)) {
      instructions[i + 1].counter = initial_unreachable_backoff_counter();
    }
    i += caches;
  }
}

// The types of the interpreter itself are immortal from the start, so nothing but this leads to what they refer to.
static void visit_subclasses(PyTypeObject *type) {
  visit_type(type);
  PyObject *subclasses = _PyType_GetSubclasses(type);
  if (!subclasses) abort();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(subclasses); i++) {
    PyTypeObject *subclass = (PyTypeObject *)PyList_GET_ITEM(subclasses, i);
    // `type` is a subclass of `object` and not the reverse, so this ends.
    visit_subclasses(subclass);
  }
  Py_DECREF(subclasses);
}

void image_immortalise(void) {
  PyObject *collector = PyImport_ImportModule("gc");
  PyObject *objects = collector ? PyObject_CallMethod(collector, "get_objects", NULL) : NULL;
  if (!objects) abort();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects); i++) {
    PyObject *object = PyList_GET_ITEM(objects, i);
    if (object != objects) visit(object, NULL);
  }
  visit(collector, NULL);
  visit_subclasses(&PyBaseObject_Type);
  while (pending_count) {
    PyObject *object = pending[--pending_count];
    if (PyCode_Check(object)) {
      visit_code((PyCodeObject *)object);
      settle_code((PyCodeObject *)object);
    } else if (Py_TYPE(object)->tp_traverse && PyObject_IS_GC(object)) {
      // Static types have the slot and refuse to be traversed.
      Py_TYPE(object)->tp_traverse(object, visit, NULL);
    }
    if (PyType_Check(object)) visit_type((PyTypeObject *)object);
    visit((PyObject *)Py_TYPE(object), NULL);
  }
  free(pending);
  pending = NULL;
  pending_room = 0;
  Py_DECREF(objects);
}

// The end of the memory that `image_fill` has filled.
static char *filled;

// Takes the blocks of one size that are free below `filled`. Those above belong to the part that calls will use.
static void fill_size(size_t size) {
  // Holes come first in the allocator's lists; a few pools further there are none.
  enum { BYTES = 3 * 4096 };
  static char *above[BYTES / 8];
  size_t count = 0;
  while (count * size < BYTES) {
    char *block = PyObject_Malloc(size);
    if (!block) break;
    if (block >= filled) above[count++] = block;
  }
  while (count) PyObject_Free(above[--count]);
}

static void fill_sizes(void) {
  for (size_t size = 512; size >= 8; size -= 8) fill_size(size);
}

void image_fill(void) {
  driver_fill_heap();
  filled = sbrk(0);
  fill_sizes();
}

void image_refill(void) {
  fill_sizes();
  driver_fill_heap();
  // Calls should find memory in the image and not have to grow it.
  free(malloc(RESERVE));
}
