// Functions of other libraries that only begin like those of pthread: they may keep what they get, and call it.
// expect: rare a b because the libraries are not there
#include "golden.h"

int pthread_pool_submit(void (*job)(void *), void *arg) __attribute__((weak));
int sem_watch(void (*job)(void *), void *arg) __attribute__((weak));
static long pooled, watched;

static void job(void *arg)
{
	++*(long *)arg; // @a
}

int main(void)
{
	if (pthread_pool_submit)
		pthread_pool_submit(job, &pooled);
	if (sem_watch)
		sem_watch(job, &watched);
	pooled++;  // @b
	watched++; // @b
	printf("%ld %ld\n", pooled, watched);
	return 0;
}
