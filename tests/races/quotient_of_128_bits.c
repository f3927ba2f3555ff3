// Two indices of which nothing is known are not the same.
// expect: race a b
#include "golden.h"

static int table[16];
static volatile unsigned __int128 four = 4, one = 1;
static volatile long where = 5;

static void *work(void *arg)
{
	for (int k = 0; k < 1000; k++)
		table[(uint64_t)(four / one / one / one) + 1]++; // @a
	return arg;
}

int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	for (int k = 0; k < 1000; k++)
		table[where]++; // @b
	pthread_join(t, NULL);
	printf("%d\n", table[5]);
	return 0;
}
