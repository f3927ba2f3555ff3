/*
 * A page that one thread takes away and brings back (munmap, mmap, mprotect, mremap), or empties (madvise), while others
 * use it and catch their faults.
 * What could go wrong: whether an access faults depends on its order with the call; a hook that found the page gone must
 * not find it back when the fault is due.
 */
// run: fails
#include "bugs.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { ROUNDS = 60 };
static size_t page_size;
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

/* Takes it away and brings it back in one of several ways. */
static int change_once(unsigned way, void *p)
{
	const int both = PROT_READ | PROT_WRITE, new = MAP_PRIVATE | MAP_ANONYMOUS;
	void *spare;

	switch (way) {
	case 0: return munmap(p, page_size) || mmap(p, page_size, both, new | MAP_FIXED, -1, 0) != p;
	case 1: return mprotect(p, page_size, PROT_READ) || mprotect(p, page_size, both);
	case 2: return madvise(p, page_size, MADV_DONTNEED);
	default:
		spare = mmap(NULL, page_size, both, new, -1, 0);
		return mremap(p, page_size, page_size, MREMAP_MAYMOVE | MREMAP_FIXED, spare) != spare ||
		       mremap(spare, page_size, page_size, MREMAP_MAYMOVE | MREMAP_FIXED, p) != p;
	}
}

static void change(void)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		if (change_once(i % 4, (void *)page))
			abort();
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
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGSEGV, &act, NULL);
	page = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u faults\n", i, (unsigned long long)seen[i], faults[i]);
		sum += faults[i];
	}
	return verdict(sum, "faults");
}
