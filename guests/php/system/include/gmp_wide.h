// GMP's functions with whole numbers as arguments, for PHP's whole numbers: those have 64 bits here, and GMP takes `long`,
// which has 32. Where a number does not fit it becomes a number of GMP's, on the stack. Included by PHP's extension alone.
#ifndef DORMOUSE_GMP_WIDE_H
#define DORMOUSE_GMP_WIDE_H

#include <gmp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

// A number of GMP's that needs no memory of its own.
typedef struct {
  mp_limb_t limbs[64 / GMP_NUMB_BITS];
  mpz_t number;
} gmp_wide;

static inline mpz_srcptr gmp_wide_magnitude(gmp_wide *wide, uint64_t value, bool negative) {
  const int limbs = 64 / GMP_NUMB_BITS;
  for (int i = 0; i < limbs; i++, value = value >> (GMP_NUMB_BITS / 2) >> (GMP_NUMB_BITS / 2)) wide->limbs[i] = (mp_limb_t)value;
  return mpz_roinit_n(wide->number, wide->limbs, negative ? -limbs : limbs);
}

static inline mpz_srcptr gmp_wide_ui(gmp_wide *wide, uint64_t value) { return gmp_wide_magnitude(wide, value, false); }

static inline mpz_srcptr gmp_wide_si(gmp_wide *wide, int64_t value) {
  return gmp_wide_magnitude(wide, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0);
}

// More than memory can hold: as an exponent, a root or a number of bits it is an error or no different from the largest.
static inline unsigned long gmp_wide_clamp(uint64_t value) { return value > ULONG_MAX ? ULONG_MAX : (unsigned long)value; }

static inline void gmp_wide_set_si(mpz_ptr to, int64_t value) {
  gmp_wide wide;
  mpz_set(to, gmp_wide_si(&wide, value));
}

// The low 64 bits, with the sign, as `mpz_get_si` does it.
static inline int64_t gmp_wide_get_si(mpz_srcptr from) {
  uint64_t value = 0;
  for (size_t i = 64 / GMP_NUMB_BITS; i-- > 0;) value = value << (GMP_NUMB_BITS / 2) << (GMP_NUMB_BITS / 2) | mpz_getlimbn(from, i);
  if (mpz_sgn(from) >= 0) return (int64_t)(value & INT64_MAX);
  return -1 - (int64_t)((value - 1) & INT64_MAX);
}

static inline bool gmp_wide_fits(mpz_srcptr value) {
  gmp_wide wide;
  return mpz_cmp(value, gmp_wide_si(&wide, INT64_MIN)) >= 0 && mpz_cmp(value, gmp_wide_si(&wide, INT64_MAX)) <= 0;
}

static inline int gmp_wide_cmp_si(mpz_srcptr a, int64_t b) {
  gmp_wide wide;
  return mpz_cmp(a, gmp_wide_si(&wide, b));
}

// What takes a number without a sign, and gives one number.
#define GMP_WIDE_BINARY(name)                                                            \
  static inline void gmp_wide_##name##_ui(mpz_ptr to, mpz_srcptr a, uint64_t b) {        \
    gmp_wide wide;                                                                       \
    if (b <= ULONG_MAX) {                                                                \
      mpz_##name##_ui(to, a, (unsigned long)b);                                          \
    } else {                                                                             \
      mpz_##name(to, a, gmp_wide_ui(&wide, b));                                          \
    }                                                                                    \
  }
GMP_WIDE_BINARY(add)
GMP_WIDE_BINARY(sub)
GMP_WIDE_BINARY(mul)
GMP_WIDE_BINARY(gcd)
GMP_WIDE_BINARY(lcm)
GMP_WIDE_BINARY(mod)
GMP_WIDE_BINARY(tdiv_q)
GMP_WIDE_BINARY(tdiv_r)
GMP_WIDE_BINARY(fdiv_q)
GMP_WIDE_BINARY(fdiv_r)
GMP_WIDE_BINARY(cdiv_q)
GMP_WIDE_BINARY(cdiv_r)

// Quotient and remainder. Nobody looks at the value.
#define GMP_WIDE_DIVISION(name)                                                                      \
  static inline uint64_t gmp_wide_##name##_ui(mpz_ptr q, mpz_ptr r, mpz_srcptr a, uint64_t b) {      \
    gmp_wide wide;                                                                                   \
    if (b <= ULONG_MAX) return mpz_##name##_ui(q, r, a, (unsigned long)b);                           \
    mpz_##name(q, r, a, gmp_wide_ui(&wide, b));                                                      \
    return 0;                                                                                        \
  }
GMP_WIDE_DIVISION(tdiv_qr)
GMP_WIDE_DIVISION(fdiv_qr)
GMP_WIDE_DIVISION(cdiv_qr)

static inline void gmp_wide_pow_ui(mpz_ptr to, mpz_srcptr base, uint64_t exponent) {
  // Powers of -1, 0 and 1 have no size.
  if (exponent > ULONG_MAX && mpz_cmpabs_ui(base, 1) <= 0) exponent = 2 + (exponent & 1);
  mpz_pow_ui(to, base, gmp_wide_clamp(exponent));
}

static inline void gmp_wide_ui_pow_ui(mpz_ptr to, uint64_t base, uint64_t exponent) {
  gmp_wide wide;
  gmp_wide_pow_ui(to, gmp_wide_ui(&wide, base), exponent);
}

static inline void gmp_wide_powm_ui(mpz_ptr to, mpz_srcptr base, uint64_t exponent, mpz_srcptr modulus) {
  gmp_wide wide;
  mpz_powm(to, base, gmp_wide_ui(&wide, exponent), modulus);
}

static inline void gmp_wide_bin_ui(mpz_ptr to, mpz_srcptr n, uint64_t k) { mpz_bin_ui(to, n, gmp_wide_clamp(k)); }

static inline void gmp_wide_bin_uiui(mpz_ptr to, uint64_t n, uint64_t k) {
  gmp_wide wide;
  if (k > n) {
    mpz_set_ui(to, 0);
  } else {
    mpz_bin_ui(to, gmp_wide_ui(&wide, n), gmp_wide_clamp(k < n - k ? k : n - k));
  }
}

static inline int gmp_wide_root(mpz_ptr to, mpz_srcptr a, uint64_t n) {
  // Whether a root of a negative number is odd has been seen to.
  return mpz_root(to, a, n > ULONG_MAX ? ULONG_MAX : (unsigned long)n);
}

static inline void gmp_wide_rootrem(mpz_ptr to, mpz_ptr rest, mpz_srcptr a, uint64_t n) {
  mpz_rootrem(to, rest, a, n > ULONG_MAX ? ULONG_MAX : (unsigned long)n);
}

static inline int gmp_wide_si_kronecker(int64_t a, mpz_srcptr b) {
  gmp_wide wide;
  return mpz_kronecker(gmp_wide_si(&wide, a), b);
}

static inline int gmp_wide_kronecker_si(mpz_srcptr a, int64_t b) {
  gmp_wide wide;
  return mpz_kronecker(a, gmp_wide_si(&wide, b));
}

static inline void gmp_wide_fac_ui(mpz_ptr to, uint64_t n) { mpz_fac_ui(to, gmp_wide_clamp(n)); }

static inline void gmp_wide_randseed_ui(gmp_randstate_t state, uint64_t seed) {
  gmp_wide wide;
  gmp_randseed(state, gmp_wide_ui(&wide, seed));
}

// Places of bits beyond those that a number can have.
static inline int gmp_wide_tstbit(mpz_srcptr a, uint64_t at) { return at > ULONG_MAX ? mpz_sgn(a) < 0 : mpz_tstbit(a, (mp_bitcnt_t)at); }

static inline void gmp_wide_clrbit(mpz_ptr a, uint64_t at) {
  if (at <= ULONG_MAX || mpz_sgn(a) < 0) mpz_clrbit(a, gmp_wide_clamp(at));
}

static inline void gmp_wide_mul_2exp(mpz_ptr to, mpz_srcptr a, uint64_t bits) {
  mpz_mul_2exp(to, a, mpz_sgn(a) ? gmp_wide_clamp(bits) : 0);
}

static inline void gmp_wide_fdiv_q_2exp(mpz_ptr to, mpz_srcptr a, uint64_t bits) {
  mpz_fdiv_q_2exp(to, a, gmp_wide_clamp(bits));
}

static inline int64_t gmp_wide_scan(mp_bitcnt_t (*scan)(mpz_srcptr, mp_bitcnt_t), mpz_srcptr a, uint64_t from) {
  mp_bitcnt_t found = scan(a, gmp_wide_clamp(from));
  return found == ULONG_MAX ? -1 : (int64_t)found;
}

// A count of bits; infinitely many are -1.
static inline int64_t gmp_wide_count(mp_bitcnt_t count) { return count == ULONG_MAX ? -1 : (int64_t)count; }

#undef mpz_cmp_si
#undef mpz_cmp_ui
#undef mpz_fits_si_p
#undef mpz_kronecker_si
#undef mpz_si_kronecker
#define mpz_cmp_ui(a, b) gmp_wide_cmp_si(a, b)
#define mpz_cmp_si gmp_wide_cmp_si
#define mpz_fits_si_p gmp_wide_fits
#define mpz_kronecker_si gmp_wide_kronecker_si
#define mpz_si_kronecker gmp_wide_si_kronecker

#endif
