// One access without the lock, many with it; but a holder of the lock waits for that one access. A lock on it deadlocks.
// expect: hook a b because the holder of the lock waits for it
#include "golden.h"

static volatile int go;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	unsigned turns = 0;

	(void)arg;
	pthread_mutex_lock(&lock);
	while (!go) // @b
		patience(&turns);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, work, NULL);
	pthread_create(&b, NULL, work, NULL);
	usleep(3000);
	go = 1; // @a
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
