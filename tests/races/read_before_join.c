// Main reads the result before the join.
// expect: race a b
#include "golden.h"

static int result;

static void *work(void *arg)
{
	(void)arg;
	result = 7; // @a
	return NULL;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, work, NULL);
	int early = result; // @b
	pthread_join(t, NULL);
	printf("%d\n", early);
	return 0;
}
