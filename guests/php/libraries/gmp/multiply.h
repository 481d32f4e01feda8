// WebAssembly multiplies and divides 64 bits at once, of which GMP's own C for machines that it does not know makes no use.
#define umul_ppmm(high, low, a, b)                                                        \
  do {                                                                                    \
    unsigned long long product_ = (unsigned long long)(a) * (unsigned long long)(b);      \
    (high) = (unsigned long)(product_ >> 32);                                             \
    (low) = (unsigned long)product_;                                                      \
  } while (0)
#define udiv_qrnnd(quotient, rest, high, low, divisor)                                    \
  do {                                                                                    \
    unsigned long long dividend_ = (unsigned long long)(high) << 32 | (low);              \
    unsigned long divisor_ = (divisor);                                                   \
    (quotient) = (unsigned long)(dividend_ / divisor_);                                   \
    (rest) = (unsigned long)(dividend_ % divisor_);                                       \
  } while (0)
#define count_leading_zeros(count, value) ((count) = __builtin_clzl(value))
#define count_trailing_zeros(count, value) ((count) = __builtin_ctzl(value))
