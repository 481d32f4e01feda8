// Conversions between character sets as PHP's programs know them of glibc. libc's own put a star for what the other set has not, and
// know no `//TRANSLIT` and `//IGNORE`. The linker puts these in the place of libc's (`--wrap`).
#include <errno.h>
#include <iconv.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>

#include "spellings.h"

iconv_t __real_iconv_open(const char *to, const char *from);
size_t __real_iconv(iconv_t how, char **in, size_t *in_left, char **out, size_t *out_left);
int __real_iconv_close(iconv_t how);

// Longest name of a set, and longest text of one character.
enum { NAME = 64, TEXT = 64 };

// How often a character may be parted into others.
#define DEPTH 8

static const iconv_t none = (iconv_t)-1;
static const size_t failed = (size_t)-1;

typedef struct {
  iconv_t direct;          // for a set that has every character, else none:
  iconv_t decode, encode;  // by way of single code points
  const char *mark;        // still to be written before the first character, of this size
  size_t mark_size;
  bool ignores, spells;
} conversion_t;

// What one character becomes.
typedef struct {
  char bytes[TEXT];
  size_t length;
} text_t;

// Sets that are written with a mark of their order or in the order of the machine, as on Linux.
static const struct {
  const char *name, *written, *mark;
  size_t mark_size;
} ordered[] = {
    {"UTF-16", "UTF-16LE", "\xff\xfe", 2},     {"UTF16", "UTF-16LE", "\xff\xfe", 2}, {"UCS-2", "UTF-16LE", "", 0},
    {"UTF-32", "UTF-32LE", "\xff\xfe\0\0", 4}, {"UTF32", "UTF-32LE", "\xff\xfe\0\0", 4},
};

static bool has_every_character(const char *name) {
  return strncasecmp(name, "UTF", 3) == 0 || strncasecmp(name, "UCS", 3) == 0 || strcasecmp(name, "WCHAR_T") == 0 || !*name;
}

// The name without what follows a double slash, which goes into the conversion.
static bool read_name(char *into, const char *name, conversion_t *conversion) {
  const char *end = strstr(name, "//");
  size_t length = end ? (size_t)(end - name) : strlen(name);
  if (length >= NAME) return false;
  memcpy(into, name, length);
  into[length] = 0;
  while (end && conversion) {
    const char *word = end + 2;
    end = strstr(word, "//");
    length = end ? (size_t)(end - word) : strlen(word);
    if (length == 8 && strncasecmp(word, "TRANSLIT", length) == 0) conversion->spells = true;
    if (length == 6 && strncasecmp(word, "IGNORE", length) == 0) conversion->ignores = true;
  }
  return true;
}

// Ends a conversion, with the number of an error that its callers ask for afterwards.
static iconv_t give_up(conversion_t *conversion, int error) {
  if (conversion->direct != none) __real_iconv_close(conversion->direct);
  if (conversion->decode != none) __real_iconv_close(conversion->decode);
  if (conversion->encode != none) __real_iconv_close(conversion->encode);
  free(conversion);
  errno = error;
  return none;
}

iconv_t __wrap_iconv_open(const char *to, const char *from) {
  char target[NAME], source[NAME];
  conversion_t *conversion = calloc(1, sizeof *conversion);
  if (!conversion) return none;
  conversion->direct = conversion->decode = conversion->encode = none;
  if (!read_name(target, to, conversion) || !read_name(source, from, NULL)) return give_up(conversion, EINVAL);
  const char *written = target;
  for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++) {
    if (strcasecmp(target, ordered[i].name) != 0) continue;
    written = ordered[i].written;
    conversion->mark = ordered[i].mark;
    conversion->mark_size = ordered[i].mark_size;
  }
  if (has_every_character(target)) {
    conversion->direct = __real_iconv_open(written, source);
    return conversion->direct == none ? give_up(conversion, errno) : (iconv_t)conversion;
  }
  conversion->decode = __real_iconv_open("WCHAR_T", source);
  conversion->encode = __real_iconv_open(target, "WCHAR_T");
  bool is_known = conversion->decode != none && conversion->encode != none;
  return is_known ? (iconv_t)conversion : give_up(conversion, EINVAL);
}

int __wrap_iconv_close(iconv_t how) {
  give_up(how, errno);
  return 0;
}

// Adds a code point; false: the set has not got it.
static bool put(conversion_t *conversion, uint32_t point, text_t *text) {
  char *in = (char *)&point, *out = text->bytes + text->length;
  size_t in_left = sizeof point, out_left = sizeof text->bytes - text->length;
  // What libc puts a star for is counted.
  if (__real_iconv(conversion->encode, &in, &in_left, &out, &out_left) != 0) return false;
  text->length = sizeof text->bytes - out_left;
  return true;
}

static const char *spelling(uint32_t point) {
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
    if (spellings[i].point == point) return spellings[i].text;
  }
  return NULL;
}

// The characters that stand for one: other ones that it is known by, else those that it is made of, without marks.
static bool spell(conversion_t *conversion, uint32_t point, text_t *text, int depth) {
  if (put(conversion, point, text)) return true;
  if (u_charType(point) == U_NON_SPACING_MARK || u_hasBinaryProperty(point, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)) return true;
  const char *known = spelling(point);
  for (; known && *known; known++) {
    if (!put(conversion, (unsigned char)*known, text)) return false;
  }
  if (known) return true;
  UErrorCode error = U_ZERO_ERROR;
  const UNormalizer2 *form = unorm2_getNFKDInstance(&error);
  UChar parts[TEXT];
  int32_t length = U_SUCCESS(error) && depth ? unorm2_getRawDecomposition(form, (UChar32)point, parts, TEXT, &error) : -1;
  // A mark on a blank is shown by the mark.
  if (length <= 0 || U_FAILURE(error) || (length > 1 && parts[0] == ' ')) return false;
  for (int32_t i = 0; i < length;) {
    UChar32 part;
    U16_NEXT(parts, i, length, part);
    if (!spell(conversion, (uint32_t)part, text, depth - 1)) return false;
  }
  return true;
}

// Takes one code point; sometimes two are one character.
static size_t take(conversion_t *conversion, char **in, size_t *in_left, uint32_t points[2]) {
  for (size_t most = 1; most <= 2; most++) {
    char *out = (char *)points;
    size_t out_left = most * sizeof *points;
    size_t told = __real_iconv(conversion->decode, in, in_left, &out, &out_left);
    size_t got = most - out_left / sizeof *points;
    if (got) return got;
    if (told != failed) return 0;
    if (errno != E2BIG) return failed;
  }
  return failed;
}

// Converts the next character. Nothing has happened when it fails.
static size_t convert_one(conversion_t *conversion, char **in, size_t *in_left, char **out, size_t *out_left) {
  uint32_t points[2];
  char *rest = *in;
  size_t rest_left = *in_left, replaced = 0;
  size_t count = take(conversion, &rest, &rest_left, points);
  if (count == failed) return failed;
  text_t text = {.length = 0};
  for (size_t i = 0; i < count; i++) {
    size_t before = text.length;
    if (put(conversion, points[i], &text)) continue;
    replaced++;
    if (conversion->spells && spell(conversion, points[i], &text, DEPTH)) continue;
    text.length = before;
    if (conversion->spells && put(conversion, '?', &text)) continue;
    if (conversion->ignores) continue;
    errno = EILSEQ;
    return failed;
  }
  if (text.length > *out_left) {
    errno = E2BIG;
    return failed;
  }
  memcpy(*out, text.bytes, text.length);
  *out += text.length;
  *out_left -= text.length;
  *in = rest;
  *in_left = rest_left;
  return replaced;
}

static size_t convert(conversion_t *conversion, char **in, size_t *in_left, char **out, size_t *out_left) {
  if (conversion->direct != none) return __real_iconv(conversion->direct, in, in_left, out, out_left);
  size_t replaced = 0;
  while (*in_left) {
    size_t told = convert_one(conversion, in, in_left, out, out_left);
    if (told == failed) return failed;
    replaced += told;
  }
  return replaced;
}

static bool write_mark(conversion_t *conversion, char **out, size_t *out_left) {
  size_t size = conversion->mark_size;
  if (size > *out_left) return false;
  if (size) memcpy(*out, conversion->mark, size);
  *out += size;
  *out_left -= size;
  conversion->mark_size = 0;
  return true;
}

size_t __wrap_iconv(iconv_t how, char **in, size_t *in_left, char **out, size_t *out_left) {
  conversion_t *conversion = how;
  // No set that can be written has a state to end.
  if (!in || !*in) return 0;
  if (*in_left && !write_mark(conversion, out, out_left)) {
    errno = E2BIG;
    return failed;
  }
  for (;;) {
    size_t told = convert(conversion, in, in_left, out, out_left);
    if (told != failed || errno != EILSEQ || !conversion->ignores) return told;
    (*in)++;
    (*in_left)--;
  }
}
