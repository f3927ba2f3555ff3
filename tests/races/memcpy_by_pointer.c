// memcpy is called by its address.
// expect: rare a b because what libc writes there is not recorded
#include "golden.h"

static long shared[4], from[4];
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static void *work(void *arg)
{
	void *(*by)(void *, const void *, size_t) = copy;

	for (int i = 0; i < 3000; i++)
		by(shared, from, sizeof shared); // @a
	return arg;
}

int main(void)
{
	pthread_t thread;

	from[0] = 1;
	pthread_create(&thread, NULL, work, NULL);
	long sum = 0;
	for (int i = 0; i < 3000; i++) {
		sum += shared[0]; // @b
		LOOK_AGAIN();
	}
	pthread_join(thread, NULL);
	return sum < 0;
}
