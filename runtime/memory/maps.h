/* The kernel's list of what is mapped. */
#ifndef MEMORY_MAPS_H
#define MEMORY_MAPS_H
#include <stdbool.h>
#include <stdint.h>

struct mapped {
	uint64_t from, to, offset, inode; /* inode: 0 if no file is behind it */
	bool readable, writable, executable, shared;
};

/* Reads the list whole: touching memory must not change it under our feet. Returns its text, which is the caller's
   until maps_done(); 0 if there is no /proc. */
const char *maps_read(void);
void maps_done(void);
/* The same into memory of the caller's, MAPS_ROOM bytes, for who cannot wait for another to be done. */
#define MAPS_ROOM (1 << 20)
const char *maps_read_to(char *text);
/* The next line of the text; false at its end. */
bool maps_next(const char **text, struct mapped *m);
#endif
