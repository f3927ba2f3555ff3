/*
 * A timer's handler that counts, without a lock, what the threads count too, in loops that make no system call. What
 * could go wrong: the handler must begin before the same access of the same thread, its own accesses are in the order,
 * and a loop without any access must still notice the signal.
 */
// run: fails
#include "bugs.h"
#include <signal.h>
#include <sys/time.h>

enum { TICKS = 12 };
static volatile unsigned ticks;
static unsigned long counter, from_handler;
static unsigned long added[TEAM_MAX];
static uint64_t seen[TEAM_MAX];

static void tick(int sig)
{
	(void)sig;
	from_handler++;
	counter++;
	ticks++;
}

static void work(unsigned me)
{
	unsigned long n = 0;
	uint64_t hash = 0;

	while (ticks < TICKS) {
		unsigned long old = counter;
		counter = old + 1;
		note(&hash, old);
		n++;
		for (unsigned quiet = 0; quiet < 50; quiet++)
			__asm__ volatile("" : "+r"(quiet)); /* no access, only a back edge */
	}
	added[me] = n;
	seen[me] = hash;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = tick, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, off = { 0 };
	unsigned long sum = 0;

	team_size(argc, argv);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	team_run(work);
	setitimer(ITIMER_REAL, &off, NULL);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u added %lu, saw %016llx\n", i, added[i], (unsigned long long)seen[i]);
		sum += added[i];
	}
	printf("the handler added %lu\n", from_handler);
	return verdict(sum + from_handler - counter, "updates lost");
}
