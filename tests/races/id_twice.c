// Two of the threads are given the same number.
// expect: race a a
#include "golden.h"

static int table[8];

static void *work(void *arg)
{
	table[id_of(arg)]++; // @a
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, (void *)(intptr_t)(i / 2));
	for (long i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", table[0]);
	return 0;
}
