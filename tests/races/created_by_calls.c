// One function creates the threads and is called twice: what it was given differs between the calls. Each thread writes its own
// element and reads the next one, which is the other's.
// expect: race A B
#include "golden.h"

static int data[4];
static pthread_t made[2];

static void *work(void *arg)
{
	long mine = (long)arg;

	data[mine] = 1;			     // @A
	return (void *)(long)data[mine + 1]; // @B
}

__attribute__((noinline)) static void start(long mine)
{
	if (pthread_create(&made[mine], NULL, work, (void *)mine))
		exit(1);
}

int main(void)
{
	start(0);
	start(1);
	for (int i = 0; i < 2; i++)
		pthread_join(made[i], NULL);
	return 0;
}
