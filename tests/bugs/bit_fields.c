/*
 * Bit-field neighbours: each thread has a field of its own, but all lie in one word, and writing one field writes back
 * the others as they were read. What could go wrong: the compiler's read of the neighbours is an access of this thread,
 * though the source shows none.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 1200 };
static struct {
	unsigned f0 : 4, f1 : 4, f2 : 4, f3 : 4, f4 : 4, f5 : 4, f6 : 4, f7 : 4;
} fields;
static unsigned undone[TEAM_MAX];
static uint64_t seen[TEAM_MAX];

#define STEP(n)                                  \
	static int step##n(unsigned value)       \
	{                                        \
		int kept = fields.f##n == value; \
		fields.f##n = (value + 1) % 16;  \
		return kept;                     \
	}
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
EACH(STEP)
#define NAME(n) step##n,
static int (*const steps[])(unsigned) = { EACH(NAME) };

static void work(unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		breathe(i);
		undone[me] += !steps[me % 8](i % 16);
		note(&seen[me], fields.f0 + 16 * fields.f1);
	}
}

int main(int argc, char **argv)
{
	unsigned wrong = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u lost %u, saw %016llx\n", i, undone[i], (unsigned long long)seen[i]);
		wrong += undone[i];
	}
	printf("%x %x %x %x\n", fields.f0, fields.f1, fields.f2, fields.f3);
	return verdict(wrong, "writes undone by a neighbour");
}
