// A table of functions; one of them does not take the lock.
// expect: race a b
// expect: race b b
#include "golden.h"

static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void careful(void)
{
	pthread_mutex_lock(&lock);
	shared++; // @a
	pthread_mutex_unlock(&lock);
}

static void careless(void)
{
	shared++; // @b
}

static void (*const actions[])(void) = { careful, careless };

static void *work(void *arg)
{
	for (int i = 0; i < 20; i++)
		actions[(id_of(arg) + i) % 2]();
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", shared);
	return 0;
}
