// What pthread_timedjoin_np fetches.
// expect: race a b
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
struct node {
	volatile long value;
};
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *help(void *arg)
{
	struct node *n = arg;
	for (int i = 0; i < 10000; i++) {
		pthread_mutex_lock(&m);
		n->value++; // @a
		pthread_mutex_unlock(&m);
	}
	return NULL;
}
static pthread_t u;
static void *work(void *arg)
{
	struct node *n = malloc(sizeof *n);
	pthread_mutex_lock(&m);
	n->value = 0;
	pthread_mutex_unlock(&m);
	pthread_create(&u, NULL, help, n);
	return n;
}
int main(void)
{
	pthread_t t;
	void *r = NULL;
	struct timespec ts = { time(NULL) + 100, 0 };
	pthread_create(&t, NULL, work, NULL);
	pthread_timedjoin_np(t, &r, &ts);
	struct node *n = r;
	for (int i = 0; i < 10000; i++)
		n->value++; // @b
	pthread_join(u, NULL);
	printf("%ld\n", n->value);
}
