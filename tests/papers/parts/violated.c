/*
 * Two threads write one variable and read the other's result in one transaction, which the other thread comes into.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static volatile long a, b;

static void *run(void *arg)
{
	for (int i = 0; i < 300; i++) {
		a = i;	// violated
		b += a; // violated
		a = b;	// violated
		if (i % 7 == 0)
			sched_yield();
	}
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, run, NULL);
	run(NULL);
	pthread_join(t, NULL);
	printf("%ld %ld\n", a, b); // violated
	return 0;
}
