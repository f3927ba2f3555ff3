// As in figure 4, but the thread is created one line too early.
// expect: race a b
#include "golden.h"

static volatile int limit;

static void *slave(void *arg)
{
	long sum = 0;

	(void)arg;
	for (int i = 0; i < limit; i++) // @b
		sum += i;
	return (void *)sum;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, slave, NULL);
	limit = 20; // @a
	pthread_join(t, NULL);
	return 0;
}
