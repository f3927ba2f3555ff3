/*
 * ConTest "Loader": initialisation by sleeping. A thread loads, its creator sleeps a little instead of waiting for it, and uses what
 * should be there by then. Very many threads, one after another: LEAP ran out of memory with 5,000. What could go wrong: names of
 * threads, their stacks and streams must not pile up, and whether the sleep was long enough is up to the scheduler.
 */
// run: fails gallery timeout=120
// explain: @use before @load
#include "bugs.h"

static unsigned table[2], loads, number_of;
static unsigned wrong;
static uint64_t seen;

static void *load(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < 2; i++) {
		LOOK_AGAIN();
		table[i] = number_of; // @load
	}
	return NULL;
}

static void once(void)
{
	pthread_t thread;

	number_of = ++loads;
	if (pthread_create(&thread, NULL, load, NULL))
		abort();
	for (unsigned i = 0; i < 4; i++)
		sched_yield();
	unsigned last = table[1]; // @use
	note(&seen, last);
	wrong += last != number_of;
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	repeat_size(argc, argv, 100);
	for (unsigned i = 0; i < repeats * team; i++)
		once();
	printf("%u threads, seen %016llx\n", loads, (unsigned long long)seen);
	return verdict(wrong, "uses before it was loaded");
}
