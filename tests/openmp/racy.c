/*
 * What an OpenMP program gets wrong: a counter without atomic, a maximum that is compared outside of the critical section, a flag
 * that is waited for without flush, a loop variable that all share. Each lost update is seen. Built by heddle-cc alone:
 * races of an unmodified program are not recorded.
 */
// run: heddle-cc varies
#include "openmp.h"

enum { ROUNDS = 2000 };
static volatile unsigned counter, most, flag, shared_index;
static uint64_t seen[TEAM];

static uint64_t mixed(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x9e3779b97f4a7c15ull;
}

static void wait_for_flag(void)
{
	if (ME_IN_TEAM == 0)
		flag = 1;
	for (unsigned n = 0; !flag; n++)
		if (n % 64 == 63)
			sched_yield();
}

int main(void)
{
#pragma omp parallel num_threads(TEAM)
	{
		uint64_t hash = 0;
		wait_for_flag();
#pragma omp for schedule(dynamic, 10)
		for (int i = 0; i < ROUNDS; i++) {
			unsigned value = (unsigned)i * 2654435761u;
			hash = mixed(hash, counter++);
			if (i % 100 == 50)
				sched_yield();
			if (value > most) {
#pragma omp critical
				most = value;
			}
			hash = mixed(hash, most);
			hash = mixed(hash, shared_index += (unsigned)i);
		}
		seen[ME_IN_TEAM] = hash;
	}
	printf("%u of %d, most %u, index %u\n", counter, ROUNDS, most, shared_index);
	for (int i = 0; i < TEAM; i++)
		printf("thread %d: %016llx\n", i, (unsigned long long)seen[i]);
	return 0;
}
