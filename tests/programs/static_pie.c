/* A static program that is position-independent: we choose its place, and relocation is its own work. */
// run: flags=-static-pie varies
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	printf("%d %ld %p\n", getpid(), t.tv_nsec, malloc(10));
	return 0;
}
