/* Threads that end at once, thirty at a time: wherever one stands, others are in the middle of their ends. */
#include "../threads.h"

enum { THREADS = 30, ROUNDS = 10 };

static void *work(void *argument)
{
	return argument;
}

int main(void)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		crew_start(THREADS, work);
		crew_join(THREADS);
		printf("round %u\n", round);
	}
	return 0;
}
