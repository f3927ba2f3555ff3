/*
 * Sets of small numbers: see bits.h. Joining two walks both once.
 */
#include <stdlib.h>
#include <string.h>
#include "compiler/internal.h"
#include "compiler/races/bits.h"

static void make_room(struct bits *set, uint32_t count)
{
	if (count <= set->room)
		return;
	set->room = count < 4 ? 4 : count + count / 2;
	set->words = realloc(set->words, set->room * sizeof *set->words);
	if (!set->words)
		compiler_die("out of memory");
}

/* The first word that is not before this one. */
static uint32_t place(const struct bits *set, uint32_t at)
{
	uint32_t low = 0, high = set->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (set->words[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool bits_add(struct bits *set, uint32_t number)
{
	uint32_t at = number / 64, i = place(set, at);
	uint64_t bit = (uint64_t)1 << number % 64;

	if (i < set->count && set->words[i].at == at) {
		bool grown = !(set->words[i].bits & bit);
		set->words[i].bits |= bit;
		return grown;
	}
	make_room(set, set->count + 1);
	memmove(&set->words[i + 1], &set->words[i], (set->count - i) * sizeof *set->words);
	set->words[i] = (struct bits_word){ at, bit };
	set->count++;
	return true;
}

bool bits_has(const struct bits *set, uint32_t number)
{
	uint32_t i = place(set, number / 64);

	return i < set->count && set->words[i].at == number / 64 && set->words[i].bits >> number % 64 & 1;
}

/* Words of `more` that `set` has none for. */
static uint32_t count_new(const struct bits *set, const struct bits *more)
{
	uint32_t i = 0, fresh = 0;

	for (uint32_t j = 0; j < more->count; j++) {
		while (i < set->count && set->words[i].at < more->words[j].at)
			i++;
		fresh += i == set->count || set->words[i].at != more->words[j].at;
	}
	return fresh;
}

bool bits_add_all(struct bits *set, const struct bits *more)
{
	uint32_t fresh = count_new(set, more);
	bool grown = fresh;

	make_room(set, set->count + fresh);
	/* From the end, so that nothing is overwritten before it was moved. */
	uint32_t i = set->count, j = more->count, to = set->count + fresh;
	set->count = to;
	while (j) {
		if (i && set->words[i - 1].at > more->words[j - 1].at)
			set->words[--to] = set->words[--i];
		else if (i && set->words[i - 1].at == more->words[j - 1].at) {
			struct bits_word w = set->words[--i];
			uint64_t both = w.bits | more->words[--j].bits;
			grown |= both != w.bits;
			set->words[--to] = (struct bits_word){ w.at, both };
		} else
			set->words[--to] = more->words[--j];
	}
	return grown;
}

void bits_difference(struct bits *out, const struct bits *all, const struct bits *without)
{
	uint32_t j = 0;

	out->count = 0;
	make_room(out, all->count);
	for (uint32_t i = 0; i < all->count; i++) {
		struct bits_word w = all->words[i];
		while (j < without->count && without->words[j].at < w.at)
			j++;
		if (j < without->count && without->words[j].at == w.at)
			w.bits &= ~without->words[j].bits;
		if (w.bits)
			out->words[out->count++] = w;
	}
}

uint32_t bits_count(const struct bits *set)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < set->count; i++)
		count += (uint32_t)__builtin_popcountll(set->words[i].bits);
	return count;
}

void bits_free(struct bits *set)
{
	free(set->words);
	*set = (struct bits){ 0 };
}
