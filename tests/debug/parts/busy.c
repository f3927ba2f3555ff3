/*
 * Four threads that take two locks again and again, and now and then touch a variable without any: a run with very many events.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static long sum, bare, rounds;

static void *work(void *unused)
{
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_t *lock = i % 3 ? &first : &second;
		pthread_mutex_lock(lock); /* line of the lock */
		sum += lock == &first;
		pthread_mutex_unlock(lock);
		if (i % 1000 == 0)
			bare++; /* line of the race */
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	rounds = argc > 1 ? atol(argv[1]) : 1000;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %ld\n", sum, bare);
	return 0;
}
