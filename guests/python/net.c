// The module `_dormouse_net`: the contract's connections (wit/net.wit), a function each. What may be reached, and what names mean, is
// the host's affair; what a socket is, `boot/_dormouse/network.py`'s.
#include "python.h"

#include <stdlib.h>

typedef dormouse_sandbox_net_problem_t problem_t;
typedef dormouse_sandbox_net_interest_t interest_t;
typedef dormouse_sandbox_net_happened_t happened_t;

// Bytes that are sent or come with one call.
#define PIECE 65536
// Connections that are waited for at one time.
#define INTERESTS 1024

// What is raised: the word of the contract, and the host's sentence.
static PyObject *problem_type;

// By the numbers of the contract.
static const char *const words[] = {"denied", "unknown-name", "refused",   "reset",    "closed",
                                    "timed-out", "untrusted", "protocol", "exhausted"};

// Takes the problem.
static PyObject *fail(problem_t *problem) {
  const char *word = problem->trouble < sizeof words / sizeof *words ? words[problem->trouble] : "protocol";
  PyObject *text = PyUnicode_DecodeUTF8((const char *)problem->text.ptr, (Py_ssize_t)problem->text.len, "replace");
  dormouse_sandbox_net_problem_free(problem);
  PyObject *arguments = text ? Py_BuildValue("(sN)", word, text) : NULL;
  if (arguments) PyErr_SetObject(problem_type, arguments);
  Py_XDECREF(arguments);
  return NULL;
}

static PyObject *open_connection(PyObject *, PyObject *arguments) {
  const char *host;
  Py_ssize_t length;
  int port;
  if (!PyArg_ParseTuple(arguments, "s#i:open", &host, &length, &port)) return NULL;
  if (port < 0 || port > UINT16_MAX) return PyErr_Format(PyExc_OverflowError, "a port is a number from 0 to 65535");
  guest_string_t text = {(uint8_t *)host, (size_t)length};
  dormouse_sandbox_net_connection_t connection = 0;
  problem_t problem;
  if (!dormouse_sandbox_net_open(&text, (uint16_t)port, &connection, &problem)) return fail(&problem);
  return PyLong_FromUnsignedLongLong(connection);
}

// How many bytes were taken; 0: none can be now.
static PyObject *send_bytes(PyObject *, PyObject *arguments) {
  unsigned long long connection;
  Py_buffer bytes;
  if (!PyArg_ParseTuple(arguments, "Ky*:send", &connection, &bytes)) return NULL;
  guest_list_u8_t list = {bytes.buf, bytes.len < PIECE ? (size_t)bytes.len : PIECE};
  uint32_t taken = 0;
  problem_t problem;
  bool done = dormouse_sandbox_net_send(connection, &list, &taken, &problem);
  PyBuffer_Release(&bytes);
  return done ? PyLong_FromUnsignedLong(taken) : fail(&problem);
}

// None: nothing is there now. Empty: the end.
static PyObject *receive_bytes(PyObject *, PyObject *arguments) {
  unsigned long long connection;
  Py_ssize_t most;
  if (!PyArg_ParseTuple(arguments, "Kn:receive", &connection, &most)) return NULL;
  if (most <= 0) return PyErr_Format(PyExc_ValueError, "at least one byte is asked for");
  guest_option_list_u8_t come = {0};
  problem_t problem;
  if (!dormouse_sandbox_net_receive(connection, most < PIECE ? (uint32_t)most : PIECE, &come, &problem)) return fail(&problem);
  if (!come.is_some) Py_RETURN_NONE;
  PyObject *bytes = PyBytes_FromStringAndSize((const char *)come.val.ptr, (Py_ssize_t)come.val.len);
  guest_list_u8_free(&come.val);
  return bytes;
}

static PyObject *finish(PyObject *, PyObject *number) {
  unsigned long long connection = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) return NULL;
  dormouse_sandbox_net_finish(connection);
  Py_RETURN_NONE;
}

static PyObject *close_connection(PyObject *, PyObject *number) {
  unsigned long long connection = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) return NULL;
  dormouse_sandbox_net_close(connection);
  Py_RETURN_NONE;
}

// The interests of a list of tuples. False: an exception is set.
static bool interests_of(PyObject *list, interest_t *interests, Py_ssize_t length) {
  for (Py_ssize_t i = 0; i < length && i < PyList_GET_SIZE(list); i++) {
    unsigned long long connection;
    int reads, writes;
    PyObject *one = PyList_GET_ITEM(list, i);
    if (!PyTuple_Check(one)) return PyErr_Format(PyExc_TypeError, "an interest is a tuple"), false;
    if (!PyArg_ParseTuple(one, "Kpp:wait", &connection, &reads, &writes)) return false;
    interests[i] = (interest_t){connection, reads, writes};
  }
  return true;
}

// What has happened, as two lists. Takes it.
static PyObject *told_of(happened_t *happened) {
  PyObject *answers = wanted_answers(&(answers_t){happened->answers.ptr, happened->answers.len});
  PyObject *ready = answers ? PyList_New(0) : NULL;
  for (size_t i = 0; ready && i < happened->ready.len; i++) {
    dormouse_sandbox_net_ready_t *is = &happened->ready.ptr[i];
    PyObject *one = Py_BuildValue("(KNN)", (unsigned long long)is->connection, PyBool_FromLong(is->reads), PyBool_FromLong(is->writes));
    if (!one || PyList_Append(ready, one) < 0) Py_CLEAR(ready);
    Py_XDECREF(one);
  }
  dormouse_sandbox_net_list_ready_free(&happened->ready);
  if (ready) return Py_BuildValue("(NN)", ready, answers);
  Py_XDECREF(answers);
  return NULL;
}

// Waits for connections, and for what the tuple says (boot/_dormouse/waiting.py).
static PyObject *wait(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 2 || !PyList_Check(arguments[0]) || !PyTuple_Check(arguments[1]) || PyTuple_GET_SIZE(arguments[1]) != 3) {
    return PyErr_Format(PyExc_TypeError, "wait takes a list of interests and a tuple of three");
  }
  Py_ssize_t length = PyList_GET_SIZE(arguments[0]);
  if (length > INTERESTS) return PyErr_Format(PyExc_ValueError, "at most %d connections can be waited for at one time", INTERESTS);
  interest_t *interests = PyMem_Calloc((size_t)length, sizeof *interests);
  wanted_t wanted;
  bool known = interests && interests_of(arguments[0], interests, length);
  if (!interests) PyErr_NoMemory();
  if (known && !wanted_of(Py_NewRef(arguments[1]), &wanted)) known = false, PyErr_NoMemory();
  if (!known) {
    PyMem_Free(interests);
    return NULL;
  }
  happened_t happened = {0};
  dormouse_sandbox_net_wait(&(dormouse_sandbox_net_list_interest_t){interests, (size_t)length}, &wanted, &happened);
  PyMem_Free(interests);
  dormouse_sandbox_host_wanted_free(&wanted);
  return told_of(&happened);
}

static PyMethodDef methods[] = {
    {"open", open_connection, METH_VARARGS, NULL},
    {"send", send_bytes, METH_VARARGS, NULL},
    {"receive", receive_bytes, METH_VARARGS, NULL},
    {"finish", finish, METH_O, NULL},
    {"close", close_connection, METH_O, NULL},
    {"wait", (PyCFunction)(void *)wait, METH_FASTCALL, NULL},
    {0},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_dormouse_net", .m_size = -1,
                                        .m_methods = methods};

PyObject *net_module(void) {
  PyObject *module = PyModule_Create(&definition);
  problem_type = module ? PyErr_NewException("_dormouse_net.Problem", NULL, NULL) : NULL;
  if (!problem_type || PyModule_AddObjectRef(module, "Problem", problem_type) < 0) Py_CLEAR(module);
  return module;
}
