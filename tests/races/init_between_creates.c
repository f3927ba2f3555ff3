// Main writes after the first thread is created and before the second: only the second follows it.
// expect: race a b
// expect: none c because only the second thread reads it
#include "golden.h"

static volatile int for_first, for_second;

static void *first(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)for_first; // @b
}

static void *second(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)for_second;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, first, NULL);
	for_first = 1;	// @a
	for_second = 2; // @c
	pthread_create(&b, NULL, second, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
