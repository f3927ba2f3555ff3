/*
 * A handler for faults that mends nothing and returns: the access is made again, until the thread that took the page away
 * has brought it back.
 * What could go wrong: each try that faulted is an access of its own, in an order with the call that mends it; how often an
 * access was tried must be the same at replay, whoever came first. A load, a store, an atomic addition and a
 * memcpy over two pages meet the hole.
 */
// run: fails
#include "bugs.h"
#include <signal.h>
#include <sys/mman.h>

enum { ROUNDS = 40, PAGES = 2 };
static size_t page_size;
static unsigned char *pages[PAGES];
static volatile int over;
static uint64_t seen[TEAM_MAX];
static unsigned faults[TEAM_MAX];
static __thread unsigned who;

static void fault(int sig, siginfo_t *info, void *context)
{
	size_t page = ((size_t)info->si_addr - (size_t)pages[0]) / page_size;

	(void)sig, (void)context;
	faults[who]++;
	note(&seen[who], page);
	if (faults[who] % 16 == 0)
		sched_yield();
}

static void change(void)
{
	const int both = PROT_READ | PROT_WRITE, how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned char *p = pages[i / 2 % PAGES];
		if (i % 2 ? mprotect(p, page_size, PROT_NONE) : munmap(p, page_size))
			abort();
		for (unsigned n = 0; n < i % 5; n++)
			sched_yield();
		if (i % 2 ? mprotect(p, page_size, both) : mmap(p, page_size, both, how, -1, 0) != p)
			abort();
		sched_yield();
	}
	over = 1;
}

static void use(unsigned me, unsigned i)
{
	volatile uint64_t *words = (volatile uint64_t *)pages[i % PAGES];
	unsigned char copy[200];

	switch (i / PAGES % 4) {
	case 0: note(&seen[me], words[i % 8]); break;
	case 1: words[i % 8] = i; break;
	case 2: note(&seen[me], __atomic_fetch_add(&words[0], me, __ATOMIC_RELAXED)); break;
	default:
		memcpy(copy, pages[1] - i % 3 * 100, sizeof copy);
		LOOK_AGAIN();
		for (unsigned k = 0; k < sizeof copy; k += 8)
			note(&seen[me], copy[k]);
	}
}

static void work(unsigned me)
{
	who = me;
	if (me == 0)
		change();
	for (unsigned i = me; !over; i++) {
		use(me, i);
		breathe(i);
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };
	unsigned sum = 0;

	team_size(argc, argv);
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGSEGV, &act, NULL);
	pages[0] = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pages[1] = pages[0] + page_size;
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u faults\n", i, (unsigned long long)seen[i], faults[i]);
		sum += faults[i];
	}
	return verdict(sum, "faults");
}
