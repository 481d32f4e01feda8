// What libzip's build finds out with CMake: for WASI, with zlib and without a library for AES.
#ifndef HAD_CONFIG_H
#define HAD_CONFIG_H

#include "zipconf.h"

// libzip forgets it where a system clones files.
#include <string.h>

#define HAVE_ARC4RANDOM
#define HAVE_DIRENT_H
#define HAVE_EXPLICIT_BZERO
#define HAVE_FILENO
#define HAVE_FSEEKO
#define HAVE_FTELLO
#define HAVE_LOCALTIME_R
#define HAVE_SNPRINTF
#define HAVE_STDBOOL_H
#define HAVE_STRCASECMP
#define HAVE_STRDUP
#define HAVE_STRINGS_H
#define HAVE_STRTOLL
#define HAVE_STRTOULL
#define HAVE_STRUCT_TM_TM_ZONE
#define HAVE_UNISTD_H
#define SIZEOF_OFF_T 8
#define SIZEOF_SIZE_T 4
#define PACKAGE "libzip"
#define VERSION LIBZIP_VERSION

#endif
