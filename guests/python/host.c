// The module `_dormouse_host`: what the driver's Python code needs from C.
#include "python.h"

#include <stdlib.h>
#include <string.h>
#include <wasi/api.h>
#include <wasi/libc-environ.h>

#include "devices.h"
#include "driver.h"
#include "timers.h"

static PyObject *call_tool(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "call_tool takes a name and a JSON text");
  Py_ssize_t lengths[2];
  guest_string_t texts[2];
  for (int i = 0; i < 2; i++) {
    const char *bytes = PyUnicode_AsUTF8AndSize(arguments[i], &lengths[i]);
    if (!bytes) return NULL;
    texts[i] = (guest_string_t){(uint8_t *)bytes, (size_t)lengths[i]};
  }
  guest_string_t answer = {0};
  bool done = dormouse_sandbox_host_call_tool(&texts[0], &texts[1], &answer, &answer);
  PyObject *text = PyUnicode_DecodeUTF8((const char *)answer.ptr, (Py_ssize_t)answer.len, "replace");
  guest_string_free(&answer);
  return text ? Py_BuildValue("(ON)", done ? Py_True : Py_False, text) : NULL;
}

// Waits for what the tuple says (boot/_dormouse/waiting.py).
static PyObject *wait(PyObject *, PyObject *told) {
  if (!PyTuple_Check(told) || PyTuple_GET_SIZE(told) != 3) return PyErr_Format(PyExc_TypeError, "wait takes a tuple of three");
  return wanted_wait(Py_NewRef(told));
}

static PyObject *source_of(PyObject *, PyObject *name) {
  PyObject *source = eval_source_of(name);
  if (!source && !PyErr_Occurred()) Py_RETURN_NONE;
  return source;
}

static PyObject *eval_query(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 2 || !PyDict_Check(arguments[1])) return PyErr_Format(PyExc_TypeError, "eval_query takes a str and a dict");
  Py_ssize_t length;
  const char *expression = PyUnicode_AsUTF8AndSize(arguments[0], &length);
  if (expression && strlen(expression) != (size_t)length) {
    PyErr_SetString(PyExc_SyntaxError, "source code string cannot contain null bytes");
    return NULL;
  }
  return expression ? origin_eval(expression, arguments[1]) : NULL;
}

// The code of a module of the library, which is marked as such.
static PyObject *library_code(PyObject *, PyObject *code) {
  if (!PyCode_Check(code)) return PyErr_Format(PyExc_TypeError, "not code");
  origin_of_library((PyCodeObject *)code);
  return Py_NewRef(code);
}

// The length of a str in UTF-8, without making that form. A lone surrogate counts as the U+FFFD that replaces it.
static PyObject *utf8_length(PyObject *, PyObject *text) {
  if (!PyUnicode_Check(text)) return PyErr_Format(PyExc_TypeError, "not a str");
  Py_ssize_t count = PyUnicode_GET_LENGTH(text), length = count;
  if (!PyUnicode_IS_ASCII(text)) {
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    for (Py_ssize_t i = 0; i < count; i++) {
      Py_UCS4 character = PyUnicode_READ(kind, data, i);
      length += (character >= 0x80) + (character >= 0x800) + (character >= 0x10000);
    }
  }
  return PyLong_FromSsize_t(length);
}

static bool is_sole(PyObject *item) { return Py_REFCNT(item) == 1 && PyObject_IS_GC(item); }

// The identities of those objects among the items `begin` to `end` of a list, tuple or dict that nothing else holds.
static PyObject *sole(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
  PyObject *container = count == 3 ? arguments[0] : NULL;
  bool list = container && PyList_Check(container);
  if (!container || !(list || PyTuple_Check(container) || PyDict_Check(container))) {
    return PyErr_Format(PyExc_TypeError, "sole takes a container and two numbers");
  }
  Py_ssize_t begin = PyLong_AsSsize_t(arguments[1]), end = PyLong_AsSsize_t(arguments[2]), place = 0;
  PyObject *found = PyErr_Occurred() ? NULL : PySet_New(NULL), *item = NULL;
  for (Py_ssize_t at = 0; found && at < end; at++) {
    if (PyDict_Check(container)) {
      if (!PyDict_Next(container, &place, NULL, &item)) break;
    } else {
      if (at >= (list ? PyList_GET_SIZE(container) : PyTuple_GET_SIZE(container))) break;
      item = list ? PyList_GET_ITEM(container, at) : PyTuple_GET_ITEM(container, at);
    }
    if (at < begin || !is_sole(item)) continue;
    PyObject *identity = PyLong_FromVoidPtr(item);
    if (!identity || PySet_Add(found, identity) < 0) Py_CLEAR(found);
    Py_XDECREF(identity);
  }
  return found;
}

// The arguments that WASI has now; libc's copy is from the start of the image.
static PyObject *arguments(PyObject *, PyObject *) {
  __wasi_size_t count, size;
  if (__wasi_args_sizes_get(&count, &size)) return PyList_New(0);
  uint8_t **list = calloc(count + 1, sizeof *list), *buffer = malloc(size + 1);
  PyObject *result = list && buffer ? PyList_New(0) : PyErr_NoMemory();
  if (result && !__wasi_args_get(list, buffer)) {
    for (__wasi_size_t i = 0; result && i < count; i++) {
      PyObject *argument = PyBytes_FromString((const char *)list[i]);
      if (!argument || PyList_Append(result, argument) < 0) Py_CLEAR(result);
      Py_XDECREF(argument);
    }
  }
  free(list);
  free(buffer);
  return result;
}

// Has libc read the environment, unless it has. Python reads libc's copy directly, which may not be there yet.
static PyObject *read_environment(PyObject *, PyObject *) {
  __wasilibc_ensure_environ();
  Py_RETURN_NONE;
}

// Whether a path leads into a project, where all that a run changes is its own.
static PyObject *in_project(PyObject *, PyObject *path) {
  const char *text = PyUnicode_AsUTF8(path);
  if (!text) return NULL;
  return PyBool_FromLong(driver_whose(text) != WHOSE_ELSEWHERE);
}

// A pipe within the program.
static PyObject *pipe_ends(PyObject *, PyObject *) {
  int ends[2];
  return device_pipe(ends) ? Py_BuildValue("(ii)", ends[0], ends[1]) : PyErr_SetFromErrno(PyExc_OSError);
}

// Whether reading from a descriptor would not have to wait.
static PyObject *is_ready(PyObject *, PyObject *descriptor) {
  int number = PyLong_AsInt(descriptor);
  if (number == -1 && PyErr_Occurred()) return NULL;
  return PyBool_FromLong(device_is_ready(number));
}

// What is left of a timer and its interval, in nanoseconds; with two numbers more it is set to these afterwards.
static PyObject *timer(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
  int which = count == 1 || count == 3 ? PyLong_AsInt(arguments[0]) : -1;
  if (which < 0 || which >= TIMERS) return PyErr_Format(PyExc_ValueError, "no such timer");
  int64_t left, interval, wanted[2];
  timer_get((size_t)which, &left, &interval);
  for (int i = 0; i < count - 1; i++)
    if (PyLong_AsInt64(arguments[i + 1], &wanted[i]) < 0) return NULL;
  if (count == 3) timer_set((size_t)which, wanted[0], wanted[1]);
  return Py_BuildValue("(LL)", (long long)left, (long long)interval);
}

// Waits for the timer of the real time; the handler of its signal has run then. Whether it was set.
static PyObject *wait_for_timer(PyObject *, PyObject *) {
  bool rang = timer_wait();
  return PyErr_CheckSignals() < 0 ? NULL : PyBool_FromLong(rang);
}

static PyMethodDef methods[] = {
    {"call_tool", (PyCFunction)(void *)call_tool, METH_FASTCALL, NULL},
    {"eval_query", (PyCFunction)(void *)eval_query, METH_FASTCALL, NULL},
    {"in_project", in_project, METH_O, NULL},
    {"is_ready", is_ready, METH_O, NULL},
    {"library_code", library_code, METH_O, NULL},
    {"pipe", pipe_ends, METH_NOARGS, NULL},
    {"sole", (PyCFunction)(void *)sole, METH_FASTCALL, NULL},
    {"source_of", source_of, METH_O, NULL},
    {"timer", (PyCFunction)(void *)timer, METH_FASTCALL, NULL},
    {"wait_for_timer", wait_for_timer, METH_NOARGS, NULL},
    {"wait", wait, METH_O, NULL},
    {"utf8_length", utf8_length, METH_O, NULL},
    {"arguments", arguments, METH_NOARGS, NULL},
    {"read_environment", read_environment, METH_NOARGS, NULL},
    {0},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_dormouse_host", .m_size = -1,
                                        .m_methods = methods};

PyObject *host_module(void) { return PyModule_Create(&definition); }
