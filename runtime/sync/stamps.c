/*
 * Stamps of objects that have no room for one in their own memory.
 *
 * A table by address, of several levels: the first is there from the beginning, the next, four times as large, is made
 * when an object finds no place in LOOKS steps. Places are never taken away (an address that is used again continues
 * its chain, which costs an edge), so where an object once found no place there is none later, and a search that goes
 * from level to level always finds the same place for it.
 */
#include "runtime/runtime.h"
#include "runtime/sync/objects.h"
#include <linux/mman.h>

#define FIRST  65536ul /* places of the first level; a power of two */
#define LEVELS 7
#define LOOKS  64

struct side_stamp {
	const void *object;
	struct stamps stamps;
	uint32_t lock;
} __attribute__((aligned(64))); /* a cache line: others' objects are not disturbed */
static struct side_stamp first[FIRST];
static struct side_stamp *levels[LEVELS] = { first };

static uint64_t places(unsigned level)
{
	return FIRST << 2 * level;
}

static struct side_stamp *level_at(unsigned level)
{
	struct side_stamp *table = __atomic_load_n(&levels[level], __ATOMIC_ACQUIRE);
	if (likely(table))
		return table;
	uint64_t at = MAP_STAMPS_BASE + level * MAP_STAMPS_ROOM;
	_Static_assert((FIRST << 2 * (LEVELS - 1)) * sizeof *table <= MAP_STAMPS_ROOM, "the last level fits");
	long r = own_map(at, places(level) * sizeof *table, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	/* EEXIST: another thread was faster, and its table is as empty */
	if (is_error(r) && r != -EEXIST)
		cannot("no memory for the order of %u synchronisation objects: error %d", places(level), -r);
	/* release: who finds the level here has its mapping; both threads store the same */
	__atomic_store_n(&levels[level], (struct side_stamp *)at, __ATOMIC_RELEASE);
	return (struct side_stamp *)at;
}

/* The object's place in this level, taken now if it is the first of LOOKS that is free; 0: there is none. */
static struct side_stamp *find_place(const void *object, unsigned level)
{
	struct side_stamp *table = level_at(level);
	uint64_t h = (uint64_t)object >> 3;
	h ^= h >> 16;
	for (unsigned i = 0; i < LOOKS; i++) {
		struct side_stamp *s = &table[(h + i) % places(level)];
		const void *there = __atomic_load_n(&s->object, __ATOMIC_ACQUIRE);
		/* if another thread takes the place meanwhile, `there` becomes its object, which may be ours */
		if (!there &&
		    __atomic_compare_exchange_n(&s->object, &there, object, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return s;
		if (there == object)
			return s;
	}
	return 0;
}

struct stamps *stamps_lock(const void *object)
{
	struct side_stamp *s = 0;
	for (unsigned level = 0; level < LEVELS && !s; level++)
		s = find_place(object, level);
	if (!s)
		cannot("the program uses more synchronisation objects than Heddle can order");
	brief_lock(&s->lock);
	return &s->stamps;
}

void stamps_unlock(struct stamps *stamps)
{
	struct side_stamp *s = (struct side_stamp *)((uint8_t *)stamps - offsetof(struct side_stamp, stamps));
	brief_unlock(&s->lock);
}

uint64_t *stamp_lock(const void *object)
{
	return &stamps_lock(object)->last;
}

void stamp_unlock(uint64_t *stamp)
{
	stamps_unlock((struct stamps *)stamp); /* its first member */
}

/* In the child of a fork: locks that other threads held are free. Their stamps are one word each, and whole. */
void stamps_forked(void)
{
	for (unsigned level = 0; memory_torn && level < LEVELS; level++)
		for (uint64_t i = 0; levels[level] && i < places(level); i++)
			if (levels[level][i].lock)
				levels[level][i].lock = 0;
}
