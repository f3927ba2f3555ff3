// A callee gives the lock and takes it again: locked on return, but what was read before may have changed. No race.
// expect: none a b because under lock before and after the call
#include "golden.h"

static int shared, seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void let_others(void)
{
	pthread_mutex_unlock(&lock);
	sched_yield();
	pthread_mutex_lock(&lock);
}

static void *work(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	shared++; // @a
	let_others();
	seen += shared; // @b
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", shared);
	return 0;
}
