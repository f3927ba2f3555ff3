// A worker starts a helper thread by pthread_once; the first thread races with the helper.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
static volatile int x;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_t helper;
static void *help(void *arg)
{
	for (int i = 0; i < 30000; i++)
		x++; // @a
	return NULL;
}
static void begin(void)
{
	pthread_create(&helper, NULL, help, NULL);
}
static void *work(void *arg)
{
	pthread_once(&once, begin);
	return NULL;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 300000; i++)
		x++; // @b
	pthread_join(t, NULL);
	pthread_join(helper, NULL);
	printf("%d\n", x);
}
