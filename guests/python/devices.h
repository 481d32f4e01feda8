// Descriptors that are no files: `/dev/null` and pipes (devices.c).
#ifndef DORMOUSE_PYTHON_DEVICES_H
#define DORMOUSE_PYTHON_DEVICES_H

#include <stdbool.h>

// A pipe within the program: the descriptors to read from and to write to. False: `errno` says why not.
bool device_pipe(int ends[2]);
// Whether reading from a descriptor would not have to wait.
bool device_is_ready(int descriptor);
// A descriptor was closed: its number can become that of a file.
void device_closed(int descriptor);

#endif
