// A pointer is copied byte by byte, over one that leads elsewhere.
// expect: race a b
#include "golden.h"

struct item {
	int count;
};
static volatile unsigned char ring[sizeof(void *)];
static volatile int full;

static __attribute__((noinline)) int get(volatile unsigned char *to)
{
	if (!full)
		return 0;
	for (unsigned k = 0; k < sizeof ring; k++)
		to[k] = ring[k];
	return 1;
}

static void *work(void *arg)
{
	struct item none = { 0 }, *i = &none;
	while (!get((volatile unsigned char *)&i))
		;
	int *count = &i->count;
	for (int k = 0; k < 1000; k++) {
		++*count; // @a
		LOOK_AGAIN();
	}
	return arg;
}

int main(void)
{
	pthread_t t;
	struct item *i = calloc(1, sizeof *i);
	pthread_create(&t, NULL, work, NULL);
	for (unsigned k = 0; k < sizeof ring; k++)
		ring[k] = ((volatile unsigned char *)&i)[k];
	full = 1;
	int *count = &i->count;
	for (int k = 0; k < 1000; k++) {
		++*count; // @b
		LOOK_AGAIN();
	}
	pthread_join(t, NULL);
	printf("%d\n", i->count);
	return 0;
}
