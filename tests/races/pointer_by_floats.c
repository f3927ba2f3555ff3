// A pointer is copied in two halves, as floating-point numbers.
// expect: race a b
#include "golden.h"

union mail {
	int *p;
	volatile float half[2];
};
static union mail box;
static volatile int full;

static __attribute__((noinline)) void copy(union mail *to, union mail *from)
{
	to->half[0] = from->half[0];
	to->half[1] = from->half[1];
}

static void *work(void *arg)
{
	union mail m;
	while (!full)
		;
	copy(&m, &box);
	int *p = m.p;
	for (int k = 0; k < 1000; k++) {
		++*p; // @a
		LOOK_AGAIN();
	}
	return arg;
}

int main(void)
{
	pthread_t t;
	union mail m = { calloc(1, sizeof(int)) };
	pthread_create(&t, NULL, work, NULL);
	copy(&box, &m);
	full = 1;
	int *p = m.p;
	for (int k = 0; k < 1000; k++) {
		++*p; // @b
		LOOK_AGAIN();
	}
	pthread_join(t, NULL);
	printf("%d\n", *m.p);
	return 0;
}
