/*
 * The packed words of --order=region: a name that comes out other than it went in would be an edge from the wrong thread,
 * and a reader that is lost in the set would be no edge at all.
 */
#include "runtime/order/shadow_word.h"
#include <assert.h>
#include <stdio.h>

static uint64_t random_state = 88172645463325252ull;

static uint64_t number(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

static void names(void)
{
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t slot = (uint32_t)number(8192);
		uint64_t region = 1 + number(WORD_REGIONS - 1), name = word_name(slot, region);
		assert(word_slot(name) == slot && word_region(name) == region);
		assert(name && !(name & WORD_LOCKED));
		assert(word_slot(name | WORD_LOCKED) == slot && word_region(name | WORD_LOCKED) == region);
	}
	assert(word_slot(word_name(8191, WORD_REGIONS - 1)) == 8191);
	assert(word_slot(word_name(8191, 5) | WORD_LOCKED | WORD_STREAK_MAX) == 8191);
	assert(word_region(word_name(8191, 5) | WORD_LOCKED | WORD_STREAK_MAX) == 5);
	assert((word_name(8191, WORD_REGIONS - 1) & WORD_NAME) == word_name(8191, WORD_REGIONS - 1));
	/* a name is never what an owner's word says, nor locked, nor with a streak */
	assert(word_slot(word_owned_by(8191)) == 8191 && !(word_owned_by(8191) & (WORD_LOCKED | WORD_STREAK_MAX)));
	assert(!((word_name(8191, WORD_REGIONS - 1) | WORD_STREAK_MAX) & WORD_OWNED));
}

/* Whoever was added is there; one alone keeps its region. */
static void sets(void)
{
	for (unsigned round = 0; round < 10000; round++) {
		uint32_t added[8], n = 1 + (uint32_t)number(8);
		uint64_t readers = 0, last = 0;
		bool alone = true;
		for (uint32_t i = 0; i < n; i++) {
			added[i] = (uint32_t)number(round % 2 ? 8192 : 3);
			alone &= added[i] == added[0];
			last = 1 + number(1000);
			readers = word_add_reader(readers, added[i], last);
		}
		for (uint32_t i = 0; i < n; i++)
			assert(word_has_reader(readers, added[i]));
		assert(alone == !(readers & WORD_MANY));
		if (alone)
			assert(readers == word_name(added[0], last));
	}
	assert(!word_has_reader(0, 0));
	assert(!word_has_reader(word_add_reader(0, 1, 1), 0));
	assert(!word_has_reader(word_add_reader(word_add_reader(0, 1, 1), 2, 1), 3));
	/* threads 63 apart share a bit: both are named, one of them for nothing */
	assert(word_has_reader(word_add_reader(word_add_reader(0, 1, 1), 2, 1), 64));
}

int main(void)
{
	names();
	sets();
	puts("good");
	return 0;
}
