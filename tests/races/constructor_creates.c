// A constructor creates a thread and races with it.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
static volatile int x;
static pthread_t t;
static void *work(void *arg)
{
	for (int i = 0; i < 30000; i++)
		x++; // @a
	return NULL;
}
static __attribute__((constructor)) void one(void)
{
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 30000; i++)
		x++; // @b
}
int main(void)
{
	pthread_join(t, NULL);
	printf("%d\n", x);
}
