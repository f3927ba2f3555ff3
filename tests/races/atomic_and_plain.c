// Atomic additions beside a plain read of the same word.
// expect: race a p
#include "golden.h"

static int count;

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++)
		__atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST); // @a
	return NULL;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, work, NULL);
	int seen = count; // @p
	pthread_join(t, NULL);
	printf("%d\n", seen >= 0);
	return 0;
}
