// The threads and mutexes of C11.
// expect: none a because under mtx_lock
// expect: race b b
#include "golden.h"
#include <threads.h>

static int careful;
static volatile int careless;
static mtx_t lock;

static int work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		mtx_lock(&lock);
		careful++; // @a
		mtx_unlock(&lock);
		careless++; // @b
	}
	return 0;
}

int main(void)
{
	thrd_t threads[3];

	mtx_init(&lock, mtx_plain);
	for (int i = 0; i < 3; i++)
		thrd_create(&threads[i], work, NULL);
	for (int i = 0; i < 3; i++)
		thrd_join(threads[i], NULL);
	printf("%d %d\n", careful, careless);
	return 0;
}
