// A table that is run before main() creates a thread, which races with main().
// expect: race a b
#include "golden.h"

static volatile int x;
static pthread_t thread;

static void *work(void *arg)
{
	for (int i = 0; i < 30000; i++)
		x++; // @a
	return arg;
}

static void begin(void)
{
	pthread_create(&thread, NULL, work, NULL);
}
static void (*const table)(void) __attribute__((used, section(".init_array"))) = begin;

int main(void)
{
	for (int i = 0; i < 30000; i++)
		x++; // @b
	pthread_join(thread, NULL);
	printf("%d\n", x);
	return 0;
}
