/*
 * Updates are lost, and then the threads compute until the process ends: they access nothing any more, wait for nothing
 * and make no call. What could go wrong: a replay waits for the end of a region or transaction which only the end of the
 * process brings.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 800 };
static unsigned count, done;

static void *work(void *given)
{
	unsigned turns = rounds(ROUNDS);

	for (unsigned i = 0; i < turns; i++) {
		unsigned was = count;
		breathe(i);
		count = was + 1;
		LOOK_AGAIN();
	}
	__atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
	for (uint64_t n = (uintptr_t)given;; n = n * 6364136223846793005ul + 1)
		__asm__ volatile("" : "+r"(n));
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	for (unsigned i = 0; i < team; i++) {
		pthread_t t;
		pthread_create(&t, NULL, work, (void *)(uintptr_t)i);
		team_prepare();
	}
	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < team)
		usleep(1000);
	unsigned wanted = team * rounds(ROUNDS);
	printf("%u of %u\n", count, wanted);
	return verdict(wanted - count, "updates lost");
}
