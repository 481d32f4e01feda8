// GMP's memory, which is PHP's, and what GMP does where it cannot go on: its own functions end the program, these end the snippet.
#include "guest_php.h"

#include <gmp.h>

#include "zend_alloc.h"
#include "zend_exceptions.h"

// GMP's name for what was wrong.
int gmp_errno;

[[noreturn]] static void impossible(int error, const char *what) {
  gmp_errno |= error;
  zend_error_noreturn(E_ERROR, "%s", what);
}

// PHP's extension asks before it gets here.
[[noreturn]] void __gmp_exception(int error) { impossible(error, "GMP cannot do this"); }
[[noreturn]] void __gmp_sqrt_of_negative(void) { impossible(4, "Square root of a negative number"); }
[[noreturn]] void __gmp_divide_by_zero(void) { impossible(2, "Division by zero"); }

static void *allocate(size_t size) { return emalloc(size); }

static void *reallocate(void *memory, size_t before, size_t size) {
  (void)before;
  return erealloc(memory, size);
}

static void release(void *memory, size_t size) {
  (void)size;
  efree(memory);
}

void numbers_install(void) { mp_set_memory_functions(allocate, reallocate, release); }

// A number of more bits than a memory of 4 GiB has room for.
[[noreturn]] void __gmp_overflow_in_mpz(void) {
  gmp_errno |= 16;
  zend_room_error(UINT64_C(1) << 32);
}

void __real___gmpz_n_pow_ui(mpz_ptr to, mp_srcptr base, mp_size_t size, unsigned long exponent);

// All powers come by here. GMP counts the bits of the result in 32 bits, and does not see when there are more.
void __wrap___gmpz_n_pow_ui(mpz_ptr to, mp_srcptr base, mp_size_t size, unsigned long exponent) {
  size_t limbs = size < 0 ? -(size_t)size : (size_t)size;
  if (limbs) {
    uint64_t bits = (uint64_t)limbs * GMP_NUMB_BITS - (size_t)__builtin_clzl(base[limbs - 1]) - 1;
    if (bits && exponent > UINT32_MAX / bits) __gmp_overflow_in_mpz();
  }
  __real___gmpz_n_pow_ui(to, base, size, exponent);
}
