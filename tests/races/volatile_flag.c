// volatile is no synchronisation: neither the flag nor what it announces is ordered.
// expect: race s r
// expect: race a b
#include "golden.h"

static volatile int flag;
static volatile int data;

static void *produce(void *arg)
{
	(void)arg;
	data = 17; // @a
	flag = 1;  // @s
	return NULL;
}

int main(void)
{
	pthread_t t;
	unsigned turns = 0;

	pthread_create(&t, NULL, produce, NULL);
	while (!flag) // @r
		patience(&turns);
	printf("%d\n", data); // @b
	pthread_join(t, NULL);
	return 0;
}
