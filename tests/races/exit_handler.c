// A handler that runs at exit reads what a thread that nobody waits for still writes.
// expect: race a b
#include "golden.h"

static volatile int progress;

static void at_exit(void)
{
	printf("%d\n", progress >= 0); // @b
}

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 200; i++)
		progress++; // @a
	return NULL;
}

int main(void)
{
	pthread_t t;

	atexit(at_exit);
	pthread_create(&t, NULL, work, NULL);
	pthread_detach(t);
	usleep(2000);
	return 0;
}
