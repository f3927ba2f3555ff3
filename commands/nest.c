/*
 * A nest: a hidden directory for work, beside the place where a trace is to end. To keep a trace that was made there is
 * a rename, to drop the others is to remove the nest. That the trace can be kept is known before it is made.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "commands.h"

static char nest[PATH_ROOM];

void nest_remove(void)
{
	if (*nest)
		remove_all(nest);
	*nest = 0;
}

/* Where `output` is to be. */
static void find_place(const char *output, char place[PATH_ROOM])
{
	struct stat st;
	size_t n = strlen(output);

	if (!n)
		usage("-o wants the name of a directory");
	if (!lstat(output, &st))
		die("%s exists already; choose another name, or remove it with `heddle rm`", output);
	while (n && output[n - 1] == '/')
		n--;
	while (n && output[n - 1] != '/')
		n--;
	if (snprintf(place, PATH_ROOM, "%.*s", n ? (int)n : 1, n ? output : ".") >= PATH_ROOM)
		die("%s: this path is too long", output);
}

const char *nest_make(const char *output, const char *verb)
{
	char place[PATH_ROOM], path[PATH_ROOM + 32], real[PATH_MAX];

	if (output)
		find_place(output, place);
	else
		home_make(place);
	snprintf(path, sizeof path, "%s/.%s-XXXXXX", place, verb);
	if (!mkdtemp(path))
		die("%s: cannot be made: %s; choose another place with -o", path, strerror(errno));
	if (!realpath(path, real) || strlen(real) >= PATH_ROOM - 64) {
		rmdir(path);
		die("%s: this path is too long", place);
	}
	strcpy(nest, real);
	on_death(nest_remove);
	return nest;
}

void nest_keep(const char *from, const char *output, const char *program, char path[PATH_ROOM])
{
	if (output)
		snprintf(path, PATH_ROOM, "%s", output);
	else
		home_new_trace(program, path); /* made and empty: what rename can replace */
	if (rename(from, path)) {
		*nest = 0; /* it is not lost */
		die("%s: cannot be moved to %s: %s", from, path, strerror(errno));
	}
	if (!output)
		home_point_latest(path);
}
