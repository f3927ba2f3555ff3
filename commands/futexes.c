/*
 * Calls of futex among threads: those of locks that are not pthread's, whose order no recording of an
 * unmodified program has.
 *
 * The runtime counts them by place. Here the places get names, and those of libc's own locks, which are harmless, are
 * left out: the ones in libc or the dynamic linker, except in syscall(), whose caller counts then.
 */
#include <stdlib.h>
#include <string.h>
#include "meta.h"

static bool is_of_libc(const char *object)
{
	return !strncmp(object, "libc.so.", 8) || !strncmp(object, "ld-linux", 8) || !strcmp(object, "libheddle.so");
}

/* Who called futex there; false: libc itself. */
static bool name_site(const struct meta *meta, const struct futex_site *site, char *text, size_t room)
{
	struct where *w = where_open(meta, site->image, site->slot, site->event);
	const char *object = where_object(w, site->pc);
	uint64_t pc = site->pc;

	if (is_of_libc(object) && where_is_function(w, pc, "syscall")) {
		pc = site->caller - 1; /* a return address is behind its call */
		object = where_object(w, pc);
	}
	bool counts = !is_of_libc(object);
	if (counts) {
		where_describe(w, pc, text, room);
		size_t n = strlen(text);
		if (*object)
			snprintf(text + n, room - n, " in %s", object);
	}
	where_close(w);
	return counts;
}

json_t *futexes_json(const struct meta *meta, const struct control *control)
{
	char text[PATH_ROOM], first[PATH_ROOM] = "";
	uint64_t calls = 0;

	for (size_t i = 0; i < FUTEX_SITES; i++) {
		const struct futex_site *site = &control->futexes[i];
		bool rest = i == FUTEX_SITES - 1; /* of many places: the others have names enough */
		if (!site->calls || (!rest && !name_site(meta, site, text, sizeof text)))
			continue;
		if (!calls)
			strcpy(first, text);
		calls += site->calls;
	}
	if (!calls)
		return NULL;
	return json_pack("{sI so}", "calls", (json_int_t)calls, "first", text_to_json(first, strlen(first)));
}

bool futexes_text(const struct meta *meta, char *text, size_t room)
{
	const json_t *o = json_object_get(meta->json, "futexes");
	char *first = text_from_json(json_object_get(o, "first"));

	if (!first)
		return false;
	snprintf(text, room, "%lld calls, first at %s", (long long)json_integer_value(json_object_get(o, "calls")),
		 first);
	free(first);
	return true;
}
