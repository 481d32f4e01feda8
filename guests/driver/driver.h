// What the drivers of all guests share: the `state` interface, output, and the end of initialisation.
#ifndef DORMOUSE_DRIVER_H
#define DORMOUSE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Implemented by each guest: what it does before its memory is saved, such as writing out what it has gathered for the
// standard streams. Files stay open (descriptors.c).
void driver_rest(void);

// Notes where each open descriptor is, and says its path.
void driver_rest_descriptors(void (*each)(void *all, const char *path), void *all);

// In a new instance with the memory of another: opens what was open, under the same numbers, before anything else is opened.
void driver_open_again(void);

// Forgets all descriptors: at the end of initialisation nothing is open.
void driver_forget_descriptors(void);

// Notes that the program has locked a file, and believes what it has read of it, or that it no longer does.
void driver_note_lock(int number, bool locked);

// Whether a descriptor could not be opened again.
bool driver_is_lost(uint32_t number);

// Whether a path is that of the journal of a database that could not be opened again.
bool driver_is_journal_of_lost(const char *path);

// Whose a file is: it lies in a project that runs change for themselves alone, and is the project's own or was made by a run;
// or it lies elsewhere.
typedef enum { WHOSE_ELSEWHERE, WHOSE_PROJECT, WHOSE_RUN } driver_whose_t;
driver_whose_t driver_whose(const char *path);

// Whether a run could have written a file.
bool driver_can_be_written(const char *path);

// Whether a path is UTF-8 and so can be given to the host.
bool driver_is_text(const char *path);

// Drops what libc has cached of the world outside (environment variables and pre-opened folders); it is acquired
// anew on next use.
void driver_forget_world(void);

// Asked first in every call that may run a snippet's code: whether the instance goes on from a saved state, from which
// others may go on as well. True once: what the interpreter has drawn for itself from the host's entropy is then to be
// drawn anew, so that they do not draw the same random numbers. An instance that was saved and lives on keeps it. The files
// that were open are open again when it answers.
bool driver_restored(void);

// The last act of `wizer-initialize`: forgets the world and clears the unused part of the C stack, so that neither
// enters the image, and makes `/tmp` the working directory.
void driver_end_initialisation(void);

// Clears the stack of the adapter between the WASI versions, which is empty whenever no call of it is in progress, so that
// what lay on it is not saved.
void driver_clear_adapter_stack(void);

// Takes every free hole of the heap, for good, so that later allocations lie side by side in fresh memory. An
// instance's cost is the number of memory pages it touches; scattered holes would make that many.
void driver_fill_heap(void);

// Writes all bytes to a descriptor. Errors end it: a closed output is the host's decision, not the snippet's fault.
void driver_write(int descriptor, const char *bytes, size_t length);

// In guests that have SQLite, part of their initialisation: it locks files among its own connections, and its random
// numbers come from the host.
void driver_start_sqlite(void);

// Lets SQLite seed its random numbers anew when it next wants one.
void driver_reseed_sqlite(void);

// The length of the valid UTF-8 character at `bytes`, of which `left` can be read; or 0, then `*bad` bytes form one
// error. A character that is cut has `*bad == left`.
size_t driver_utf8(const uint8_t *bytes, size_t left, size_t *bad);

#endif
