// Double-checked initialisation with a plain flag.
// expect: race f s
// expect: race u v
#include "golden.h"

static int ready, value;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE int get(void)
{
	if (!ready) { // @f
		pthread_mutex_lock(&lock);
		if (!ready) {
			value = 42; // @v
			LOOK_AGAIN();
			ready = 1; // @s
		}
		pthread_mutex_unlock(&lock);
	}
	LOOK_AGAIN();
	return value; // @u
}

static void *work(void *arg)
{
	long sum = 0;

	(void)arg;
	for (int i = 0; i < 50; i++)
		sum += get();
	return (void *)sum;
}

int main(void)
{
	team(4, work);
	printf("%d\n", value);
	return 0;
}
