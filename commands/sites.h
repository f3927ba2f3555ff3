/*
 * What a binary built by heddle-cc tells about itself.
 */
#ifndef COMMANDS_SITES_H
#define COMMANDS_SITES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who made an access that has no site. */
#define SITES_NONE "libc or the kernel"

struct sites_note {
	int version;
	char select[64], mode[32];
	size_t objects, sites, hooked; /* objects: modules that the pass has seen */
	char foreign[4096];	       /* objects of other compilers, separated by ':' */
};

/* False: not built by heddle-cc. Dies if the file is none that could be. */
bool sites_read_note(const char *path, struct sites_note *note);
/* How exact a recording of this program can be, in words: locks only, or also its races, and inside what not. */
void sites_level(const char *path, bool every, char *text, size_t room);
/* "load", "store", ...: an enum hook_kind. */
const char *sites_kind(unsigned kind);
/* "function (file:line:column)" of the site at an address of a binary's own; what it can. */
void sites_place(const char *path, uint64_t address, char *text, size_t room);
/* heddle dump --sites: one line a site. */
int sites_dump(const char *path, bool why, bool json);
/* What --select=races has found, as JSON; NULL: it was not built so. To be freed. */
char *sites_races(const char *path, size_t *size);
#endif
