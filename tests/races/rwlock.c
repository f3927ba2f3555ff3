// Read under the read side, written under the write side.
// expect: none a b because readers exclude writers
#include "golden.h"

static int shared;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *work(void *arg)
{
	long sum = 0;

	for (int i = 0; i < 20; i++)
		if (id_of(arg) == 0) {
			pthread_rwlock_wrlock(&lock);
			shared = i; // @a
			pthread_rwlock_unlock(&lock);
		} else {
			pthread_rwlock_rdlock(&lock);
			sum += shared; // @b
			pthread_rwlock_unlock(&lock);
		}
	return (void *)sum;
}

int main(void)
{
	team(4, work);
	printf("%d\n", shared);
	return 0;
}
