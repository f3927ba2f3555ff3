/*
 * Counters of several threads side by side, each mostly counted by its own thread, and now and then by another, which is how counts get lost. Now and
 * then a thread takes the page away from all and counts on: whoever faults brings it back.
 * What could go wrong: a granule that a thread uses again and again becomes its own, without a question to anybody: it may have been taken away
 * meanwhile, alone or with its page, or by a copy over many; and a fault in such an access must come where it comes at replay.
 */
// run: fails
#include "bugs.h"
#include <signal.h>
#include <sys/mman.h>

enum { ROUNDS = 300, STAY = 60, PAGE = 65536 };
struct counter {
	uint64_t eight;
	uint32_t four;
	uint16_t two;
	uint8_t one;
};
static struct counter *counters;
static uint64_t seen[TEAM_MAX];
static unsigned counted[TEAM_MAX], faults[TEAM_MAX];
static __thread unsigned who;

static void fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	faults[who]++;
	if (mprotect(counters, PAGE, PROT_READ | PROT_WRITE))
		abort();
}

static void count(unsigned me, struct counter *c)
{
	uint64_t was = c->eight;

	c->four++;
	c->two++;
	c->one++;
	LOOK_AGAIN();
	c->eight = was + 1; /* what another thread has counted meanwhile is lost */
	counted[me]++;
}

static void look_at_all(unsigned me)
{
	struct counter copy[TEAM_MAX];

	memcpy(copy, counters, team * sizeof *copy);
	LOOK_AGAIN();
	for (unsigned i = 0; i < team; i++)
		note(&seen[me], copy[i].eight + copy[i].four + copy[i].two + copy[i].one);
}

static void work(unsigned me)
{
	uint32_t random = me + 1;

	who = me;
	for (unsigned i = 0; i < rounds(ROUNDS); i++) {
		for (unsigned n = draw(&random) % STAY; n; n--)
			count(me, &counters[me]);
		count(me, &counters[draw(&random) % team]);
		note(&seen[me], counters[draw(&random) % team].eight);
		if (draw(&random) % 16 == 0)
			look_at_all(me);
		if (draw(&random) % 32 == 0) {
			if (mprotect(counters, PAGE, draw(&random) % 2 ? PROT_NONE : PROT_READ))
				abort();
			count(me, &counters[me]);
		}
		breathe(i);
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };
	unsigned long lost = 0;

	team_size(argc, argv);
	counters = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (counters == MAP_FAILED || sigaction(SIGSEGV, &act, NULL))
		abort();
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx and %u faults, counter %llu\n", i, (unsigned long long)seen[i], faults[i],
		       (unsigned long long)counters[i].eight);
		lost += counted[i] - counters[i].eight;
	}
	return verdict(lost, "counts");
}
