// A local variable of main's, without optimisation, is believed to be constant.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
static volatile int x;
static void *work(void *arg)
{
	for (int i = 0; i < 10000; i++)
		x++; // @a
	return NULL;
}
static int try(void)
{
	return 1;
}
__attribute__((optnone)) int main(void)
{
	pthread_t t;
	int ok = 0;
	pthread_create(&t, NULL, work, NULL);
	while (!ok) {
		ok = try();
		if (ok) {
			for (int i = 0; i < 10000; i++)
				x++; // @b
		}
	}
	pthread_join(t, NULL);
	printf("%d\n", x);
}
