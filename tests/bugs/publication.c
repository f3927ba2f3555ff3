/*
 * Publication before initialisation: a job is put on the board before its function is written, and who takes it too
 * early calls address 0. What could go wrong: a crash at address 0, where no instruction is, must come again in the
 * same thread, at the same job, with the others in the same place.
 */
// run: fails
#include "bugs.h"

enum { JOBS = 400 };
struct job {
	unsigned (*run)(unsigned);
	unsigned argument;
};
static struct job jobs[JOBS];
static struct job *board[JOBS];
static unsigned long results[TEAM_MAX];

static __attribute__((noinline)) unsigned twice(unsigned x)
{
	LOOK_AGAIN();
	return 2 * x;
}

static void post(void)
{
	for (unsigned i = 0; i < JOBS; i++) {
		board[i] = &jobs[i];
		breathe(i);
		jobs[i].run = twice;
		jobs[i].argument = i;
		LOOK_AGAIN();
	}
}

static void take(unsigned me)
{
	unsigned turns = 0;

	for (unsigned i = 0; i < JOBS; i++) {
		struct job *job;
		while (!(job = board[i])) {
			LOOK_AGAIN();
			spin(&turns);
		}
		LOOK_AGAIN();
		results[me] = results[me] * 3 + job->run(job->argument);
		if (i % 50 == 49)
			printf("thread %u has done %u jobs: %lu\n", me, i + 1, results[me]);
	}
}

static void work(unsigned me)
{
	me ? take(me) : post();
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	team_size(argc, argv);
	team_run(work);
	return 0;
}
