/*
 * A program that never prints the same twice: the time, its id, random bytes,
 * addresses, how long a pause really took, and who of its children came first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long nanoseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(void)
{
	time_t now = time(0);
	unsigned dice = 0;
	if (getrandom(&dice, sizeof dice, 0) != sizeof dice)
		return 1;
	printf("  it is %s", ctime(&now));
	printf("  I am process %d, my heap is at %p, my stack at %p\n", getpid(), malloc(100), (void *)&now);
	printf("  the dice say %u\n", dice % 6 + 1);

	long before = nanoseconds();
	usleep(1000);
	printf("  a pause of 1,000,000 ns took %ld ns\n", nanoseconds() - before);
	fflush(stdout);

	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			usleep(dice >> i * 8 & 255);
			_exit(0);
		}
	printf("  my children ended in this order:");
	for (pid_t child; (child = wait(0)) > 0;)
		printf(" %d", child);
	printf("\n");
	return 0;
}
