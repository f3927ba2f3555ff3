/*
 * Texts, each kept once and known by a number.
 */
#include <stdlib.h>
#include <string.h>
#include "timeline.h"

static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;

	while (*text)
		h = (h ^ (unsigned char)*text++) * 0x100000001b3ull;
	return h ^ h >> 29;
}

static uint32_t *place_of(const struct texts *t, const char *text)
{
	size_t at = hash(text) & (t->room - 1);

	while (t->table[at] && strcmp(t->all[t->table[at]], text))
		at = (at + 1) & (t->room - 1);
	return &t->table[at];
}

static void grow(struct texts *t)
{
	t->room = t->room ? 2 * t->room : 1024;
	free(t->table);
	t->table = calloc(t->room, sizeof *t->table);
	t->all = realloc(t->all, t->room / 2 * sizeof *t->all);
	if (!t->table || !t->all)
		die("not enough memory");
	for (size_t i = 1; i < t->count; i++)
		*place_of(t, t->all[i]) = (uint32_t)i;
}

uint32_t texts_number(struct texts *t, const char *text)
{
	if (!t->count) {
		grow(t);
		t->all[t->count++] = strdup("");
	}
	if (!*text)
		return 0;
	if (t->count == t->room / 2)
		grow(t);
	uint32_t *at = place_of(t, text);
	if (*at)
		return *at;
	if (!(t->all[t->count] = strdup(text)))
		die("not enough memory");
	return *at = (uint32_t)t->count++;
}

void texts_free(struct texts *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->all[i]);
	free(t->all);
	free(t->table);
}
