/*
 * Four threads take one mutex 500 times each. A lost edge lets two of them into the
 * critical section in another order: the printed arrivals, or the sum that depends
 * on their order, differ.
 */
// run: varies check
#include "threads.h"

enum { THREADS = 4, ROUNDS = 500 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrivals arrivals;
static unsigned inside, mixed;

static void *work(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(pthread_mutex_lock(&lock) == 0);
		CHECK(inside++ == 0);
		arrive(&arrivals, ME(argument));
		mixed = mixed * 31 + ME(argument); /* does not commute */
		dawdle(300);
		CHECK(--inside == 0);
		CHECK(pthread_mutex_unlock(&lock) == 0);
		dawdle(300);
	}
	return NULL;
}

int main(void)
{
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("arrivals", &arrivals);
	printf("mixed %08x\n", mixed);
	CHECK(arrivals.count == THREADS * ROUNDS);
	return 0;
}
