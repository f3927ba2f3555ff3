/*
 * Locks whose times are not simply from a lock to the next unlock: one that a thread locks twice, one that is held over very many others,
 * and one that is given back by waiting for a condition, at last without end.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER,
		       door = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t twice = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static int stage;

static void *wait_twice(void *x)
{
	pthread_mutex_lock(&door);
	stage = 1;
	while (stage < 2)
		pthread_cond_wait(&bell, &door);
	pthread_mutex_unlock(&door);
	pthread_mutex_lock(&door);
	stage = 3;
	while (stage < 4)
		pthread_cond_wait(&bell, &door);
	return x;
}

static void move_on(int from, int to)
{
	for (int now = 0; now != from; usleep(1000)) {
		pthread_mutex_lock(&door);
		now = stage;
		if (now == from)
			stage = to;
		pthread_mutex_unlock(&door);
	}
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, wait_twice, NULL);
	pthread_mutex_lock(&twice);
	pthread_mutex_lock(&twice);
	pthread_mutex_unlock(&twice);
	pthread_mutex_unlock(&twice);
	pthread_mutex_lock(&outer);
	for (int i = 0; i < 2500; i++) {
		pthread_mutex_lock(&inner);
		pthread_mutex_unlock(&inner);
	}
	pthread_mutex_unlock(&outer);
	move_on(1, 2);
	pthread_cond_signal(&bell);
	move_on(3, 3);
	return 0;
}
