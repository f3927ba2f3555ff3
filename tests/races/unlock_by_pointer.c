// The lock is released by a pointer to the function.
// expect: race a a
#include <pthread.h>
#include <stdio.h>
static volatile int x, y;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct ops {
	int (*lock)(pthread_mutex_t *), (*unlock)(pthread_mutex_t *);
} ops = { pthread_mutex_lock, pthread_mutex_unlock };
static struct ops *volatile now = &ops;
static void *work(void *arg)
{
	for (int i = 0; i < 10000; i++) {
		pthread_mutex_lock(&m);
		x++;
		now->unlock(&m);
		y++; // @a
	}
	return NULL;
}
int main(void)
{
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%d %d\n", x, y);
}
