/*
 * Who is the serial thread of a barrier differs from round to round. What was written before the barrier by one is read
 * after it by all: a thread that leaves too early at replay reads an old value.
 */
// run: varies
#include "threads.h"

enum { THREADS = 4, ROUNDS = 150 };
static pthread_barrier_t barrier;
static unsigned cells[2][THREADS], serial[THREADS], sums[THREADS];
static struct arrivals winners;

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (unsigned i = 0; i < ROUNDS; i++) {
		dawdle(3000);
		cells[i % 2][me] = i * THREADS + me;
		int r = pthread_barrier_wait(&barrier);
		if (r) {
			CHECK(r == PTHREAD_BARRIER_SERIAL_THREAD);
			serial[me]++;
			arrive(&winners, me); /* alone: the next winner comes after another barrier */
		}
		for (unsigned k = 0; k < THREADS; k++) {
			CHECK(cells[i % 2][k] == i * THREADS + k);
			sums[me] += cells[i % 2][k];
		}
	}
	return NULL;
}

int main(void)
{
	unsigned all = 0;

	CHECK(pthread_barrier_init(&barrier, NULL, 0) == EINVAL);
	CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("serial threads", &winners);
	for (unsigned i = 0; i < THREADS; i++) {
		printf("thread %u: serial %u times, sum %u\n", i, serial[i], sums[i]);
		all += serial[i];
	}
	CHECK(all == ROUNDS && pthread_barrier_destroy(&barrier) == 0);
	return 0;
}
