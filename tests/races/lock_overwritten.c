// A lock is overwritten by an assignment, while others hold it.
// expect: race a a
#include "golden.h"

static struct {
	pthread_mutex_t lock;
	int value;
} one = { PTHREAD_MUTEX_INITIALIZER, 0 };
static int shared;

static void *work(void *arg)
{
	static const pthread_mutex_t new = PTHREAD_MUTEX_INITIALIZER;

	if (id_of(arg) == 1)
		one.lock = new;
	for (int i = 0; i < 5; i++) {
		while (pthread_mutex_trylock(&one.lock)) /* see lock_made_anew.c */
			sched_yield();
		shared++; // @a
		pthread_mutex_unlock(&one.lock);
	}
	return NULL;
}

int main(void)
{
	team(3, work);
	printf("%d\n", shared);
	return 0;
}
