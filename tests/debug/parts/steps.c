/*
 * Lines to step over backwards, in a loop that makes no system call: only memory tells one round from another. Other numbers
 * in every run, so that going back to another run would show.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int sum, last[5];

static int add(int number)
{
	sum += number; /* line of the sum */
	return sum;
}

int main(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	srand((unsigned)now.tv_nsec ^ (unsigned)getpid());
	for (int i = 0; i < 5; i++) {
		int number = 1 + rand() % 1000;
		last[i] = add(number); /* line of the call */
	}
	printf("%d\n", sum); /* line of the end */
	return 3;
}
