// The address goes to the other thread as a number, through arithmetic.
// expect: race a b
#include "golden.h"

static int shared[4];

static void *work(void *arg)
{
	uintptr_t number = (uintptr_t)arg ^ 0x5555;
	int *p = (int *)(number + 2 * sizeof(int));

	*p = 1; // @a
	return NULL;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, work, (void *)((uintptr_t)shared ^ 0x5555));
	shared[2] = 2; // @b
	pthread_join(t, NULL);
	printf("%d\n", shared[2]);
	return 0;
}
