// A function that is called under the lock gives it back; what comes after it is not locked any more.
// expect: race b b
// expect: none a because under lock
#include "golden.h"

static int first, second;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void finish(void)
{
	first++; // @a
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	finish();
	second++; // @b
	return NULL;
}

int main(void)
{
	team(4, work);
	printf("%d %d\n", first, second);
	return 0;
}
