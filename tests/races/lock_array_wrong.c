// Seven elements, four locks: two threads that are at one element may have different locks.
// expect: race a a
#include "golden.h"

#define STRIPES 4
static pthread_mutex_t locks[STRIPES];
static long table[7];

static NOINLINE void hit(long i)
{
	pthread_mutex_lock(&locks[i % STRIPES]);
	table[i % 7]++; // @a
	pthread_mutex_unlock(&locks[i % STRIPES]);
}

static void *work(void *arg)
{
	for (long i = 0; i < 40; i++)
		hit(id_of(arg) * 7 + i);
	return NULL;
}

int main(void)
{
	for (int i = 0; i < STRIPES; i++)
		pthread_mutex_init(&locks[i], NULL);
	team(4, work);
	printf("%ld\n", table[0]);
	return 0;
}
