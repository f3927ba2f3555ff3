// Four threads count under one lock; main reads when all are joined.
// expect: none a because always under lock
// expect: none b because all threads are joined
#include "golden.h"

static int counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		counter++; // @a
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", counter); // @b
	return 0;
}
