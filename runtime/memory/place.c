/*
 * Where the program's mappings go when it leaves the choice to the system.
 *
 * Upwards through the range, never twice in the same place until its end is
 * reached. The kernel says when a place is taken (MAP_FIXED_NOREPLACE), so no
 * list of mappings is kept here.
 */
#include "runtime/runtime.h"

static struct range_of_places {
	uint64_t next, from, to;
} anywhere = { MAP_MMAP_BASE, MAP_MMAP_BASE, MAP_MMAP_END }, low = { MAP_LOW_BASE, MAP_LOW_BASE, MAP_LOW_END };

/* The next place at or after `at` where n bytes do not cover the room of a stub pool. */
static uint64_t clear_of_pools(uint64_t at, uint64_t n)
{
	if (n > MAP_POOL_EVERY - MAP_POOL_SIZE)
		return at;
	uint64_t pool = ALIGN_DOWN(at, MAP_POOL_EVERY) + MAP_POOL_EVERY - MAP_POOL_SIZE;
	return at + n <= pool ? at : pool + MAP_POOL_SIZE;
}

static uint64_t place_in(struct range_of_places *r, uint64_t n)
{
	/* a page stays free between two mappings, so that running over the end is noticed */
	n = ALIGN_UP(n, page_size) + page_size;
	/* large ones are aligned so that huge pages can serve them */
	uint64_t at = n >= (2u << 20) ? ALIGN_UP(r->next, 2u << 20) : r->next;
	at = clear_of_pools(at, n);
	if (at + n > r->to)
		at = clear_of_pools(r->from, n);
	r->next = at + n;
	return at;
}

uint64_t mmap_place(uint64_t n)
{
	return place_in(&anywhere, n);
}

uint64_t mmap_place_low(uint64_t n)
{
	return place_in(&low, n);
}

bool is_ours(uint64_t addr, uint64_t n)
{
	return addr + n > MAP_OURS_BASE && addr < MAP_OURS_END && addr + n >= addr;
}
