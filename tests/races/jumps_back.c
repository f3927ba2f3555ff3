// longjmp leads back to before the thread was created.
// expect: race a b
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
static volatile int x;
static jmp_buf env;
static pthread_t t;
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
	volatile int turn = 0;
	void *s;
	setjmp(env);
	for (int i = 0; i < 100000; i++)
		x = i; // @b
	if (!turn++) {
		pthread_create(&t, NULL, look, NULL);
		longjmp(env, 1);
	}
	pthread_join(t, &s);
	printf("%ld\n", (long)s);
	return 0;
}
