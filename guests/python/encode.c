// The typed JSON of scalars, the same as boot/_dormouse/values.py makes of them. Most snippets end in one.
#include "python.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Texts longer than this are left to the general encoder, so that the worst case of escaping stays small.
#define SHORT 2048
#define SAFE_INTEGER 9007199254740991LL

static bool give(guest_string_t *text, const char *bytes, size_t length, const bounds_t *bounds) {
  if (length > bounds->total_bytes) return false;
  text->ptr = malloc(length);
  text->len = length;
  if (!text->ptr) return false;
  memcpy(text->ptr, bytes, length);
  return true;
}

static char *escape(char *out, const unsigned char *bytes, size_t length) {
  static const char hex[] = "0123456789abcdef";
  for (const unsigned char *end = bytes + length; bytes < end; bytes++) {
    const char *named = strchr("\"\\\nn\tt\rr\bb\ff", *bytes);
    if (*bytes == '"' || *bytes == '\\') {
      *out++ = '\\';
      *out++ = (char)*bytes;
    } else if (*bytes >= 0x20) {
      *out++ = (char)*bytes;
    } else if (*bytes && named) {
      *out++ = '\\';
      *out++ = named[1];
    } else {
      out += sprintf(out, "\\u00%c%c", hex[*bytes >> 4], hex[*bytes & 15]);
    }
  }
  return out;
}

static bool encode_integer(PyObject *value, const bounds_t *bounds, guest_string_t *text) {
  int overflow;
  long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow || number > SAFE_INTEGER || number < -SAFE_INTEGER) return false;
  char json[64];
  int length = snprintf(json, sizeof json, "{\"type\":\"int\",\"value\":%lld}", number);
  return give(text, json, (size_t)length, bounds);
}

static bool encode_float(double number, const bounds_t *bounds, guest_string_t *text) {
  if (!isfinite(number) || (number == 0 && signbit(number))) return false;
  char *digits = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
  if (!digits) {
    PyErr_Clear();
    return false;
  }
  char json[80];
  int length = snprintf(json, sizeof json, "{\"type\":\"float\",\"value\":%s}", digits);
  PyMem_Free(digits);
  return give(text, json, (size_t)length, bounds);
}

static bool encode_string(PyObject *value, const bounds_t *bounds, guest_string_t *text) {
  if (PyUnicode_GET_LENGTH(value) > SHORT) return false;
  Py_ssize_t length;
  const char *bytes = PyUnicode_AsUTF8AndSize(value, &length);
  if (!bytes) {
    PyErr_Clear();
    return false;
  }
  if ((size_t)length > bounds->string_bytes || length > SHORT) return false;
  static const char head[] = "{\"type\":\"string\",\"value\":\"";
  char json[sizeof head + 6 * SHORT + 2];
  memcpy(json, head, sizeof head - 1);
  char *end = escape(json + sizeof head - 1, (const unsigned char *)bytes, (size_t)length);
  *end++ = '"';
  *end++ = '}';
  return give(text, json, (size_t)(end - json), bounds);
}

bool encode_scalar(PyObject *value, const bounds_t *bounds, guest_string_t *text) {
  if (value == Py_None) return give(text, "{\"type\":\"null\",\"value\":null}", 28, bounds);
  if (value == Py_True) return give(text, "{\"type\":\"bool\",\"value\":true}", 28, bounds);
  if (value == Py_False) return give(text, "{\"type\":\"bool\",\"value\":false}", 29, bounds);
  if (PyLong_CheckExact(value)) return encode_integer(value, bounds, text);
  if (PyFloat_CheckExact(value)) return encode_float(PyFloat_AS_DOUBLE(value), bounds, text);
  if (PyUnicode_CheckExact(value)) return encode_string(value, bounds, text);
  return false;
}
