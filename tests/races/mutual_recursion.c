// Two functions that call each other, all of it under one lock.
// expect: none a b because the caller of both holds the lock
#include "golden.h"

static int evens, odds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void odd(int n);

static NOINLINE void even(int n)
{
	evens++; // @a
	if (n)
		odd(n - 1);
	LOOK_AGAIN();
}

static NOINLINE void odd(int n)
{
	odds++; // @b
	if (n)
		even(n - 1);
	LOOK_AGAIN();
}

static void *work(void *arg)
{
	pthread_mutex_lock(&lock);
	even(4 + (int)id_of(arg));
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d %d\n", evens, odds);
	return 0;
}
