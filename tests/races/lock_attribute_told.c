// libc writes a number that it tells of a lock's attributes.
// expect: rare a b because what libc writes there is not recorded
#include "golden.h"

static int kind;
static long sum;

static void *work(void *arg)
{
	pthread_mutexattr_t attribute;

	pthread_mutexattr_init(&attribute);
	for (int i = 0; i < 3000; i++) {
		pthread_mutexattr_settype(&attribute, i & 1);
		pthread_mutexattr_gettype(&attribute, &kind); // @a
	}
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	for (int i = 0; i < 3000; i++) {
		sum += kind; // @b
		LOOK_AGAIN();
	}
	pthread_join(thread, NULL);
	return sum < 0;
}
