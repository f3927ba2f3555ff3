/*
 * Threads end while they have free blocks, and others begin: the blocks go from hand to hand, in an order that differs
 * from run to run. What could go wrong: lists of a dead thread that are adopted at no ordered point, blocks
 * that are lost with their thread, a slot that begins with the lists of another run.
 */
// run: varies
#include "threads.h"

enum { GENERATIONS = 30, THREADS = 5, BLOCKS = 300, STEP = 37 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *left[THREADS * GENERATIONS * (BLOCKS / STEP + 1)];
static unsigned left_count;
static uint64_t places[THREADS];
static struct arrivals order;

static void *work(void *argument)
{
	unsigned me = ME(argument);
	void *p[BLOCKS];
	for (unsigned i = 0; i < BLOCKS; i++) {
		p[i] = malloc(1 + (i * 37 + me * 11) % 3000 + (i % 50 == 0) * 100000);
		memset(p[i], (int)i, 1);
		places[me] = places[me] * 31 + (uintptr_t)p[i];
	}
	dawdle(2000);
	for (unsigned i = 0; i < BLOCKS; i++)
		if (i % STEP)
			free(p[i]);
	/* some outlive their thread, and whoever comes frees some that others left */
	pthread_mutex_lock(&lock);
	arrive(&order, me);
	for (unsigned i = 0; i < BLOCKS; i += STEP)
		left[left_count++] = p[i];
	void *mine[4] = { 0 };
	for (unsigned i = 0; i < COUNT(mine) && left_count; i++)
		mine[i] = left[--left_count];
	pthread_mutex_unlock(&lock);
	dawdle(500);
	for (unsigned i = 0; i < COUNT(mine); i++) {
		places[me] = places[me] * 31 + (uintptr_t)mine[i];
		free(mine[i]);
	}
	return 0;
}

int main(void)
{
	for (int g = 0; g < GENERATIONS; g++) {
		pthread_t thread[THREADS];
		for (unsigned i = 0; i < THREADS; i++)
			CHECK(!pthread_create(&thread[i], 0, work, (void *)(uintptr_t)i));
		for (unsigned i = 0; i < THREADS; i++)
			CHECK(!pthread_join(thread[i], 0));
	}
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u: addresses %#lx\n", i, (unsigned long)places[i]);
	print_arrivals("order", &order);
	return 0;
}
