/*
 * 64 threads on a few cores hand a turn around in a ring and meet at a barrier. A replay whose waiters only spin
 * crawls here: the one that everybody waits for does not get a core.
 */
// run: varies
#include "threads.h"

enum { THREADS = 64, TURNS = 20, ROUNDS = 10 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next[THREADS];
static pthread_barrier_t barrier;
static unsigned turn;
static struct arrivals free_for_all, serial;

static void *work(void *argument)
{
	unsigned me = ME(argument);

	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&lock);
		while (turn != me)
			pthread_cond_wait(&next[me], &lock);
		turn = (turn + 1) % THREADS;
		pthread_cond_signal(&next[turn]);
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		arrive(&free_for_all, me);
		pthread_mutex_unlock(&lock);
		dawdle(500);
		if (pthread_barrier_wait(&barrier))
			arrive(&serial, me);
	}
	return NULL;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_cond_init(&next[i], NULL);
	crew_start(THREADS, work);
	crew_join(THREADS);
	print_arrivals("free for all", &free_for_all);
	print_arrivals("serial", &serial);
	return 0;
}
