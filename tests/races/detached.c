// A detached thread writes; main sleeps and hopes that it is done.
// expect: race a b
#include "golden.h"

static volatile int result;

static void *work(void *arg)
{
	(void)arg;
	result = 3; // @a
	return NULL;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, work, NULL);
	pthread_detach(t);
	usleep(5000);
	int r = result; // @b
	printf("%d\n", r);
	return 0;
}
