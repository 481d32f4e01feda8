// What the two halves of the value encoder share: `encode.c` walks, `scalars.c` writes what holds nothing.
#ifndef DORMOUSE_ENCODE_H
#define DORMOUSE_ENCODE_H

#include "javascript.h"

// Bytes of a property name, key or class.
#define LONGEST_KEY 256

// Objects that are being encoded, from the innermost outwards.
struct open {
  void *object;
  uint32_t id;
  struct open *outer;
};

typedef struct {
  JSContext *ctx;
  const bounds *limits;
  text *out;
  struct open *open;
  // Bytes that open containers will still need.
  size_t reserved;
  // The text is as long as it may be; what is left is left out.
  bool full;
  uint32_t last_id;
  // Objects that have an id. They are kept alive, so that none is mistaken for another at the same address.
  JSValue *named;
  uint32_t *ids;
  size_t named_count, named_room;
} encoder;

// Whether the text has become longer than open containers leave room for.
bool encode_over(const encoder *e);

// The number of an object within this value.
uint32_t encode_id(encoder *e, JSValueConst object);

void write_class(encoder *e, JSValueConst value);
void write_too_large(encoder *e, JSValueConst value);
// The exception that the value's own code raised, as the value's place.
void write_raised(encoder *e, JSValueConst value);
void write_number(encoder *e, double number);
void write_big(encoder *e, JSValueConst value);
void write_string(encoder *e, JSValueConst value);
void write_bytes(encoder *e, JSValueConst value);
void write_symbol(encoder *e, JSValueConst symbol);

#endif
