/*
 * Threads whose first act is a system call, on memory that others access at that moment: one reads into it, one writes out what is there.
 * What could go wrong: a thread that has made no hooked access so far is none of those whose accesses are ordered; but what the call reads and
 * writes is its access.
 */
// run: fails
#include "bugs.h"

enum { ROUNDS = 10, WORDS = 32, MOST = 100000000 };
static volatile uint64_t words[WORDS], arrived;
static int over;
static uint64_t seen[TEAM_MAX];

static void *read_in(void *fd)
{
	return (void *)read((int)(intptr_t)fd, (void *)&arrived, sizeof arrived);
}

static void *write_out(void *fd)
{
	return (void *)write((int)(intptr_t)fd, (void *)words, sizeof words);
}

static void start_and_join(void *(*work)(void *), int fd, void (*meanwhile)(int *), int *fds)
{
	pthread_t thread;
	void *result;

	if (pthread_create(&thread, NULL, work, (void *)(intptr_t)fd))
		abort();
	meanwhile(fds);
	if (pthread_join(thread, &result) || (intptr_t)result <= 0)
		abort();
}

static void send_and_wait(int *fds)
{
	static uint64_t number;
	unsigned n = 0;

	number++;
	if (write(fds[1], &number, sizeof number) != sizeof number)
		abort();
	while (arrived != number && n < MOST)
		spin(&n);
	note(&seen[0], n);
}

static void receive(int *fds)
{
	uint64_t got[WORDS];

	if (read(fds[0], got, sizeof got) != sizeof got)
		abort();
	for (unsigned i = 0; i < WORDS; i++)
		note(&seen[0], got[i]);
}

static void work(unsigned me)
{
	int fds[2];

	while (me && !__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		for (unsigned i = 0; i < WORDS; i++)
			words[i]++;
		sched_yield();
	}
	if (me)
		return;
	if (pipe(fds))
		abort();
	for (unsigned i = 0; i < rounds(ROUNDS); i++) {
		start_and_join(read_in, fds[0], send_and_wait, fds);
		start_and_join(write_out, fds[1], receive, fds);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;

	team_size(argc, argv);
	team_run(work);
	for (unsigned i = 0; i < WORDS; i++)
		sum += words[i] - words[0];
	printf("saw %016llx\n", (unsigned long long)seen[0]);
	return verdict(sum != 0, "sums");
}
