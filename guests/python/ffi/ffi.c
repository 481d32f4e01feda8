// See ffi.h.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "ffi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE(name, c_type, number) ffi_type ffi_type_##name = {sizeof(c_type), _Alignof(c_type), number, NULL}
ffi_type ffi_type_void = {1, 1, FFI_TYPE_VOID, NULL};
TYPE(uint8, uint8_t, FFI_TYPE_UINT8);
TYPE(sint8, int8_t, FFI_TYPE_SINT8);
TYPE(uint16, uint16_t, FFI_TYPE_UINT16);
TYPE(sint16, int16_t, FFI_TYPE_SINT16);
TYPE(uint32, uint32_t, FFI_TYPE_UINT32);
TYPE(sint32, int32_t, FFI_TYPE_SINT32);
TYPE(uint64, uint64_t, FFI_TYPE_UINT64);
TYPE(sint64, int64_t, FFI_TYPE_SINT64);
TYPE(float, float, FFI_TYPE_FLOAT);
TYPE(double, double, FFI_TYPE_DOUBLE);
TYPE(longdouble, long double, FFI_TYPE_LONGDOUBLE);
TYPE(pointer, void *, FFI_TYPE_POINTER);

// Size and alignment of a structure, which libffi works out of its elements where they are not known.
static void lay_out(ffi_type *type) {
  if (type->type != FFI_TYPE_STRUCT || type->size || !type->elements) return;
  for (ffi_type **element = type->elements; *element; element++) {
    lay_out(*element);
    unsigned short alignment = (*element)->alignment ? (*element)->alignment : 1;
    type->size = (type->size + alignment - 1) / alignment * alignment + (*element)->size;
    if (alignment > type->alignment) type->alignment = alignment;
  }
  if (type->alignment) type->size = (type->size + type->alignment - 1) / type->alignment * type->alignment;
}

ffi_status ffi_prep_cif(ffi_cif *cif, ffi_abi abi, unsigned nargs, ffi_type *rtype, ffi_type **atypes) {
  if (abi != FFI_DEFAULT_ABI) return FFI_BAD_ABI;
  lay_out(rtype);
  for (unsigned number = 0; number < nargs; number++) lay_out(atypes[number]);
  *cif = (ffi_cif){abi, nargs, atypes, rtype};
  return FFI_OK;
}

static ffi_closure *closures;

void *ffi_closure_alloc(size_t size, void **code) {
  ffi_closure *closure = calloc(1, size < sizeof *closure ? sizeof *closure : size);
  if (!closure) return NULL;
  closure->after = closures;
  if (closures) closures->before = closure;
  closures = closure;
  return *code = closure;
}

void ffi_closure_free(void *freed) {
  ffi_closure *closure = freed;
  if (closure->before) closure->before->after = closure->after;
  else closures = closure->after;
  if (closure->after) closure->after->before = closure->before;
  free(closure);
}

ffi_status ffi_prep_closure_loc(ffi_closure *closure, ffi_cif *cif, void (*fun)(ffi_cif *, void *, void **, void *),
                                void *user_data, void *codeloc) {
  if (codeloc != closure) return FFI_BAD_ABI;
  closure->cif = cif, closure->fun = fun, closure->user_data = user_data;
  return FFI_OK;
}

ffi_status ffi_prep_closure(ffi_closure *closure, ffi_cif *cif, void (*fun)(ffi_cif *, void *, void **, void *), void *user_data) {
  return ffi_prep_closure_loc(closure, cif, fun, user_data, closure);
}

// An argument of 32 bits, as WebAssembly passes it. What is longer ends the instance, as calling a function by a wrong address does
// elsewhere: nothing that can be called here takes it.
static uint32_t word(ffi_type *type, void *value) {
  switch (type->type) {
  case FFI_TYPE_UINT8: return *(uint8_t *)value;
  case FFI_TYPE_SINT8: return (uint32_t)*(int8_t *)value;
  case FFI_TYPE_UINT16: return *(uint16_t *)value;
  case FFI_TYPE_SINT16: return (uint32_t)*(int16_t *)value;
  case FFI_TYPE_INT:
  case FFI_TYPE_UINT32:
  case FFI_TYPE_SINT32:
  case FFI_TYPE_POINTER: return *(uint32_t *)value;
  default: __builtin_trap();
  }
}

void ffi_call(ffi_cif *cif, void (*fn)(void), void *rvalue, void **avalue) {
  for (ffi_closure *closure = closures; closure; closure = closure->after) {
    if ((void *)fn != (void *)closure) continue;
    // Further arguments are left lying, as a caller of C does; missing ones would be read from nowhere.
    if (!closure->fun || closure->cif->nargs > cif->nargs) __builtin_trap();
    closure->fun(closure->cif, rvalue, avalue, closure->user_data);
    return;
  }
  uint32_t given[3] = {0};
  if (cif->nargs > 3) __builtin_trap();
  for (unsigned number = 0; number < cif->nargs; number++) given[number] = word(cif->arg_types[number], avalue[number]);
  uint32_t result = 0;
  switch (cif->nargs) {
  case 0: result = ((uint32_t(*)(void))fn)(); break;
  case 1: result = ((uint32_t(*)(uint32_t))fn)(given[0]); break;
  case 2: result = ((uint32_t(*)(uint32_t, uint32_t))fn)(given[0], given[1]); break;
  case 3: result = ((uint32_t(*)(uint32_t, uint32_t, uint32_t))fn)(given[0], given[1], given[2]); break;
  default: __builtin_trap();
  }
  if (cif->rtype->type != FFI_TYPE_VOID && rvalue) *(ffi_arg *)rvalue = result;
}

static char reason[256];
static const char itself;

void *driver_dlopen(const char *name, int flags) {
  (void)flags;
  if (!name) return (void *)&itself;
  snprintf(reason, sizeof reason, "%.120s: cannot open shared object file: there are no native libraries in this sandbox", name);
  return NULL;
}

// A function that has no result, in a form that can be called here.
static uint32_t increment(PyObject *object) { return Py_XINCREF(object), 0; }
static uint32_t decrement(PyObject *object) { return Py_XDECREF(object), 0; }

// What packages ask `pythonapi` for: to edit lines, to pickle capsules, to count references, to name bytes by their address.
#define NAMED(function) {#function, (void *)function}
static const struct {
  const char *name;
  void *address;
} known[] = {
    NAMED(PyOS_getsig),           NAMED(PyOS_setsig),           NAMED(PyCapsule_New),        NAMED(PyCapsule_GetPointer),
    NAMED(PyCapsule_GetName),     NAMED(PyCapsule_GetContext),  NAMED(PyCapsule_IsValid),    NAMED(PyCapsule_GetDestructor),
    NAMED(PyCapsule_SetPointer),  NAMED(PyCapsule_SetName),     NAMED(PyCapsule_SetContext), NAMED(PyCapsule_SetDestructor),
    NAMED(PyBytes_AsString),      NAMED(PyLong_AsLong),         NAMED(PyLong_FromLong),      NAMED(PyBytes_FromStringAndSize),
    NAMED(PyUnicode_FromString),  NAMED(PyMemoryView_FromMemory), NAMED(PyDictProxy_New),    {"Py_IncRef", (void *)increment},
    {"Py_DecRef", (void *)decrement},
};

void *driver_dlsym(void *handle, const char *name) {
  for (size_t number = 0; handle == &itself && number < sizeof known / sizeof *known; number++)
    if (!strcmp(name, known[number].name)) return known[number].address;
  snprintf(reason, sizeof reason, "undefined symbol: %.120s (there are no native libraries in this sandbox)", name);
  return NULL;
}

int driver_dlclose(void *handle) {
  (void)handle;
  return 0;
}

char *driver_dlerror(void) {
  static char told[sizeof reason];
  if (!*reason) return NULL;
  snprintf(told, sizeof told, "%s", reason);
  *reason = '\0';
  return told;
}
