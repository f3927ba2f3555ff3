// Each of two functions has a lock, but not the same one.
// expect: race a b
#include "golden.h"

static int shared;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

static void *add(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&left);
	shared += 2; // @a
	pthread_mutex_unlock(&left);
	return NULL;
}

static void *sub(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&right);
	shared -= 1; // @b
	pthread_mutex_unlock(&right);
	return NULL;
}

int main(void)
{
	pair(add, sub);
	printf("%d\n", shared);
	return 0;
}
