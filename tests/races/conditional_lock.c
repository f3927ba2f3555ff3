// The lock is taken only if the thread's number says so.
// expect: race a a
#include "golden.h"

static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	int careful = id_of(arg) != 2;

	if (careful)
		pthread_mutex_lock(&lock);
	shared++; // @a
	if (careful)
		pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d\n", shared);
	return 0;
}
