/*
 * Dies of a null pointer, after output that was already written and some that
 * was not. The signal must end the replay too, at the same place.
 */
// run: signal=11
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	char line[64];
	int n = snprintf(line, sizeof line, "before the crash %ld\n", t.tv_nsec);
	if (write(1, line, n) != n)
		return 1;
	printf("never flushed\n");
	volatile int *nowhere = 0;
	return *nowhere;
}
