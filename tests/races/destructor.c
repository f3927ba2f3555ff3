// A destructor function writes while a detached thread reads.
// expect: race a b
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile int stop;
static long count;
static void *work(void *arg)
{
	while (!stop) // @a
		count++;
	printf("stopped\n");
	return NULL;
}
static __attribute__((destructor)) void end(void)
{
	stop = 1; // @b
	usleep(1000);
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	pthread_detach(t);
	usleep(1000);
}
