// A table of functions is copied by memcpy as _FORTIFY_SOURCE checks it; one of them keeps what it is called with.
// expect: race a b
#define _FORTIFY_SOURCE 2
#include "golden.h"

static long *kept;
static void keep(long *p)
{
	kept = p;
}
static struct ops {
	void (*run)(long *);
	long id;
} defaults[2] = { { keep, 1 }, { keep, 2 } }, ops[4];

static void *look(void *arg)
{
	long sum = 0;

	for (int i = 0; i < 2000; i++) {
		LOOK_AGAIN();
		sum += *kept; // @a
	}
	return (void *)((intptr_t)arg + sum);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	long *mine = calloc(1, sizeof *mine);

	(void)argv;
	memcpy(ops, defaults, (size_t)(argc + 1) * sizeof *ops);
	ops[argc - 1].run(mine);
	pthread_create(&thread, NULL, look, NULL);
	for (int i = 0; i < 2000; i++) {
		LOOK_AGAIN();
		++*mine; // @b
	}
	pthread_join(thread, NULL);
	printf("%ld\n", *mine);
	return 0;
}
