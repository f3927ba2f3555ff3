/*
 * Which waiter does a signal wake? And who took the token before the woken one came back (a wakeup for nothing)?
 * Both are part of the run: the order of takers and the number of vain wakeups of each are printed.
 */
// run: varies
#include "threads.h"

enum { THREADS = 5, TOKENS = 400 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static struct arrivals takers;
static unsigned tokens, vain[THREADS];
static int over;

static void *work(void *argument)
{
	unsigned me = ME(argument);

	pthread_mutex_lock(&lock);
	for (;;) {
		while (!tokens && !over) {
			CHECK(pthread_cond_wait(&ready, &lock) == 0);
			vain[me] += !tokens && !over;
		}
		if (!tokens)
			break;
		tokens--;
		arrive(&takers, me);
		if (chance(4) == 0) { /* so that others meet */
			pthread_mutex_unlock(&lock);
			dawdle(2000);
			pthread_mutex_lock(&lock);
		}
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	crew_start(THREADS, work);
	for (int i = 0; i < TOKENS; i++) {
		int outside = (int)chance(2);
		pthread_mutex_lock(&lock);
		tokens++;
		if (!outside)
			pthread_cond_signal(&ready);
		pthread_mutex_unlock(&lock);
		if (outside)
			pthread_cond_signal(&ready); /* not holding the lock */
		dawdle(3000);
	}
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_cond_broadcast(&ready);
	pthread_mutex_unlock(&lock);
	crew_join(THREADS);
	print_arrivals("takers", &takers);
	for (unsigned i = 0; i < THREADS; i++)
		printf("thread %u was woken in vain %u times\n", i, vain[i]);
	CHECK(takers.count == TOKENS && pthread_cond_destroy(&ready) == 0);
	return 0;
}
