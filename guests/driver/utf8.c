// UTF-8 as the standard has it: no surrogates, no overlong forms.
#include "driver.h"

size_t driver_utf8(const uint8_t *bytes, size_t left, size_t *bad) {
  uint8_t first = bytes[0];
  *bad = 1;
  if (first < 0x80) return 1;
  size_t need = first >= 0xC2 && first <= 0xDF ? 2 : first >= 0xE0 && first <= 0xEF ? 3 : first >= 0xF0 && first <= 0xF4 ? 4 : 0;
  if (!need) return 0;
  uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < need; i++) {
    *bad = i;
    if (i >= left || bytes[i] < low || bytes[i] > high) return 0;
    low = 0x80;
    high = 0xBF;
  }
  return need;
}
