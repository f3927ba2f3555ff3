// Who waits for a condition without the lock releases that of another.
// expect: race a a
#include "golden.h"
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile long total;

static void *work(void *arg)
{
	for (int i = 0; i < 300; i++) {
		pthread_mutex_lock(&lock);
		for (int k = 0; k < 50; k++)
			total++; // @a
		if (i % 10 == 0)
			usleep(100);
		pthread_mutex_unlock(&lock);
	}
	return say_done(id_of(arg));
}

static void *wait(void *arg)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 100;
	pthread_cond_timedwait(&condition, &lock, &until);
	return arg;
}

int main(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, i == 2 ? wait : work, NULL);
	wait_for_done(2);
	return 0;
}
