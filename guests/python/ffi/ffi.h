// The part of libffi's interface that `_ctypes` asks for. There is no native library to call, and no machine code can be made: what can
// be called are functions of Python's that were made into C functions, and the few of `_ctypes` itself.
//
// Names, numbers and rules are those of libffi 3.4 (`ffi.h`, and its manual's chapters on types and closures).
#ifndef DORMOUSE_FFI_H
#define DORMOUSE_FFI_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned long ffi_arg;
typedef long ffi_sarg;

enum {
  FFI_TYPE_VOID,
  FFI_TYPE_INT,
  FFI_TYPE_FLOAT,
  FFI_TYPE_DOUBLE,
  FFI_TYPE_LONGDOUBLE,
  FFI_TYPE_UINT8,
  FFI_TYPE_SINT8,
  FFI_TYPE_UINT16,
  FFI_TYPE_SINT16,
  FFI_TYPE_UINT32,
  FFI_TYPE_SINT32,
  FFI_TYPE_UINT64,
  FFI_TYPE_SINT64,
  FFI_TYPE_STRUCT,
  FFI_TYPE_POINTER,
};

typedef struct _ffi_type {
  size_t size;
  unsigned short alignment;
  unsigned short type;
  struct _ffi_type **elements;
} ffi_type;

typedef enum { FFI_OK, FFI_BAD_TYPEDEF, FFI_BAD_ABI, FFI_BAD_ARGTYPE } ffi_status;
typedef enum { FFI_DEFAULT_ABI = 1 } ffi_abi;

typedef struct {
  ffi_abi abi;
  unsigned nargs;
  ffi_type **arg_types;
  ffi_type *rtype;
} ffi_cif;

// A function of Python's, as C sees it: its address is that of this.
typedef struct _ffi_closure {
  ffi_cif *cif;
  void (*fun)(ffi_cif *, void *, void **, void *);
  void *user_data;
  struct _ffi_closure *before, *after;
} ffi_closure;

extern ffi_type ffi_type_void, ffi_type_uint8, ffi_type_sint8, ffi_type_uint16, ffi_type_sint16, ffi_type_uint32, ffi_type_sint32,
    ffi_type_uint64, ffi_type_sint64, ffi_type_float, ffi_type_double, ffi_type_longdouble, ffi_type_pointer;
#define ffi_type_uchar ffi_type_uint8
#define ffi_type_schar ffi_type_sint8
#define ffi_type_ushort ffi_type_uint16
#define ffi_type_sshort ffi_type_sint16
#define ffi_type_uint ffi_type_uint32
#define ffi_type_sint ffi_type_sint32
#define ffi_type_ulong ffi_type_uint32
#define ffi_type_slong ffi_type_sint32

ffi_status ffi_prep_cif(ffi_cif *cif, ffi_abi abi, unsigned nargs, ffi_type *rtype, ffi_type **atypes);
void ffi_call(ffi_cif *cif, void (*fn)(void), void *rvalue, void **avalue);
void *ffi_closure_alloc(size_t size, void **code);
void ffi_closure_free(void *closure);
ffi_status ffi_prep_closure_loc(ffi_closure *closure, ffi_cif *cif, void (*fun)(ffi_cif *, void *, void **, void *),
                                void *user_data, void *codeloc);
// The older form of it.
ffi_status ffi_prep_closure(ffi_closure *closure, ffi_cif *cif, void (*fun)(ffi_cif *, void *, void **, void *), void *user_data);

// There is no native library: the program itself can be opened, and has the symbols that ffi.c names.
void *driver_dlopen(const char *name, int flags);
void *driver_dlsym(void *handle, const char *name);
int driver_dlclose(void *handle);
char *driver_dlerror(void);

#endif
