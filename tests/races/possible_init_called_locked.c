// One access without the lock, in a function that is also called with it. A lock in there deadlocks with itself.
// expect: hook a b because the lock may be held there already
#include "golden.h"

static volatile int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void set(int n)
{
	shared = n; // @a
}

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&lock);
		shared++; // @b
		if (i == 5)
			set(i);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	set(100);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", shared);
	return 0;
}
