// A barrier built from the mutex and the condition of C11, whose last thread releases the lock before it tells the others.
// expect: none a b because the barrier lies between
#include "golden.h"
#include <threads.h>

#define THREADS 3
static int shared, arrived;
static unsigned long generation;
static mtx_t lock;
static cnd_t all_here;

static NOINLINE void barrier_wait(void)
{
	mtx_lock(&lock);
	unsigned long next = generation + 1;
	if (++arrived >= THREADS) {
		arrived = 0;
		generation = next;
		mtx_unlock(&lock);
		cnd_broadcast(&all_here);
		return;
	}
	while (generation != next)
		cnd_wait(&all_here, &lock);
	mtx_unlock(&lock);
}

static void *work(void *arg)
{
	long sum = 0;

	for (int turn = 0; turn < 5; turn++) {
		if (id_of(arg) == turn % THREADS)
			shared = turn; // @a
		barrier_wait();
		sum += shared; // @b
		barrier_wait();
	}
	return (void *)sum;
}

int main(void)
{
	mtx_init(&lock, mtx_plain);
	cnd_init(&all_here);
	team(THREADS, work);
	return 0;
}
