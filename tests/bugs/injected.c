/*
 * Random bug injection of LEAP (5.1.3): ten variables in five atomic sets of two. Each thread, by a seed of its own, reads or writes one of them
 * again and again, and remembers for each set what it did there last. When another thread has accessed the set in between in one of the problematic
 * patterns of Vaziri, Tip and Dolby, the program stops. usage: injected THREADS SEED. What could go wrong: which access
 * completes the first pattern depends on the order of all accesses before it.
 */
// run: fails gallery
// explain: @last before @again
#include "bugs.h"

enum { SETS = 5, MEMBERS = 2, ACCESSES = 300 };

/* The last access to a set, by anybody: thread and kind in one word, so that it is seen whole. */
struct set {
	unsigned member[MEMBERS];
	unsigned last; /* (thread + 1) * 4 + kind */
};
enum { READ = 1, WRITE = 2 };

static struct set sets[SETS];
static unsigned stop, seed = 1, found_by, found_set, found_pattern;
static unsigned long accesses[TEAM_MAX];
static uint64_t seen[TEAM_MAX];

/* Not serialisable: mine, another's, mine again, where a write of the other stands between two accesses of mine, or the other reads between
   two writes. */
static unsigned is_problem(unsigned mine, unsigned other, unsigned again)
{
	return other == WRITE ? mine * 16 + other * 4 + again :
				(mine == WRITE && again == WRITE ? mine * 16 + other * 4 + again : 0);
}

static unsigned access_set(unsigned me, struct set *set, unsigned kind, unsigned member)
{
	unsigned before = set->last; // @again

	if (kind == WRITE)
		set->member[member] = me * ACCESSES + kind;
	else
		note(&seen[me], set->member[member]);
	LOOK_AGAIN();
	set->last = (me + 1) * 4 + kind; // @last
	return before;
}

static void work(unsigned me)
{
	unsigned mine[SETS] = { 0 };
	uint32_t random = seed * 1000 + me;

	for (unsigned i = 0; i < ACCESSES && !stop; i++) {
		unsigned s = draw(&random) % SETS, kind = draw(&random) % 2 ? READ : WRITE;
		unsigned before = access_set(me, &sets[s], kind, draw(&random) % MEMBERS);
		unsigned pattern = before && before / 4 != me + 1 && mine[s] ? is_problem(mine[s], before % 4, kind) :
									       0;
		accesses[me]++;
		if (pattern && accesses[me] > ACCESSES / 2) { /* not at once: some of the run must have gone by */
			found_by = me + 1;
			found_set = s;
			found_pattern = pattern;
			stop = 1;
		}
		mine[s] = kind;
		LOOK_AGAIN();
	}
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	team_run(work);
	for (unsigned i = 0; i < team; i++)
		printf("thread %u: %lu accesses, saw %016llx\n", i, accesses[i], (unsigned long long)seen[i]);
	if (found_by)
		printf("thread %u, set %u, pattern %x\n", found_by - 1, found_set, found_pattern);
	return verdict(found_by != 0, "pattern that is not serialisable");
}
