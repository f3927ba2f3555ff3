// A thread that is created through a pointer to pthread_create.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
static int (*volatile create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = pthread_create;
static volatile int x;
static void *look(void *arg)
{
	long s = 0;
	(void)arg;
	for (int i = 0; i < 100000; i++)
		s += x; // @a
	return (void *)s;
}
int main(void)
{
	pthread_t t;
	void *s;
	create(&t, NULL, look, NULL);
	for (int i = 0; i < 100000; i++)
		x = i; // @b
	pthread_join(t, &s);
	printf("%ld\n", (long)s);
	return 0;
}
