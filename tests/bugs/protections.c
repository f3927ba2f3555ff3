/*
 * One thread takes pages away and gives them back; others read and write them, and their handler gives the page back itself.
 * What could go wrong: these calls wait for one another, as calls that change the address space do, while each has to wait for
 * accesses of the others, whose next access lies in such a call: at replay all wait in a circle.
 */
// run: fails
#include "bugs.h"
#include <signal.h>
#include <sys/mman.h>

enum { ROUNDS = 60, PAGES = 3, TEXT = 96 };
static size_t page_size;
static char *pages; /* a text lies over the end of each page but the last */
static volatile int over;
static uint64_t seen[TEAM_MAX];
static unsigned faults[TEAM_MAX];
static __thread unsigned who;

/* Every second fault waits for the other thread instead. */
static void fault(int sig, siginfo_t *info, void *context)
{
	size_t page = ((size_t)info->si_addr - (size_t)pages) / page_size;

	(void)sig, (void)context;
	note(&seen[who], page);
	if (++faults[who] % 2)
		mprotect(pages + page * page_size, page_size, PROT_READ | PROT_WRITE);
	else
		sched_yield();
}

static char *text(unsigned i)
{
	return pages + (i % (PAGES - 1) + 1) * page_size - TEXT / 2;
}

static void take_away(void)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		char *p = pages + i % PAGES * page_size;
		if (mprotect(p, page_size, i % 3 ? PROT_NONE : PROT_READ))
			abort();
		for (unsigned n = 0; n < i % 5; n++)
			sched_yield();
		if (mprotect(p, page_size, PROT_READ | PROT_WRITE))
			abort();
		sched_yield();
	}
	over = 1;
}

static void work(unsigned me)
{
	who = me;
	if (me == 0)
		take_away();
	for (unsigned i = me; !over; i++) {
		volatile char *p = text(me % 2 ? i / 6 : i);
		if (me % 2)
			note(&seen[me], (uint64_t)p[i * 5 % TEXT]);
		else
			p[i * 7 % (TEXT - 8)] = (char)('a' + (i + me) % 3);
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
	pages = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < PAGES - 1; i++)
		memset(text(i), 'a', TEXT);
	team_run(work);
	for (unsigned i = 0; i < team; i++) {
		printf("thread %u saw %016llx, %u faults\n", i, (unsigned long long)seen[i], faults[i]);
		sum += faults[i];
	}
	return verdict(sum, "faults");
}
