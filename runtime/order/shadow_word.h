/*
 * The words in which `region` remembers who came last: how they are packed and unpacked, and nothing else.
 *
 *   name     (slot, region): 13 bits of slot, 45 of region. 0 is nobody: regions are numbered from 1.
 *   writer   a name, the lock bit, and how often in a row its thread has come (streak); or, with OWNED and without a
 *            region, whose the granule is until somebody else takes it: see words_disown(). There are no readers then.
 *   readers  0: nobody. A name: one thread, and the last region in which it read. With the top bit set: many threads;
 *            bit slot % 63 is set for each.
 *
 * Why these widths: map.h has 8192 slots. A thread that began a region every microsecond would use 2^45 of them up in a
 * year, one whose handlers mend faults after 2^29 of those (see HOOK_FAR): then the recording ends. Two threads whose
 * slots differ by a multiple of 63 share a bit of `readers`: a writer then takes an edge from both, one of them for
 * nothing, and who finds its bit set must still make sure that it knows the writer.
 */
#ifndef SHADOW_WORD_H
#define SHADOW_WORD_H
#include <stdbool.h>
#include <stdint.h>

#define WORD_LOCKED	 (1ull << 63)
#define WORD_MANY	 (1ull << 63)
#define WORD_OWNED	 (1ull << 62)
#define WORD_STREAK	 (1ull << 58) /* one of it */
#define WORD_STREAK_MAX	 (15 * WORD_STREAK)
#define WORD_REGION_BITS 45
#define WORD_SLOT_BITS	 13
#define WORD_REGIONS	 (1ull << WORD_REGION_BITS)
#define WORD_BITS	 63u /* of the set of many readers */

#define WORD_NAME (WORD_STREAK - 1)

_Static_assert(WORD_REGION_BITS + WORD_SLOT_BITS == 58, "a name, a streak and two bits fill the word");

static inline uint64_t word_name(uint32_t slot, uint64_t region)
{
	return (uint64_t)slot << WORD_REGION_BITS | region;
}

/* What the word of a granule says that is this thread's. */
static inline uint64_t word_owned_by(uint32_t slot)
{
	return WORD_OWNED | (uint64_t)slot << WORD_REGION_BITS;
}

static inline uint32_t word_slot(uint64_t name)
{
	return (uint32_t)(name >> WORD_REGION_BITS) & ((1u << WORD_SLOT_BITS) - 1);
}

static inline bool word_is_of(uint64_t name, uint32_t slot)
{
	return name && word_slot(name) == slot;
}

static inline uint64_t word_region(uint64_t name)
{
	return name & (WORD_REGIONS - 1);
}

static inline uint64_t word_bit(uint32_t slot)
{
	return 1ull << slot % WORD_BITS;
}

/* The set of readers with one more. */
static inline uint64_t word_add_reader(uint64_t readers, uint32_t slot, uint64_t region)
{
	if (!readers || (!(readers & WORD_MANY) && word_slot(readers) == slot))
		return word_name(slot, region);
	if (!(readers & WORD_MANY))
		readers = WORD_MANY | word_bit(word_slot(readers));
	return readers | word_bit(slot);
}

/* May `slot` be among them? */
static inline bool word_has_reader(uint64_t readers, uint32_t slot)
{
	if (readers & WORD_MANY)
		return readers & word_bit(slot);
	return readers && word_slot(readers) == slot;
}

#endif
