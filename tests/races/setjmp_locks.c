// Code after setjmp is run twice: two locks, not one.
// expect: race a a
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static volatile int x;
static jmp_buf env;
static pthread_t threads[2];
static volatile int n;
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
int main(void)
{
	setjmp(env);
	pthread_mutex_t *m = malloc(sizeof *m);
	pthread_mutex_init(m, NULL);
	pthread_create(&threads[n], NULL, work, m);
	if (++n < 2)
		longjmp(env, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", x);
}
