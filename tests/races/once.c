// pthread_once: whoever returns from it sees what the routine wrote.
// expect: kept a b because pthread_once orders them
#include "golden.h"

static int table[16];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void)
{
	for (int i = 0; i < 16; i++)
		table[i] = i * i; // @a
}

static void *work(void *arg)
{
	pthread_once(&once, fill);
	return (void *)(intptr_t)table[id_of(arg)]; // @b
}

int main(void)
{
	team(4, work);
	printf("%d\n", table[3]);
	return 0;
}
