// The standard streams of `sys`: the same ones at the start of every call, whatever the last snippet did to them.
#include "python.h"

#include "devices.h"

static const char *const names[3] = {"stdin", "stdout", "stderr"};
static const char *const originals[3] = {"__stdin__", "__stdout__", "__stderr__"};
static PyObject *streams[3];

void streams_renew(void) {
  for (int i = 0; i < 3; i++) Py_CLEAR(streams[i]);
}

static void open_streams(void) {
  PyObject *opened = PyObject_CallNoArgs(python.open_streams);
  if (!opened) {
    PyErr_Clear();
    return;
  }
  for (int i = 0; i < 3; i++) {
    Py_XSETREF(streams[i], Py_NewRef(PyTuple_GET_ITEM(opened, i)));
    PySys_SetObject(originals[i], streams[i]);
  }
  Py_DECREF(opened);
}

void streams_begin(void) {
  if (!streams[0]) open_streams();
  for (int i = 0; i < 3; i++) {
    if (streams[i] && PySys_GetObject(names[i]) != streams[i]) PySys_SetObject(names[i], streams[i]);
  }
  PyErr_Clear();
}

static bool flush(PyObject *stream) {
  PyObject *done = PyObject_CallMethodNoArgs(stream, python.flush);
  if (!done) PyErr_Clear();
  Py_XDECREF(done);
  return done;
}

void streams_flush(void) {
  bool whole = true;
  for (int i = 1; i < 3; i++) {
    PyObject *shown = PySys_GetObject(names[i]);
    if (shown && shown != streams[i] && shown != Py_None) {
      Py_INCREF(shown);
      flush(shown);
      Py_DECREF(shown);
    }
    whole = streams[i] && flush(streams[i]) && whole;
  }
  PyErr_Clear();
  if (!whole) streams_renew();
}

int __real_close(int descriptor);

// `os.close(1)` would give the number of standard output to the next file that is opened, and the results of later
// calls with it. So it succeeds and does nothing.
int __wrap_close(int descriptor) {
  if (descriptor >= 0 && descriptor <= 2) return 0;
  device_closed(descriptor);
  return __real_close(descriptor);
}
