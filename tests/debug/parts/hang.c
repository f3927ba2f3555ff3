/*
 * Two locks, in one order by the first thread and in the other by the second: in a few runs they wait for each other for ever, and nobody
 * ends them. With the name of a file that is not there yet: makes it, and crashes. What could go wrong: a run that only takes long must not
 * pass for one that hangs, nor one that hangs for one that crashed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *other(void *x)
{
	pthread_mutex_lock(&b);
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
	pthread_mutex_unlock(&b);
	return x;
}
int main(int argc, char **argv)
{
	pthread_t t;
	if (argc > 1 && open(argv[1], O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0)
		abort();
	pthread_create(&t, NULL, other, NULL);
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
	pthread_join(t, NULL);
	return 0;
}
