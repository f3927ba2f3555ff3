// Threads are created in a loop with two beginnings.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
static volatile int a[8];
static int out[8];
static pthread_t t[4];
static volatile int log_count;
static void *work(void *arg)
{
	long id = (long)arg;
	int s = 0;
	for (int i = 0; i < 10000; i++) {
		a[id] = i;	// @a
		s += a[id + 1]; // @b
	}
	out[id] = s;
	return NULL;
}
static __attribute__((noinline)) void note(void)
{
	log_count++;
}
int main(int argc, char **argv)
{
	long i = 0;
	if (argc > 1)
		goto middle;
again:
	note();
middle:
	pthread_create(&t[i], NULL, work, (void *)i);
	i++;
	if (i < 4) {
		goto again;
	}
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("%d %d %d %d\n", out[0], out[1], out[2], out[3]);
}
