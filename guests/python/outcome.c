// From a Python value or exception to the outcome that crosses the border.
#include "python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define TAG(name) EXPORTS_DORMOUSE_SANDBOX_INTERPRETER_OUTCOME_##name

// Given back to the allocator when memory has run out, so that there is room to say so. It is never written to, so
// it costs an instance nothing.
#define RESERVE (512 * 1024)
static void *reserve;

bool outcome_text(PyObject *text, guest_string_t *copy) {
  Py_ssize_t length;
  const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);
  char *memory = bytes ? malloc(length ? (size_t)length : 1) : NULL;
  if (!memory) {
    PyErr_Clear();
    return false;
  }
  memcpy(memory, bytes, (size_t)length);
  *copy = (guest_string_t){(uint8_t *)memory, (size_t)length};
  return true;
}

// What is said of an exception when describing it failed.
static void raised_bare(PyObject *error, outcome_t *outcome) {
  static const char form[] =
      "{\"class\":\"%.100s\",\"message\":\"this exception could not be described\",\"code\":null,\"file\":null,"
      "\"line\":null,\"column\":null,\"stack_trace\":[],\"excerpt\":null,\"traceback\":null,\"previous\":[]}";
  char text[sizeof form + 100];
  const char *name = PyErr_GivenExceptionMatches(error, PyExc_MemoryError)      ? "MemoryError"
                     : PyErr_GivenExceptionMatches(error, PyExc_RecursionError) ? "RecursionError"
                                                                                : "Exception";
  snprintf(text, sizeof text, form, name);
  outcome->tag = TAG(RAISED);
  guest_string_dup(&outcome->val.raised, text);
}

static void raised(PyObject *error, const bounds_t *bounds, outcome_t *outcome) {
  PyObject *text = PyObject_CallFunction(python.encode_error, "OIIIII", error, bounds->depth, bounds->items,
                                         bounds->string_bytes, bounds->total_bytes, bounds->frames);
  if (text && PyUnicode_Check(text) && outcome_text(text, &outcome->val.raised)) {
    outcome->tag = TAG(RAISED);
  } else {
    PyErr_Clear();
    raised_bare(error, outcome);
  }
  Py_XDECREF(text);
}

// The status that a SystemExit stands for. Anything but a number or None is a last message.
static int32_t exit_status(PyObject *error) {
  PyObject *code = PyObject_GetAttrString(error, "code");
  int32_t status = 1;
  if (!code || code == Py_None) {
    status = 0;
  } else if (PyLong_Check(code)) {
    status = (int32_t)PyLong_AsLong(code);
  } else {
    PyObject *stream = PySys_GetObject("stderr");
    if (stream && stream != Py_None && PyFile_WriteObject(code, stream, Py_PRINT_RAW) == 0) {
      PyFile_WriteString("\n", stream);
    }
  }
  PyErr_Clear();
  Py_XDECREF(code);
  // `exit()` closes standard input.
  streams_renew();
  return status;
}

static void failed(const bounds_t *bounds, outcome_t *outcome) {
  PyObject *error = PyErr_GetRaisedException();
  if (!error) {
    // Not reached as long as every NULL comes with an exception.
    raised_bare(Py_None, outcome);
    return;
  }
  if (PyErr_GivenExceptionMatches(error, PyExc_SystemExit)) {
    outcome->tag = TAG(EXITED);
    outcome->val.exited = exit_status(error);
  } else {
    if (PyErr_GivenExceptionMatches(error, PyExc_MemoryError)) {
      free(reserve);
      reserve = NULL;
    }
    raised(error, bounds, outcome);
  }
  Py_DECREF(error);
}

// Whether the caller alone holds a value, besides `_`.
static bool is_callers(PyObject *value) {
  bool named = PyDict_GetItemWithError(python.globals, python.underscore) == value;
  PyErr_Clear();
  return Py_REFCNT(value) == 1 + named;
}

void outcome_of(PyObject *value, const bounds_t *bounds, outcome_t *outcome) {
  if (!reserve) reserve = malloc(RESERVE);
  if (value && encode_scalar(value, bounds, &outcome->val.returned)) {
    outcome->tag = TAG(RETURNED);
  } else if (value) {
    PyObject *text = PyObject_CallFunction(python.encode_value, "OIIIIIi", value, bounds->depth, bounds->items,
                                           bounds->string_bytes, bounds->total_bytes, bounds->offset, is_callers(value));
    if (text && !outcome_text(text, &outcome->val.returned)) {
      Py_CLEAR(text);
      PyErr_NoMemory();
    }
    if (text) {
      outcome->tag = TAG(RETURNED);
      Py_DECREF(text);
    } else {
      failed(bounds, outcome);
    }
  } else {
    failed(bounds, outcome);
  }
  Py_XDECREF(value);
}
