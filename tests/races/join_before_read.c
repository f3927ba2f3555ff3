// Main reads the result after the join, and uses the variable again for the next thread.
// expect: none a b c because the thread has ended, or has not begun
#include "golden.h"

static int result;

static void *work(void *arg)
{
	result += (int)id_of(arg); // @a
	return NULL;
}

int main(void)
{
	pthread_t t;
	int sum = 0;

	for (long i = 0; i < 3; i++) {
		result = 10; // @b
		pthread_create(&t, NULL, work, (void *)(intptr_t)i);
		pthread_join(t, NULL);
		sum += result; // @c
	}
	printf("%d\n", sum);
	return 0;
}
