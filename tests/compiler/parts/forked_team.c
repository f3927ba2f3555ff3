/*
 * A process whose threads race forks, while all others wait at a barrier, and its child goes on with the race: the thread that forked, and new ones in the
 * places of those that the child does not have.
 * What could go wrong: what the gone threads owned or had counted is in the child's memory, and goes on in the parent's. What the new ones follow must not
 * depend on it. The thread that forked must go on as it was, also with words that nobody had touched.
 * With BUSY in the environment the others do not wait, but count in words of their own: how far they have come is in the child's memory, too.
 */
#include "bugs.h"
#include <sys/wait.h>

enum { ROUNDS = 400, WORDS = 24, FORKS = 2 };
static volatile uint64_t words[4][512] __attribute__((aligned(4096)));
static uint64_t seen[TEAM_MAX];
static unsigned lost[TEAM_MAX];
static unsigned depth; /* of forks */
static volatile unsigned forked;
static volatile uint64_t idle[TEAM_MAX][512] __attribute__((aligned(4096)));

/* Its own word again and again, then any: updates that are lost, and words that become a thread's own. */
static void race(unsigned me, uint32_t random)
{
	for (unsigned i = 0; i < rounds(ROUNDS); i++) {
		volatile uint64_t *page = words[draw(&random) % (depth + 2)],
				  *other = &page[draw(&random) % (WORDS * (depth + 1))];
		for (unsigned n = draw(&random) % 24; n; n--)
			page[me]++;
		uint64_t was = *other;
		*other = was + 1;
		lost[me] += *other != was + 1;
		note(&seen[me], was);
		breathe(i);
	}
}

/* A team with this thread among its members. No other is there, or what it did beside the fork would be of any moment. */
static void run_with_me(void (*act)(unsigned me))
{
	pthread_t threads[TEAM_MAX];

	team_work = act;
	pthread_barrier_init(&team_gate, NULL, team);
	for (unsigned i = 1; i < team; i++)
		if (pthread_create(&threads[i], NULL, team_member, (void *)(uintptr_t)i))
			abort();
	team_member(NULL);
	for (unsigned i = 1; i < team; i++)
		pthread_join(threads[i], NULL);
}

static void tell(void)
{
	for (unsigned i = 0; i < team; i++)
		printf("fork %u, thread %u saw %016llx, %u lost\n", depth, i, (unsigned long long)seen[i], lost[i]);
	fflush(stdout);
}

/* Out of line, or the others might look at `depth` as well, beside the fork. */
static __attribute__((noinline)) void fork_now(void (*act)(unsigned me))
{
	int status;
	pid_t child = depth < FORKS ? fork() : 1;

	if (depth == FORKS)
		return;
	if (child < 0)
		abort();
	if (!child) {
		depth++;
		for (unsigned i = 0; i < TEAM_MAX; i++)
			idle[i][0] = 0;
		run_with_me(act);
		tell();
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		abort();
}

static void work(unsigned me)
{
	race(me, me + 1 + depth * 100);
	pthread_barrier_wait(&team_gate);
	if (me == 0) {
		fork_now(work);
		forked = depth + 1;
	} else if (getenv("BUSY")) {
		while (forked <= depth)
			idle[me][0]++;
	}
	pthread_barrier_wait(&team_gate);
	race(me, me + 50 + depth * 100);
}

int main(int argc, char **argv)
{
	unsigned long wrong = 0;

	team_size(argc, argv);
	run_with_me(work);
	tell();
	for (unsigned i = 0; i < team; i++)
		wrong += lost[i];
	return verdict(wrong, "updates lost");
}
