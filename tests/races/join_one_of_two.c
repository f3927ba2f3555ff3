// Two threads write, only one of them is joined before main reads.
// expect: race a c
// expect: none b because its thread is joined first
#include "golden.h"

static int slow, fast;

static void *slow_one(void *arg)
{
	(void)arg;
	slow = 1; // @a
	return NULL;
}

static void *fast_one(void *arg)
{
	(void)arg;
	fast = 1; // @b
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, slow_one, NULL);
	pthread_create(&b, NULL, fast_one, NULL);
	pthread_join(b, NULL);
	int sum = slow; // @c
	sum += fast;
	pthread_join(a, NULL);
	printf("%d\n", sum);
	return 0;
}
