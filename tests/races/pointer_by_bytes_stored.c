// What is stored through a pointer that came byte by byte is found by others.
// expect: race a b
#include "golden.h"

struct item {
	int *data;
};
static volatile unsigned char ring[sizeof(void *)];
static volatile int full;

static void *work(void *arg)
{
	struct item *i;
	while (!full)
		;
	for (unsigned k = 0; k < sizeof ring; k++)
		((volatile unsigned char *)&i)[k] = ring[k];
	int *q = malloc(sizeof *q);
	*q = 0;
	i->data = q;
	for (int k = 0; k < 200000; k++) {
		++*q; // @a
		LOOK_AGAIN();
	}
	return arg;
}

int main(void)
{
	pthread_t t;
	struct item *i = malloc(sizeof *i);
	int *volatile *p = &i->data;
	i->data = NULL;
	pthread_create(&t, NULL, work, NULL);
	for (unsigned k = 0; k < sizeof ring; k++)
		ring[k] = ((volatile unsigned char *)&i)[k];
	full = 1;
	while (!*p)
		;
	int *q = *p;
	for (int k = 0; k < 1000; k++) {
		++*q; // @b
		LOOK_AGAIN();
	}
	pthread_join(t, NULL);
	printf("%d\n", *q);
	return 0;
}
