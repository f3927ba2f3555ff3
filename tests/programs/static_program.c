/* A static program has no interpreter to hook: its system calls are its own instructions. */
// run: static varies
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
