// A remainder without sign that is negative as a signed number.
// expect: race a b
#include "golden.h"

static int table[16];
static volatile unsigned limit = 3000000000u;

static void *work(void *arg)
{
	unsigned x = (unsigned)(long)arg, m = limit;
	if (!m)
		return NULL;
	int s = (int)(x % m);
	for (int k = 0; k < 1000; k++) {
		table[(long)s + 2147483648L]++; // @a
		LOOK_AGAIN();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;
	(void)argv;
	pthread_create(&t, NULL, work, (void *)(2147483652L + argc));
	for (int k = 0; k < 1000; k++) {
		table[5]++; // @b
		LOOK_AGAIN();
	}
	pthread_join(t, NULL);
	printf("%d\n", table[5]);
	return 0;
}
