// A constructor that main calls, too: its lock exists twice.
// expect: race a a
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static volatile int x;
static pthread_t threads[2];
static int n;
static void *work(void *arg)
{
	pthread_mutex_t *m = arg;
	for (int i = 0; i < 10000; i++) {
		pthread_mutex_lock(m);
		x++; // @a
		pthread_mutex_unlock(m);
	}
	return NULL;
}
static __attribute__((constructor, noinline)) void begin(void)
{
	pthread_mutex_t *m = malloc(sizeof *m);
	pthread_mutex_init(m, NULL);
	pthread_create(&threads[n++], NULL, work, m);
}
int main(void)
{
	begin();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", x);
}
