// A mutex that is released twice now and then: the second time it is another's.
// expect: race a a
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile long x;
static void *work(void *arg)
{
	for (int i = 0; i < 6000; i++) {
		pthread_mutex_lock(&m);
		x++; // @a
		pthread_mutex_unlock(&m);
		if (i % 20 == 19)
			pthread_mutex_unlock(&m);
	}
	return arg;
}
int main(void)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	pthread_mutex_lock(&m);
	printf("%ld\n", x);
	pthread_mutex_unlock(&m);
	return 0;
}
