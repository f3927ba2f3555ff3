// Callbacks that are called under the caller's lock.
// expect: none a b because the only caller holds the lock
#include "golden.h"

static int sum, count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add_up(int n)
{
	sum += n; // @a
}

static void count_up(int n)
{
	(void)n;
	count++; // @b
}

static void (*const visitors[])(int) = { add_up, count_up };

static NOINLINE void each(void (*visit)(int), int n)
{
	pthread_mutex_lock(&lock);
	visit(n);
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	for (int i = 0; i < 10; i++)
		each(visitors[i % 2], (int)id_of(arg));
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d %d\n", sum, count);
	return 0;
}
