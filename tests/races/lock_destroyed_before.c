// A lock is destroyed before the threads that take it: glibc does not lock it any more.
// expect: race a a
#include "golden.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long total;

static void *work(void *arg)
{
	for (int i = 0; i < 3000; i++) {
		pthread_mutex_lock(&lock);
		total++; // @a
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(void)
{
	pthread_mutex_lock(&lock);
	total = 0;
	pthread_mutex_unlock(&lock);
	pthread_mutex_destroy(&lock);
	team(2, work);
	return 0;
}
