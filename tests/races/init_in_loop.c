// Each turn of the loop prepares and creates a thread: what is prepared for the second meets the first.
// expect: race a b
#include "golden.h"

static volatile int setting;

static void *work(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)setting; // @b
}

int main(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++) {
		setting = i; // @a
		pthread_create(&threads[i], NULL, work, NULL);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
