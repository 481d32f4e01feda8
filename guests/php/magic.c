// The database of kinds of files, which lies compressed in the image: 8.5 MB would be a third of it. It is unpacked when a
// program first asks for the kind of a file, and stays until the session is saved.
#include "guest_php.h"

#include <string.h>
#include <zlib.h>

// First its size, then what zlib made of it (`tools/guests/src/guests/php/magic.rs`).
static const unsigned char packed[] = {
#embed "magic.z"
};

static void *database;
// How many parts of PHP look at it.
static size_t users;

static size_t unpacked_size(void) {
  uint32_t size;
  memcpy(&size, packed, sizeof size);
  return size;
}

// In place of the database that PHP's extension would have in its own data. NULL: it is damaged, which the build rules out.
const void *driver_magic(void) {
  if (!database) {
    uLongf size = unpacked_size();
    void *room = emalloc(size);
    if (uncompress(room, &size, packed + sizeof(uint32_t), sizeof packed - sizeof(uint32_t)) != Z_OK) {
      efree(room);
      return NULL;
    }
    database = room;
  }
  users++;
  return database;
}

// Whether `map` is the database, which the extension does not free then.
bool driver_magic_done(const void *map) {
  if (!map || map != database) return false;
  if (users) users--;
  return true;
}

void magic_begin_request(void) {
  database = NULL;
  users = 0;
}

void magic_rest(void) {
  if (!database || users) return;
  // Not only given back: what it held would be saved.
  memset(database, 0, unpacked_size());
  efree(database);
  database = NULL;
}
