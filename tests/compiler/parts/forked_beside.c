/*
 * A process forks again and again while its other threads are in the middle of accesses, and each child uses the same memory.
 * What could go wrong: a lock over {log; access} that a thread held which the child does not have is held for ever there.
 */
#include "bugs.h"
#include <sys/wait.h>

enum { FORKS = 40, WORDS = 8 };
static volatile uint64_t words[WORDS];
static volatile int done;

static void work(unsigned me)
{
	uint32_t random = me + 1;

	while (me && !done)
		words[draw(&random) % WORDS]++;
	for (unsigned i = 0; !me && i < FORKS; i++) {
		int status;
		pid_t child = fork();
		for (unsigned n = 0; !child && n < WORDS; n++)
			words[n]++;
		if (!child)
			_exit(0);
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			abort();
	}
	done = 1;
}

int main(int argc, char **argv)
{
	team_size(argc, argv);
	team_run(work);
	return 0;
}
