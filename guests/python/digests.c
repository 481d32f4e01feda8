// The module `_dormouse_digests`: what CPython's `hashlib` has with OpenSSL alone (boot/_dormouse/digests.py).
#include "python.h"

#include <limits.h>

#include "hashes.h"

typedef struct {
  PyObject_HEAD
  hash_t hash;
} digest_t;

static PyTypeObject *digest_type;

static hash_t *hash_of(PyObject *self) { return &((digest_t *)self)->hash; }

static PyObject *make(hash_t hash) {
  digest_t *made = PyObject_New(digest_t, digest_type);
  if (made) made->hash = hash;
  return (PyObject *)made;
}

// As the hashes of CPython refuse what is no bytes.
static bool take(hash_t *hash, PyObject *data) {
  Py_buffer bytes;
  if (PyUnicode_Check(data)) {
    PyErr_SetString(PyExc_TypeError, "Strings must be encoded before hashing");
    return false;
  }
  if (PyObject_GetBuffer(data, &bytes, PyBUF_SIMPLE) < 0) return false;
  hash_update(hash, bytes.buf, (size_t)bytes.len);
  PyBuffer_Release(&bytes);
  return true;
}

static PyObject *update(PyObject *self, PyObject *data) {
  if (!take(hash_of(self), data)) return NULL;
  Py_RETURN_NONE;
}

static PyObject *copy(PyObject *self, PyObject *) { return make(*hash_of(self)); }

static PyObject *digest(PyObject *self, PyObject *) {
  uint8_t bytes[HASH_SIZE];
  hash_digest(*hash_of(self), bytes);
  return PyBytes_FromStringAndSize((const char *)bytes, hash_of(self)->kind->size);
}

static PyObject *hexdigest(PyObject *self, PyObject *) {
  PyObject *bytes = digest(self, NULL);
  PyObject *text = bytes ? PyObject_CallMethod(bytes, "hex", NULL) : NULL;
  Py_XDECREF(bytes);
  return text;
}

static PyObject *name(PyObject *self, void *) { return PyUnicode_FromString(hash_of(self)->kind->name); }
static PyObject *block_size(PyObject *self, void *) { return PyLong_FromLong(hash_of(self)->kind->block); }
static PyObject *digest_size(PyObject *self, void *) { return PyLong_FromLong(hash_of(self)->kind->size); }

static PyObject *shown(PyObject *self) {
  return PyUnicode_FromFormat("<%s _dormouse_digests.HASH object @ %p>", hash_of(self)->kind->name, self);
}

static PyMethodDef digest_methods[] = {
    {"update", update, METH_O, "Update this hash object's state with the provided bytes-like object."},
    {"copy", copy, METH_NOARGS, "Return a copy of the hash object."},
    {"digest", digest, METH_NOARGS, "Return the digest value as a bytes object."},
    {"hexdigest", hexdigest, METH_NOARGS, "Return the digest value as a string of hexadecimal digits."},
    {0},
};
static PyGetSetDef digest_fields[] = {
    {"name", name, NULL, NULL, NULL},
    {"block_size", block_size, NULL, NULL, NULL},
    {"digest_size", digest_size, NULL, NULL, NULL},
    {0},
};
static PyType_Slot digest_slots[] = {
    {Py_tp_methods, digest_methods},
    {Py_tp_getset, digest_fields},
    {Py_tp_repr, shown},
    {Py_tp_doc, "A hash in the making."},
    {0},
};
static PyType_Spec digest_spec = {
    .name = "_dormouse_digests.HASH",
    .basicsize = sizeof(digest_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = digest_slots,
};

static const hash_kind_t *kind_of(const char *asked) {
  const hash_kind_t *kind = hash_kind(asked);
  if (!kind) PyErr_Format(PyExc_ValueError, "unsupported hash type %s", asked);
  return kind;
}

static PyObject *new(PyObject *, PyObject *arguments) {
  const char *asked;
  PyObject *data = NULL;
  if (!PyArg_ParseTuple(arguments, "s|O:new", &asked, &data)) return NULL;
  const hash_kind_t *kind = kind_of(asked);
  if (!kind) return NULL;
  hash_t hash = hash_begin(kind);
  return data && !take(&hash, data) ? NULL : make(hash);
}

// Whether a key of this length can be made.
static bool is_key(Py_ssize_t length) {
  if (length < 1) PyErr_SetString(PyExc_ValueError, "key length must be greater than 0.");
  return length >= 1;
}

static PyObject *pbkdf2(PyObject *, PyObject *arguments) {
  const char *asked;
  Py_buffer password, salt;
  Py_ssize_t iterations, length;
  PyObject *key = NULL;
  if (!PyArg_ParseTuple(arguments, "sy*y*nn:pbkdf2", &asked, &password, &salt, &iterations, &length)) return NULL;
  const hash_kind_t *kind = kind_of(asked);
  if (kind && iterations < 1) PyErr_SetString(PyExc_ValueError, "iteration value must be greater than 0.");
  else if (kind && is_key(length)) key = PyBytes_FromStringAndSize(NULL, length);
  if (key) {
    hash_pbkdf2(kind, password.buf, (size_t)password.len, salt.buf, (size_t)salt.len, (uint64_t)iterations,
                (uint8_t *)PyBytes_AS_STRING(key), (size_t)length);
  }
  PyBuffer_Release(&password);
  PyBuffer_Release(&salt);
  return key;
}

// What OpenSSL lets scrypt have if it is not told.
#define SCRYPT_MEMORY (32 << 20)

// Whether the parameters are those of RFC 7914, and keep within the memory that is allowed.
static bool is_scrypt(unsigned long long n, unsigned long long r, unsigned long long p, unsigned long long memory) {
  bool valid = n >= 2 && n <= UINT32_MAX && r >= 1 && p >= 1 && r <= UINT32_MAX && p <= UINT32_MAX && p * r < 1U << 30;
  if (valid && r < 4 && n >= 1ULL << 16 * r) valid = false;
  // 128 bytes times `r` for each of `p` blocks, `n` of the table and two of work.
  return valid && n + p + 2 <= memory / 128 / r;
}

static PyObject *scrypt(PyObject *, PyObject *arguments) {
  Py_buffer password, salt;
  unsigned long long n, r, p;
  Py_ssize_t memory, length;
  PyObject *key = NULL;
  if (!PyArg_ParseTuple(arguments, "y*y*KKKnn:scrypt", &password, &salt, &n, &r, &p, &memory, &length)) return NULL;
  if (n < 2 || n & (n - 1)) PyErr_SetString(PyExc_ValueError, "n must be a power of 2.");
  else if (memory < 0) PyErr_Format(PyExc_ValueError, "maxmem must be positive and smaller than %d", INT_MAX);
  else if (length < 1) PyErr_Format(PyExc_ValueError, "dklen must be greater than 0 and smaller than %d", INT_MAX);
  else if (!is_scrypt(n, r, p, memory ? (unsigned long long)memory : SCRYPT_MEMORY)) {
    PyErr_SetString(PyExc_ValueError, "Invalid parameter combination for n, r, p, maxmem.");
  } else {
    key = PyBytes_FromStringAndSize(NULL, length);
  }
  if (key && !hash_scrypt(password.buf, (size_t)password.len, salt.buf, (size_t)salt.len, (uint32_t)n, (uint32_t)r,
                          (uint32_t)p, (uint8_t *)PyBytes_AS_STRING(key), (size_t)length)) {
    Py_CLEAR(key);
    PyErr_NoMemory();
  }
  PyBuffer_Release(&password);
  PyBuffer_Release(&salt);
  return key;
}

static PyMethodDef methods[] = {
    {"new", new, METH_VARARGS, NULL},
    {"pbkdf2", pbkdf2, METH_VARARGS, NULL},
    {"scrypt", scrypt, METH_VARARGS, NULL},
    {0},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_dormouse_digests", .m_size = -1,
                                        .m_methods = methods};

PyObject *digests_module(void) {
  PyObject *module = PyModule_Create(&definition);
  digest_type = module ? (PyTypeObject *)PyType_FromSpec(&digest_spec) : NULL;
  if (!digest_type || PyModule_AddObjectRef(module, "HASH", (PyObject *)digest_type) < 0) Py_CLEAR(module);
  return module;
}
