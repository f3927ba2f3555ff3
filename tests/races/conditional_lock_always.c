// The lock is taken under a condition that is set before the threads begin, and is true.
// expect: kept a because the condition is always true
#include "golden.h"

static int shared, threaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	(void)arg;
	if (threaded)
		pthread_mutex_lock(&lock);
	shared++; // @a
	if (threaded)
		pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	(void)argv;
	threaded = argc > 0;
	team(4, work);
	printf("%d\n", shared);
	return 0;
}
