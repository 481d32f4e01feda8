// What a program waits for, and what it is answered: between Python's objects and the contract's.
#include "python.h"

#include <stdlib.h>
#include <string.h>

// A copy of a str's text, in memory from `malloc`.
static bool copy(PyObject *text, guest_string_t *into) { return text && PyUnicode_Check(text) && outcome_text(text, into); }

static bool calls_of(PyObject *list, dormouse_sandbox_host_list_call_t *calls) {
  Py_ssize_t count = PyList_GET_SIZE(list);
  calls->ptr = calloc(count ? (size_t)count : 1, sizeof *calls->ptr);
  if (!calls->ptr) return false;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *one = PyList_GET_ITEM(list, i);
    dormouse_sandbox_host_call_t *call = &calls->ptr[calls->len++];
    call->id = (uint32_t)PyLong_AsUnsignedLongMask(PyTuple_GET_ITEM(one, 0));
    if (!copy(PyTuple_GET_ITEM(one, 1), &call->name) || !copy(PyTuple_GET_ITEM(one, 2), &call->arguments)) return false;
  }
  return true;
}

static bool cancelled_of(PyObject *list, guest_list_u32_t *cancelled) {
  Py_ssize_t count = PyList_GET_SIZE(list);
  cancelled->ptr = calloc(count ? (size_t)count : 1, sizeof *cancelled->ptr);
  if (!cancelled->ptr) return false;
  for (Py_ssize_t i = 0; i < count; i++) {
    cancelled->ptr[cancelled->len++] = (uint32_t)PyLong_AsUnsignedLongMask(PyList_GET_ITEM(list, i));
  }
  return true;
}

bool wanted_of(PyObject *told, wanted_t *wanted) {
  *wanted = (wanted_t){0};
  PyObject *nanoseconds = PyTuple_GET_ITEM(told, 2);
  bool done = calls_of(PyTuple_GET_ITEM(told, 0), &wanted->calls) && cancelled_of(PyTuple_GET_ITEM(told, 1), &wanted->cancelled);
  if (nanoseconds != Py_None) {
    wanted->nanoseconds.is_some = true;
    wanted->nanoseconds.val = PyLong_AsUnsignedLongLong(nanoseconds);
    // Longer than any clock goes.
    if (PyErr_Occurred()) wanted->nanoseconds.val = UINT64_MAX;
    PyErr_Clear();
  }
  Py_DECREF(told);
  if (!done) dormouse_sandbox_host_wanted_free(wanted);
  return done;
}

PyObject *wanted_answers(answers_t *answers) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < answers->len; i++) {
    dormouse_sandbox_host_answer_t *answer = &answers->ptr[i];
    bool failed = answer->outcome.is_err;
    guest_string_t *text = failed ? &answer->outcome.val.err : &answer->outcome.val.ok;
    PyObject *one = Py_BuildValue("(INN)", answer->id, PyBool_FromLong(!failed),
                                  PyUnicode_DecodeUTF8((const char *)text->ptr, (Py_ssize_t)text->len, "replace"));
    if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
    Py_XDECREF(one);
  }
  dormouse_sandbox_host_list_answer_free(answers);
  return list;
}

PyObject *wanted_wait(PyObject *told) {
  wanted_t wanted;
  if (!wanted_of(told, &wanted)) return PyErr_NoMemory();
  answers_t answers = {0};
  dormouse_sandbox_host_wait(&wanted, &answers);
  dormouse_sandbox_host_wanted_free(&wanted);
  return wanted_answers(&answers);
}
