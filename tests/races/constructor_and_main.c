// A function that main calls with one index and a constructor, beside a thread, with another.
// expect: race a b
#include "golden.h"

static int table[16];
static pthread_t thread;

static __attribute__((noinline)) void touch(int i)
{
	table[i]++; // @a
}

static void *work(void *arg)
{
	for (int k = 0; k < 1000; k++) {
		table[5]++; // @b
		LOOK_AGAIN();
	}
	return arg;
}

static __attribute__((constructor)) void begin(void)
{
	pthread_create(&thread, NULL, work, NULL);
	touch(5);
	touch(5);
}

int main(void)
{
	touch(7);
	pthread_join(thread, NULL);
	printf("%d %d\n", table[5], table[7]);
	return 0;
}
