// A pointer goes through a pipe: who reads it comes after who wrote it.
// expect: none a b because the pipe orders them
#include "golden.h"

static int ends[2];

static void *sender(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++) {
		int *p = malloc(sizeof *p);
		*p = i; // @a
		if (write(ends[1], &p, sizeof p) != sizeof p)
			abort();
	}
	return NULL;
}

static void *receiver(void *arg)
{
	long sum = 0;

	(void)arg;
	for (int i = 0; i < 10; i++) {
		int *p;
		if (read(ends[0], &p, sizeof p) != sizeof p)
			abort();
		sum += *p; // @b
		free(p);
	}
	return (void *)sum;
}

int main(void)
{
	if (pipe(ends))
		return 1;
	pair(sender, receiver);
	return 0;
}
