// A recursive function whose last level gives the lock back: the levels above go on without it.
// expect: race b b
// expect: none a because before the call the lock is held
#include "golden.h"

static int down_count, up_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void walk(int depth)
{
	down_count++; // @a
	if (depth)
		walk(depth - 1);
	else
		pthread_mutex_unlock(&lock);
	up_count++; // @b
}

static void *work(void *arg)
{
	pthread_mutex_lock(&lock);
	walk(3 + (int)id_of(arg));
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d %d\n", down_count, up_count);
	return 0;
}
