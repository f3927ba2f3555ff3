// A function that is called while there is one thread, creates others, and accesses without a lock.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
static int x;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *arg)
{
	for (int i = 0; i < 10000; i++) {
		pthread_mutex_lock(&m);
		x++; // @a
		pthread_mutex_unlock(&m);
	}
	return NULL;
}
static __attribute__((noinline)) void run(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 10000; i++) {
		x++; // @b
		__asm__ volatile("" ::: "memory");
	}
	pthread_join(t, NULL);
}
int main(void)
{
	run();
	printf("%d\n", x);
}
