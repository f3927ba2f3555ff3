// On one path the lock is given back before the last access.
// expect: race a b
#include "golden.h"

static int total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE int add(long n)
{
	pthread_mutex_lock(&lock);
	if (n % 2) {
		pthread_mutex_unlock(&lock);
		return total; // @a
	}
	total += (int)n; // @b
	pthread_mutex_unlock(&lock);
	return 0;
}

static void *work(void *arg)
{
	int sum = 0;

	for (int i = 0; i < 20; i++)
		sum += add(id_of(arg) + i);
	return (void *)(intptr_t)sum;
}

int main(void)
{
	team(4, work);
	printf("%d\n", total);
	return 0;
}
