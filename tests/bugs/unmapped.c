/*
 * A page that one thread takes away and brings back (munmap, mmap, mprotect) while others use it and catch their faults.
 * What could go wrong: whether an access faults depends on its order with the call; a hook that found the page gone must
 * not find it back when the fault is due.
 */
// run: fails measured="munmap and mprotect are not yet ordered against the accesses of others"
#include "bugs.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { ROUNDS = 150, PAGE = 65536 };
static volatile uint64_t *page;
static volatile int over;
static __thread sigjmp_buf way_out;
static uint64_t seen[TEAM_MAX];
static unsigned faults[TEAM_MAX];

static void fault(int sig)
{
	(void)sig;
	siglongjmp(way_out, 1);
}

static void change(void)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		void *p = (void *)page;
		if (i % 2 == 0 && (munmap(p, PAGE) || mmap(p, PAGE, PROT_READ | PROT_WRITE,
							   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p))
			abort();
		if (i % 2 == 1 && (mprotect(p, PAGE, PROT_READ) || mprotect(p, PAGE, PROT_READ | PROT_WRITE)))
			abort();
	}
	over = 1;
}

static void work(unsigned me)
{
	if (me == 0)
		change();
	for (volatile unsigned i = 0; !over; i++) {
		if (sigsetjmp(way_out, 0) != 0) {
			faults[me]++;
		} else {
			note(&seen[me], page[i % 8]);
			page[i % 8] = i;
		}
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = fault, .sa_flags = SA_NODEFER };
	unsigned sum = 0;

	team_size(argc, argv);
	sigaction(SIGSEGV, &act, NULL);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u faults\n", i, (unsigned long long)seen[i], faults[i]);
		sum += faults[i];
	}
	return verdict(sum, "faults");
}
