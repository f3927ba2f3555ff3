/* --chaos: bad luck on purpose. */
#include "runtime/runtime.h"

static uint64_t random_number(struct thread *t)
{
	/* xorshift; the seed differs for each slot */
	t->chaos ^= t->chaos << 13;
	t->chaos ^= t->chaos >> 7;
	t->chaos ^= t->chaos << 17;
	return t->chaos;
}

void chaos_perturb(struct thread *t)
{
	uint64_t r = random_number(t);
	if (r % 8 == 0)
		SYS0(__NR_sched_yield);
	if (r % 64 == 1)
		nap(r >> 32 & 0xfffff); /* up to a millisecond */
}

/*
 * A change of priorities in the sense of PCT (Burckhardt et al. 2010): the thread stands still while the others go far.
 * PCT chooses a few points of a run whose length is known. Here it is not, so each distance is as likely to be of one
 * event as of some thousand: a program of ten accesses has a point or none, at any of them, and a long one has some
 * near its end, too. In every other run the first distances are short, and grow as the thread gets on: bugs that need
 * two threads to stand still in the middle of a few lines want that. The same for the time: from microseconds up to
 * what lets others come to their end.
 */
enum { FARTHEST = 15, LONGEST = 22 /* 2^n ns, 4 ms */, SHORTEST = 14 };

static unsigned farthest(const struct thread *t)
{
	uint64_t done = control->chaos % 2 ? t->self->events : ~0ull;
	return (unsigned)MIN(FARTHEST, 65 - __builtin_clzll(done | 1));
}

void chaos_preempt(struct thread *t)
{
	uint64_t r = random_number(t);
	if (t->chaos_at)
		nap(r >> 32 & ((1u << (SHORTEST + r % (LONGEST - SHORTEST + 1))) - 1));
	r = random_number(t);
	t->chaos_at = t->self->events + 2 * (1 + (r >> 32 & ((1u << r % (farthest(t) + 1)) - 1)));
}
