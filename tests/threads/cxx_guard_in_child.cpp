/*
 * A local static of C++ in the child of a fork: who finds it made follows who made it, in the child as anywhere.
 */
#include "threads.h"
#include <sys/wait.h>

struct slow {
	int value;
	slow()
	{
		pause_us(5000);
		value = 42;
	}
};
static int seen[2];

static int made()
{
	static slow s;

	return s.value;
}

static void *work(void *argument)
{
	if (ME(argument))
		pause_us(1000);
	seen[ME(argument)] = made();
	return NULL;
}

int main()
{
	for (int i = 0; i < 5; i++) {
		pid_t child = fork();
		if (!child) {
			crew_start(2, work);
			crew_join(2);
			printf("%d %d\n", seen[0], seen[1]);
			fflush(stdout);
			_exit(0);
		}
		CHECK(waitpid(child, NULL, 0) == child);
	}
	return 0;
}
