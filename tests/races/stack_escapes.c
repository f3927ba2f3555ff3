// A variable on main's stack: the thread has its address.
// expect: race a b
#include "golden.h"

static void *work(void *arg)
{
	volatile int *p = arg;

	*p = 1; // @a
	return NULL;
}

int main(void)
{
	pthread_t t;
	volatile int local = 0;

	pthread_create(&t, NULL, work, (void *)&local);
	local = 2; // @b
	pthread_join(t, NULL);
	printf("%d\n", local);
	return 0;
}
