/*
 * A counter that assembler changes, though it is given as an input: with a clobber of memory that is allowed, and how old
 * headers of the kernel wrote it. Others read it twice and find two values, which is the bug. What could go wrong: the access
 * is taken for a read, and nothing orders it with other reads.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 600 };
static uint64_t counter;
static uint64_t seen[TEAM_MAX];
static unsigned odd[TEAM_MAX];

static void step(void)
{
#ifdef __x86_64__
	__asm__ volatile("lock addq %1, %0" ::"m"(counter), "r"(1ul) : "memory", "cc");
#else
	uint64_t value;
	uint32_t busy;
	__asm__ volatile("1: ldaxr %0, %2; add %0, %0, #1; stlxr %w1, %0, %2; cbnz %w1, 1b"
			 : "=&r"(value), "=&r"(busy)
			 : "Q"(counter)
			 : "memory");
#endif
}

static void work(unsigned me)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (me % 2) {
			uint64_t before = counter;
			LOOK_AGAIN();
			breathe(i);
			odd[me] += counter != before;
		} else
			step();
		note(&seen[me], counter);
		LOOK_AGAIN();
	}
}

int main(int argc, char **argv)
{
	unsigned wrong = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u odd\n", i, (unsigned long long)seen[i], odd[i]);
		wrong += odd[i];
	}
	return wrong != 0;
}
