// Threads that create threads: those of two parents meet.
// expect: race a a
#include "golden.h"

static volatile int shared;

static void *leaf(void *arg)
{
	(void)arg;
	shared++; // @a
	return NULL;
}

static void *parent(void *arg)
{
	pthread_t t;

	(void)arg;
	pthread_create(&t, NULL, leaf, NULL);
	pthread_join(t, NULL);
	return NULL;
}

int main(void)
{
	team(2, parent);
	printf("%d\n", shared);
	return 0;
}
