// A lock and a barrier are zeroed and made while there is a thread already, but none that uses them.
// expect: none a b c because each has the lock, or a barrier lies between
#include "golden.h"

static struct {
	pthread_mutex_t lock;
	pthread_barrier_t barrier;
	int value;
} all;
static int shared, first, stop;

static void *other(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		usleep(100);
	return arg;
}

static void *work(void *arg)
{
	pthread_mutex_lock(&all.lock);
	shared++; // @a
	pthread_mutex_unlock(&all.lock);
	if (id_of(arg) == 0)
		first = 1; // @b
	pthread_barrier_wait(&all.barrier);
	return (void *)(intptr_t)first; // @c
}

int main(void)
{
	pthread_t watcher;

	pthread_create(&watcher, NULL, other, NULL);
	memset(&all, 0, sizeof all);
	pthread_mutex_init(&all.lock, NULL);
	pthread_barrier_init(&all.barrier, NULL, 4);
	team(4, work);
	pthread_mutex_destroy(&all.lock);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(watcher, NULL);
	printf("%d\n", shared);
	return 0;
}
