// A thread that exists once does not race with itself.
// expect: none a because its thread is created once
#include "golden.h"

static int shared;

static NOINLINE void add(void)
{
	shared++; // @a
}

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++)
		add();
	return NULL;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	printf("%d\n", shared);
	return 0;
}
